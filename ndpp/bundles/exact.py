"""The exact MAP by enumeration of all sets, for small problems."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.greedy import greedy_items
from ndpp.bundles.problem import Bundle, Problem
from ndpp.kernel import Indices, Kernel
from ndpp.tilt import Tilt

MOST_SETS = 2_000_000
_ENTRIES = 2**18  # matrix entries per batch of determinants


def map_exact(
    kernel: Kernel, k: int, *, cart: ArrayLike = (), tilt: Tilt | None = None, decoupling: float = 0.0
) -> Bundle:
    """The set of k items with the largest determinant of all sets, in ascending order.

    If no set of k items has a determinant, the best smaller set. ValueError if there are more than
    `MOST_SETS` sets of a size.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    for size in range(min(k, len(problem.candidates)), 1, -1):
        bundle = problem.bundle(_best_set(problem, size))
        if len(bundle.items) == size:
            return bundle
    return problem.bundle(greedy_items(problem)[: min(k, 1)])  # the best single item


def _best_set(problem: Problem, size: int) -> Indices:
    candidates = problem.candidates
    count = comb(len(candidates), size)
    if count > MOST_SETS:
        raise ValueError(
            f"{len(candidates):,} candidates have {count:,} sets of {size} items, more than the limit of "
            f"{MOST_SETS:,} for an exact search"
        )
    block, best, best_log_det = problem.block(candidates), candidates[:0], -np.inf
    for places in _batches(len(candidates), size):
        signs, log_dets = np.linalg.slogdet(block[places[:, :, None], places[:, None, :]])
        log_dets[signs <= 0] = -np.inf
        place = int(np.argmax(log_dets))
        if log_dets[place] > best_log_det:
            best, best_log_det = candidates[places[place]], float(log_dets[place])
    return best


def _batches(count: int, size: int) -> Iterator[Indices]:
    """All sets of `size` numbers below `count` in lexicographic order, (batch, size) at a time."""
    sets = combinations(range(count), size)
    while True:
        batch = chain.from_iterable(islice(sets, max(1, _ENTRIES // size**2)))
        places = np.fromiter(batch, dtype=np.intp).reshape(-1, size)
        if not len(places):
            return
        yield places
