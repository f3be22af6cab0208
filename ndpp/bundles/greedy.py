"""Greedy MAP: Algorithm 1 of the paper, one item after the other (k items, not k + 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.problem import Bundle, Problem
from ndpp.gains import GainForm
from ndpp.kernel import Kernel
from ndpp.scan import Scoring, best_row
from ndpp.tilt import Tilt

_PAIR_POOL = 1024  # a seeding pair is looked for among this many of the strongest items


def map_greedy(
    kernel: Kernel, k: int, *, cart: ArrayLike = (), tilt: Tilt | None = None, decoupling: float = 0.0
) -> Bundle:
    """Add the item with the highest gain, k times.

    Where no single item has a gain (V = 0: every L_ii is 0, yet pairs have a determinant) the best pair is
    added instead.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    return problem.bundle(greedy_items(problem))


def greedy_items(problem: Problem) -> list[int]:
    """The rows greedy chooses, in order."""
    items: list[int] = []
    while len(items) < problem.k:
        form, _ = problem.given(items)
        found = _best_item(problem, form, items)
        if not found and len(items) + 2 <= problem.k:
            found = _best_pair(problem, form, items)
        if not found:
            break
        items += found
    return items


def _best_item(problem: Problem, form: GainForm, items: Sequence[int]) -> list[int]:
    scoring = Scoring(problem.kernel, form.scan, form.rounding, form.gains, lambda: (1.0, form.growth))
    banned = np.union1d(problem.state.cart, np.array(items, dtype=np.intp))
    best = best_row(scoring, problem.tilt, banned, above=0.0)
    return [] if best is None else [best]


def _best_pair(problem: Problem, form: GainForm, items: Sequence[int]) -> list[int]:
    """The pair with the highest determinant −K_ij K_ji among the strongest items without own gains."""
    rows = problem.candidates[~np.isin(problem.candidates, items)]
    strength = problem.tilt.at(rows) * problem.kernel.squared_norms[rows]
    rows = np.sort(rows[np.argsort(-strength, kind="stable")[:_PAIR_POOL]])
    if len(rows) < 2:
        return []
    factors = problem.kernel.factors[rows].astype(np.float64)
    block = problem.kernel.times_core(factors) @ factors.T - (factors @ form.left) @ (form.right @ factors.T)
    tau = problem.tilt.at(rows)
    pairs = np.triu(-block * block.T * np.outer(tau, tau), 1)
    first, second = np.unravel_index(int(np.argmax(pairs)), pairs.shape)
    noise = form.rounding(rows[[first, second]], np.dtype(np.float64))
    if pairs[first, second] <= float(np.prod(noise)) * tau[first] * tau[second]:
        return []
    return [int(rows[first]), int(rows[second])]
