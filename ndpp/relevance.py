"""Evidence from plain co-purchase counts: for each item a short list of weighted neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Vector


@dataclass(frozen=True, eq=False)
class Relevance:
    """r_i(Y) = max(floor, Σ_{y∈Y} weight(y → i)): a floor for most items, a short list above it."""

    offsets: NDArray[np.int64]  # (M + 1,): item y's neighbours are neighbours[offsets[y]:offsets[y + 1]]
    neighbours: NDArray[np.int32]  # (entries,)
    weights: NDArray[np.float32]  # (entries,)
    floor: float  # > 0

    def evidence(self, cart: ArrayLike) -> tuple[Indices, Vector]:
        """The rows whose evidence from `cart` lies above the floor, ascending, and that evidence.

        An item that stands in the cart twice counts once.
        """
        distinct = dict.fromkeys(np.asarray(cart, dtype=np.intp).tolist())
        spans = [slice(self.offsets[y], self.offsets[y + 1]) for y in distinct]
        if not spans:
            return np.empty(0, dtype=np.intp), np.empty(0)
        rows, position = np.unique(
            np.concatenate([self.neighbours[span] for span in spans]), return_inverse=True
        )
        weights = np.concatenate([self.weights[span] for span in spans]).astype(np.float64)
        totals: Vector = np.bincount(position, weights=weights, minlength=len(rows)).astype(np.float64)
        above = totals > self.floor
        return rows[above].astype(np.intp), totals[above]
