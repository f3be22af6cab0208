"""The log-likelihood of whole baskets, and random sets to compare them with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ndpp import Kernel
from training.baskets import ItemRows

EPSILON = 1e-5  # the paper's ε: keeps log det(L_Y + εI) finite when L_Y is singular
_NUMBERS_AT_ONCE = 4_000_000  # 32 MB of gathered factors


def log_likelihoods(kernel: Kernel, sets: Sequence[ItemRows]) -> NDArray[np.float64]:
    """log det(L_Y + εI) − log det(I + L) for each set Y; as in the paper, Y may be empty."""
    result = np.empty(len(sets))
    for members in _equal_sizes(sets, kernel.rank):
        rows = np.stack([sets[member] for member in members])  # (n, s)
        blocks = kernel.submatrix(rows) + EPSILON * np.eye(rows.shape[1])  # (n, s, s)
        result[members] = np.linalg.slogdet(blocks).logabsdet
    return result - kernel.log_normaliser


def _equal_sizes(sets: Sequence[ItemRows], rank: int) -> Iterator[NDArray[np.intp]]:
    """Indices of sets of one size, in batches of limited memory."""
    sizes = np.array([len(rows) for rows in sets])
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        at_once = max(1, _NUMBERS_AT_ONCE // max(1, int(size) * rank))
        yield from (members[start : start + at_once] for start in range(0, len(members), at_once))


def random_twins(sets: Sequence[ItemRows], size: int, rng: np.random.Generator) -> list[ItemRows]:
    """For each set, a random one of the same length, drawn without replacement from `size` items."""
    return [rng.choice(size, len(rows), replace=False).astype(np.int32) for rows in sets]
