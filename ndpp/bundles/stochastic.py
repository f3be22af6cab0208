"""Stochastic greedy MAP: each step scores a random sample of the items."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.problem import Bundle, Problem
from ndpp.kernel import Kernel
from ndpp.tilt import Tilt

_EPSILON = 0.1


def map_stochastic_greedy(
    kernel: Kernel,
    k: int,
    *,
    rng: np.random.Generator,
    cart: ArrayLike = (),
    tilt: Tilt | None = None,
    decoupling: float = 0.0,
) -> Bundle:
    """Greedy on ⌊(M/k) log(1/ε)⌋ random items per step (Mirzasoleiman et al. 2015), with the paper's ε."""
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    items: list[int] = []
    while len(items) < k:
        left_over = problem.candidates[~np.isin(problem.candidates, items)]
        size = min(len(left_over), sample_size(len(problem.candidates), k))
        sampled = np.sort(rng.choice(left_over, size, replace=False))
        conditional, _ = problem.given(items)
        gains = problem.tilt.at(sampled) * conditional.gains_of(sampled)
        if not gains.any():
            break
        items.append(int(sampled[np.argmax(gains)]))
    return problem.bundle(items)


def sample_size(candidates: int, k: int) -> int:
    """⌊(M/k) log(1/ε)⌋, at least 1."""
    return max(1, math.floor(candidates / k * math.log(1 / _EPSILON)))
