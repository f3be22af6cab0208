"""Whole baskets: their log-likelihood, and random sets to tell them from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ndpp import Kernel
from training.baskets import ItemRows

EPSILON = 1e-5  # the paper's ε: keeps log det(L_Y + εI) finite where L_Y is singular
_NUMBERS_AT_ONCE = 4_000_000  # 32 MB of gathered factors


def log_likelihoods(kernel: Kernel, sets: Sequence[ItemRows]) -> NDArray[np.float64]:
    """log det(L_Y + εI) − log det(I + L) for each set Y; as in the paper, Y may be empty."""
    result = np.empty(len(sets))
    core = kernel.core
    for members in _equal_sizes(sets, kernel.rank):
        rows = np.stack([sets[member] for member in members])  # (n, s)
        factors = kernel.factors[rows].astype(np.float64)  # (n, s, R)
        minors = factors @ core @ factors.mT
        diagonal = np.arange(rows.shape[1])
        minors[:, diagonal, diagonal] += kernel.diagonal[rows] + EPSILON
        result[members] = np.linalg.slogdet(minors).logabsdet
    return result - kernel.log_normaliser


def _equal_sizes(sets: Sequence[ItemRows], rank: int) -> Iterator[NDArray[np.intp]]:
    """The numbers of sets of one size, so many at a time that their factors fit in little memory."""
    sizes = np.array([len(rows) for rows in sets])
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        at_once = max(1, _NUMBERS_AT_ONCE // max(1, int(size) * rank))
        yield from (members[start : start + at_once] for start in range(0, len(members), at_once))


def random_twins(sets: Sequence[ItemRows], size: int, rng: np.random.Generator) -> list[ItemRows]:
    """For each set one of the same length, drawn uniformly without repetition from `size` items."""
    return [rng.choice(size, len(rows), replace=False).astype(np.int32) for rows in sets]
