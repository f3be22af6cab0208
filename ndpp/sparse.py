"""Values of some rows of the catalogue: ascending row numbers, and a value for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Indices, Vector

Sparse = tuple[Indices, Vector]
BoolVector = NDArray[np.bool_]


def nothing() -> Sparse:
    """No rows."""
    return np.empty(0, dtype=np.intp), np.empty(0)


def find(rows: Indices, listed: NDArray[np.integer]) -> tuple[Indices, BoolVector]:
    """The position of each row in the ascending `listed`, and whether the row is there at all."""
    if not len(listed):
        return np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows), dtype=np.bool_)
    places: Indices = np.minimum(np.searchsorted(listed, rows), len(listed) - 1)
    return places, listed[places] == rows
