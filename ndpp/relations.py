"""How two items relate: complements or substitutes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ndpp.conditional import check_rows
from ndpp.kernel import Kernel, Matrix


def lifts(kernel: Kernel, rows: ArrayLike) -> Matrix:
    """1 − L_ij L_ji / (L_ii L_jj) for every pair of `rows`: above 1 complements, below 1 substitutes.

    1 on the diagonal, and where an item has no weight of its own the pair counts as unrelated (1).
    """
    index = check_rows(rows, kernel.size, "row")
    block = kernel.submatrix(index)
    own = np.sqrt(np.maximum(np.diag(block), 0.0))
    known = np.outer(own, own) > 0
    scale = np.where(known, np.outer(own, own), 1.0)
    lift: Matrix = np.where(known, 1 - (block / scale) * (block.T / scale), 1.0)
    np.fill_diagonal(lift, 1.0)
    return lift


def lift(kernel: Kernel, i: int, j: int) -> float:
    """P(i and j) / (P(i) P(j)) up to normalisation: above 1 complements, below 1 substitutes."""
    return float(lifts(kernel, [i, j])[0, 1])
