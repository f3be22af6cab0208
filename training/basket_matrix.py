"""Baskets as sparse matrices: baskets × items, and co-occurrence counts of items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from training.baskets import Baskets, ItemRows

_LARGEST = np.iinfo(np.int32).max


def cart_matrix(carts: Sequence[ItemRows], size: int) -> sparse.csr_array:
    """Carts, possibly with repeated items, as a sparse 0/1 matrix, (n, M)."""
    offsets = np.concatenate([[0], np.cumsum([len(cart) for cart in carts])]).astype(np.int64)
    rows = np.concatenate([np.empty(0, np.int32), *carts]).astype(np.int32)
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), rows, offsets), shape=(len(carts), size))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def basket_matrix(baskets: Baskets) -> sparse.csr_array:
    """The baskets as a sparse 0/1 matrix, (n, M)."""
    ones = np.ones(len(baskets.items), np.float32)
    # SciPy takes the wider type for all indices, and products inherit it: with int32 they need less memory.
    offsets = baskets.offsets.astype(np.int32) if len(ones) <= _LARGEST else baskets.offsets
    return sparse.csr_array((ones, baskets.items, offsets), shape=(len(baskets), len(baskets.catalogue)))


def co_occurrences(baskets: Baskets) -> sparse.csr_array:
    """The number of baskets that hold both items, sparse (M, M), without the diagonal."""
    X = basket_matrix(baskets)
    together = (X.T @ X).tocoo()
    apart = together.row != together.col
    entries = (together.data[apart], (together.row[apart], together.col[apart]))
    return sparse.csr_array(entries, shape=together.shape)
