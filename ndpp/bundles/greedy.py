"""Greedy MAP: Algorithm 1 of the paper, stopped after k items (as printed, it returns k + 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ndpp.best_row import Score, best_row
from ndpp.bundles.problem import Bundle, Problem
from ndpp.conditional_kernel import ConditionalKernel
from ndpp.kernel import Kernel
from ndpp.tilt import Tilt


def map_greedy(
    kernel: Kernel, k: int, *, cart: ArrayLike = (), tilt: Tilt | None = None, decoupling: float = 0.0
) -> Bundle:
    """Add the item with the highest gain, k times.

    If no single item has a gain, add the best pair: with V = 0 every L_ii is 0, but pairs have a determinant.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    return problem.bundle(greedy_items(problem))


def greedy_items(problem: Problem) -> list[int]:
    """The rows chosen by greedy, in order."""
    items: list[int] = []
    while len(items) < problem.k:
        conditional, _ = problem.given(items)
        found = best_item(problem, conditional, items)
        if not found and len(items) + 2 <= problem.k:
            found, _ = problem.pool.best_pair(np.array(items, dtype=np.intp))
        if not found:
            break
        items += found
    return items


def gain_score(conditional: ConditionalKernel) -> Score:
    """The gains as a score: Δ_i ≤ L_ii + growth · ‖f_i‖²."""
    return Score(
        conditional.kernel,
        conditional.fast_gains,
        conditional.rounding,
        conditional.gains_of,
        lambda: (1.0, conditional.growth),
    )


def best_item(problem: Problem, conditional: ConditionalKernel, items: Sequence[int]) -> list[int]:
    """The item with the highest gain given the cart and `items`; none if no item has a gain."""
    banned = np.union1d(problem.conditional.cart, np.array(items, dtype=np.intp))
    best = best_row(gain_score(conditional), problem.tilt, banned, above=0.0)
    return [] if best is None else [best]
