"""Plain NumPy transcriptions in float64, as a reader of the paper would write them: what we compare with."""

from __future__ import annotations

import numpy as np

from ndpp import Conditional
from ndpp.kernel import FloatArray, Indices, Matrix, Vector


def greedy_algorithm_1(F: Matrix, X: Matrix, d: Vector, k: int) -> list[int]:
    """Algorithm 1 of the paper line by line (stopping at k items), with the diagonal added to the gains."""
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


def full_scan(state: Conditional, weights: FloatArray, columns: FloatArray, k: int) -> Indices:
    """The next item by one float32 product over the whole catalogue."""
    images = state.kernel.factors @ columns
    half = columns.shape[1] // 2
    gains = weights - np.einsum("im,im->i", images[:, :half], images[:, half:])
    gains[state.cart] = 0
    best = np.argpartition(-gains, k)[:k]
    return best[np.argsort(-gains[best], kind="stable")]
