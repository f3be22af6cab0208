"""Exact MAP by comparing all sets: for small catalogues."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.problem import Bundle, Problem
from ndpp.kernel import Kernel
from ndpp.tilt import Tilt

MOST_SETS = 2_000_000
_CHUNK = 20_000


def map_exact(
    kernel: Kernel, k: int, *, cart: ArrayLike = (), tilt: Tilt | None = None, decoupling: float = 0.0
) -> Bundle:
    """The set of k items with the highest determinant, or an error when there are too many sets to compare.

    An equal determinant goes to the set with the lower rows; when every set's is 0 the bundle is empty.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    size = min(k, problem.available)
    count = math.comb(problem.available, size)
    if count > MOST_SETS:
        raise ValueError(
            f"exact MAP would compare {count:,} sets, more than the {MOST_SETS:,} it allows: "
            "use map_local_search, or allow fewer items with a tilt"
        )
    block = problem.block(problem.candidates)
    best, best_det = np.empty(0, dtype=np.intp), 0.0
    combinations = itertools.combinations(range(problem.available), size)
    while chunk := list(itertools.islice(combinations, _CHUNK)):
        sets = np.array(chunk, dtype=np.intp).reshape(len(chunk), size)
        dets = np.linalg.det(block[sets[:, :, None], sets[:, None, :]])
        place = int(np.argmax(dets))
        if dets[place] > best_det:
            best, best_det = sets[place], float(dets[place])
    return problem.bundle([int(row) for row in problem.candidates[best]])
