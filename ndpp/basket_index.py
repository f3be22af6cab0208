"""Training baskets by item: which baskets are most like a cart, and what else they hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Vector

SIMILAR = 300  # baskets that vote
_SHARPNESS = 3  # a vote weighs (similarity / highest similarity) to this power
_SMALL = 1_000_000  # baskets: up to here one sum for each basket is quicker than finding equal numbers


@dataclass(frozen=True, eq=False)
class BasketIndex:
    """Baskets of two items and more, numbered from the newest on, and for each item those that hold it.

    Basket b holds `items[offsets[b]:offsets[b + 1]]`; item y is in the baskets
    `postings[starts[y]:starts[y + 1]]`, ascending, the newest ones only if there are very many.
    """

    offsets: NDArray[np.int64]  # (n + 1,)
    items: NDArray[np.int32]  # (total,)
    starts: NDArray[np.int64]  # (M + 1,)
    postings: NDArray[np.int32]  # (entries,)
    rarity: NDArray[np.float32]  # (M,): log of the inverse share of all baskets that hold the item
    log_first: NDArray[np.float32]  # (M,): log P(item follows an empty cart)

    def similar(self, cart: ArrayLike) -> tuple[Indices, Vector]:
        """The numbers of the baskets most like the cart, ascending, and their similarity.

        s_b = Σ_{y ∈ cart ∩ b} rarity_y / √|b|; of equally similar baskets the newest are taken.
        """
        rows = dict.fromkeys(np.asarray(cart, dtype=np.intp).tolist())
        lists = [self.postings[self.starts[y] : self.starts[y + 1]] for y in rows]
        if not lists or not (found := np.concatenate(lists)).size:
            return np.empty(0, dtype=np.intp), np.empty(0)
        weights = np.repeat([float(self.rarity[y]) for y in rows], [len(each) for each in lists])
        numbers, shared = _sums(found, weights, len(self.offsets) - 1)
        similarity = shared * self._inverse_roots[numbers]
        if len(numbers) > SIMILAR:
            lowest = np.partition(similarity, -SIMILAR)[-SIMILAR]
            above = similarity > lowest
            tied = np.flatnonzero(similarity == lowest)[: SIMILAR - int(np.count_nonzero(above))]
            above[tied] = True
            numbers, similarity = numbers[above], similarity[above]
        return numbers, similarity

    @cached_property
    def _inverse_roots(self) -> Vector:
        """1 / √|b|."""
        return 1 / np.sqrt(np.diff(self.offsets))

    def votes(self, cart: ArrayLike) -> tuple[Indices, Vector]:
        """Items of the baskets most like the cart, ascending, each with Σ_b (s_b / max s)³ of its baskets."""
        numbers, similarity = self.similar(cart)
        highest = similarity.max(initial=0.0)
        if highest <= 0:
            return np.empty(0, dtype=np.intp), np.empty(0)
        first = self.offsets[numbers]
        sizes = self.offsets[numbers + 1] - first
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1]) + np.repeat(first - ends + sizes, sizes)
        weights = np.repeat((similarity / highest) ** _SHARPNESS, sizes)
        return _sums(self.items[places], weights, len(self.rarity))

    def check(self, size: int) -> None:
        """ValueError unless the index speaks of `size` items and its arrays fit together."""
        if self.starts.shape != (size + 1,) or self.rarity.shape != (size,):
            raise ValueError(f"the kernel has {size} items, the basket index {len(self.starts) - 1}")
        for name, offsets, entries, most in (
            ("items", self.offsets, self.items, size),
            ("postings", self.starts, self.postings, len(self.offsets) - 1),
        ):
            if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != len(entries):
                raise ValueError(f"the offsets of the basket index do not fit its {name}")
            if len(entries) and not 0 <= entries.min() <= entries.max() < most:
                raise ValueError(f"the basket index holds {name} that do not exist")
        if self.log_first.shape != (size,):
            raise ValueError(f"the kernel has {size} items, the first items {len(self.log_first)}")
        if not (np.isfinite(self.rarity).all() and np.isfinite(self.log_first).all()):
            raise ValueError("the basket index holds a rarity or a share that is not finite")


def _sums(places: NDArray[np.integer[Any]], weights: Vector, size: int) -> tuple[Indices, Vector]:
    """The places that occur, ascending, and the sum of the weights at each."""
    if size <= _SMALL:
        totals = np.bincount(places, weights).astype(np.float64, copy=False)
        chosen = np.flatnonzero(totals > 0)  # of booleans, which is much faster
        return chosen, totals[chosen]
    listed, position = np.unique(places, return_inverse=True)
    return listed.astype(np.intp), np.bincount(position, weights).astype(np.float64, copy=False)
