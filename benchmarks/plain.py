"""The formulas in plain NumPy and float64, as a baseline for our code."""

from __future__ import annotations

import numpy as np

from ndpp import Mixture
from ndpp.kernel import Matrix, Vector
from ndpp.mixture import at


def next_item(F: Matrix, X: Matrix, weights: Vector, mixture: Mixture, cart: list[int]) -> Vector:
    """P(i | cart) of `together` and `habit` without a relevance prior; `weights` are the L_ii."""
    assert mixture.habit is not None
    columns, rows = F @ (X @ F[cart].T), F @ (X.T @ F[cart].T)  # L_iY and L_Yi but for the diagonal, (M, n)
    block = (1 - mixture.decoupling) * columns[cart]
    np.fill_diagonal(block, weights[cart])
    gains = weights - np.sum(columns @ np.linalg.inv(block) * rows, axis=1)
    gains = np.maximum(gains, mixture.least_gain * weights)
    shares = mixture.weights(len(cart), votes=False)
    total = np.zeros(len(F))
    n, together, habit = len(cart), mixture.together, mixture.habit
    experts = (
        (shares[0], gains ** at(together.gain, n) * weights ** at(together.popularity, n)),
        (shares[2], gains ** at(habit.gain, n) * weights ** at(habit.popularity, n)),
    )
    for share, scores in experts:
        scores[cart] = 0.0
        total += share * scores / scores.sum()
    return total


def greedy_algorithm_1(F: Matrix, X: Matrix, d: Vector, k: int) -> list[int]:
    """Algorithm 1 of the paper line by line (stopped after k items), with the diagonal added to the gains."""
    gains = np.sum((F @ X) * F, axis=1) + d
    P, Q = np.zeros((0, F.shape[1])), np.zeros((0, F.shape[1]))
    item = int(np.argmax(gains))
    chosen = [item]
    while len(chosen) < k:
        b = F[item]
        p = (b - b @ X.T @ Q.T @ P) / gains[item]
        q = b - b @ X @ P.T @ Q
        P, Q = np.vstack([P, p]), np.vstack([Q, q])
        gains = gains - (F @ (X @ p)) * (F @ (X.T @ q))
        gains[chosen] = -np.inf
        item = int(np.argmax(gains))
        chosen.append(item)
    return chosen
