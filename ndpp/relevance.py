"""The relevance prior r_i(cart), learned from co-purchases: a short list of weighted neighbours per item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.sparse import Sparse, find, nothing

_SMALL = 20_000  # items: up to here one sum per item of the catalogue is faster than finding equal rows
_FEW = 30  # and also up to this many items per listed neighbour of the cart


@dataclass(frozen=True, eq=False)
class Relevance:
    """r_i(Y) = max(floor, Σ_{y∈Y} weight(y → i), Σ_{y∈Y} support(y → i)).

    Weights can be negative. `support` is a second, weaker estimate that ranks the items they rule out.
    """

    offsets: NDArray[np.int64]  # (M + 1,): item y's neighbours are neighbours[offsets[y]:offsets[y + 1]]
    neighbours: NDArray[np.int32]  # (entries,)
    weights: NDArray[np.float32]  # (entries,)
    floor: float  # > 0
    support: NDArray[np.float32] | None = None  # (entries,)

    def above_floor(self, cart: ArrayLike) -> Sparse:
        """The rows with r_i(cart) above the floor, and r_i; an item that is in the cart twice counts once."""
        distinct = dict.fromkeys(np.asarray(cart, dtype=np.intp).tolist())
        spans = [slice(self.offsets[y], self.offsets[y + 1]) for y in distinct]
        if not spans:
            return nothing()
        rows = np.concatenate([self.neighbours[span] for span in spans])
        if len(self.offsets) <= max(_SMALL, _FEW * len(rows)):
            totals = self._totals(rows, spans)
            above = np.flatnonzero(totals > self.floor)
            return above, totals[above]
        listed, position = np.unique(rows, return_inverse=True)
        totals = self._totals(position, spans)
        above = np.flatnonzero(totals > self.floor)
        return listed[above].astype(np.intp), totals[above]

    def drops(self, cart: ArrayLike, rows: Indices) -> Matrix:
        """log r_i(cart) − log r_i(cart without y) for each cart item y and each of `rows`, (cart, n)."""
        items = np.asarray(cart, dtype=np.intp)
        votes = np.zeros((2 if self.support is not None else 1, len(items), len(rows)))
        for place, y in enumerate(items.tolist()):
            span = slice(self.offsets[y], self.offsets[y + 1])
            listed, position = np.unique(self.neighbours[span], return_index=True)
            places, found = find(rows, listed)
            known = np.flatnonzero(found)
            entries = position[places[known]]
            votes[0, place, known] = self.weights[span][entries]
            if self.support is not None:
                votes[1, place, known] = self.support[span][entries]
        totals = votes.sum(axis=1, keepdims=True)
        whole = np.maximum(totals.max(axis=0), self.floor)  # (1, n)
        without = np.maximum((totals - votes).max(axis=0), self.floor)  # (cart, n)
        drops: Matrix = np.log(whole) - np.log(without)
        return drops

    def _totals(self, places: NDArray[np.integer[Any]], spans: list[slice]) -> Vector:
        totals = _sums(places, self.weights, spans)
        if self.support is not None:
            np.maximum(totals, _sums(places, self.support, spans), out=totals)
        return totals


def _sums(places: NDArray[np.integer[Any]], weights: NDArray[np.float32], spans: list[slice]) -> Vector:
    chosen = np.concatenate([weights[span] for span in spans])
    return np.bincount(places, weights=chosen).astype(np.float64, copy=False)
