"""An inverted index of training baskets: the baskets most similar to a cart, and the items in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Vector
from ndpp.sparse import Sparse, nothing

SIMILAR = 300  # baskets that vote
_VOTING = 1_000  # newest baskets per item among which they are searched; 10,000 gain less than 0.01 nats
_SMALL = 1_000_000  # baskets whose 1 / √|b| are kept: 8 MB
_SHARPNESS = 3  # the weight of a vote is (similarity / highest similarity) to this power
_SPARSE = 50  # places for each number: up to here one sum per place is faster than finding equal numbers


@dataclass(frozen=True, eq=False)
class BasketIndex:
    """Baskets of two or more items, the newest first, and for each item the baskets that hold it.

    Basket b holds `items[offsets[b]:offsets[b + 1]]`; item y is in the baskets
    `postings[starts[y]:starts[y + 1]]`, ascending, only the newest if there are very many.
    """

    offsets: NDArray[np.int64]  # (n + 1,)
    items: NDArray[np.int32]  # (total,)
    starts: NDArray[np.int64]  # (M + 1,)
    postings: NDArray[np.int32]  # (entries,)
    rarity: NDArray[np.float32]  # (M,): inverse document frequency, −log(share of baskets with the item)
    log_first: NDArray[np.float32]  # (M,): log P(item follows an empty cart)
    most: int = _VOTING  # baskets listed per item at most; a shorter list is complete

    def similar(self, cart: ArrayLike) -> Sparse:
        """The numbers of the baskets most similar to the cart, ascending, and their similarity.

        s_b = Σ_{y ∈ cart ∩ b} rarity_y / √|b|; ties go to the newest baskets.
        """
        rows = dict.fromkeys(np.asarray(cart, dtype=np.intp).tolist())
        lists = [self._listed(y)[:_VOTING] for y in rows]
        if not lists or not (found := np.concatenate(lists)).size:
            return nothing()
        weights = np.repeat([float(self.rarity[y]) for y in rows], [len(each) for each in lists])
        numbers, shared = _sums(found, weights, len(self.offsets) - 1)
        similarity = shared * self._inverse_roots_of(numbers)
        if len(numbers) > SIMILAR:
            lowest = np.partition(similarity, -SIMILAR)[-SIMILAR]
            above = similarity > lowest
            tied = np.flatnonzero(similarity == lowest)[: SIMILAR - int(np.count_nonzero(above))]
            above[tied] = True
            numbers, similarity = numbers[above], similarity[above]
        return numbers, similarity

    def _inverse_roots_of(self, numbers: Indices) -> Vector:
        """1 / √|b| of some baskets."""
        if len(self.offsets) <= _SMALL:
            return self._inverse_roots[numbers]
        roots: Vector = 1 / np.sqrt(self.offsets[numbers + 1] - self.offsets[numbers])
        return roots

    @cached_property
    def _inverse_roots(self) -> Vector:
        return 1 / np.sqrt(np.diff(self.offsets))

    def votes(self, cart: ArrayLike) -> Sparse:
        """The items of the most similar baskets, each with Σ_b (s_b / max s)³ over its baskets."""
        numbers, similarity = self.similar(cart)
        highest = similarity.max(initial=0.0)
        if highest <= 0:
            return nothing()
        items, sizes = self.contents(numbers)
        weights = np.repeat((similarity / highest) ** _SHARPNESS, sizes)
        return _sums(items, weights, len(self.rarity))

    def contents(self, numbers: Indices) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The items of these baskets, one basket after the other, and the size of each basket."""
        first = self.offsets[numbers]
        sizes = self.offsets[numbers + 1] - first
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + sizes, sizes)
        return self.items[places], sizes

    def holding(self, rows: ArrayLike) -> tuple[Indices, bool]:
        """The numbers of the baskets that hold all `rows`, and whether these are all such baskets.

        Only the newest are known if every one of the rows is in more than `most` baskets.
        """
        index = np.asarray(rows, dtype=np.intp)
        if not len(index):
            return np.arange(len(self.offsets) - 1), True
        rarest = min(index.tolist(), key=lambda row: len(self._listed(row)))
        numbers: Indices = self._listed(rarest).astype(np.intp)
        complete = self.lists_all(index.tolist())
        if len(index) > 1:
            wanted = np.zeros(len(self.rarity), dtype=np.bool_)
            wanted[index] = True
            items, sizes = self.contents(numbers)
            owners = np.repeat(np.arange(len(numbers)), sizes)
            shared = np.bincount(owners[wanted[items]], minlength=len(numbers))
            numbers = numbers[shared == np.count_nonzero(wanted)]
        return numbers, complete

    def lists_all(self, rows: Sequence[int]) -> bool:
        """Whether all baskets that hold these rows are listed, because one of them is in few enough."""
        return any(len(self._listed(row)) < self.most for row in rows)

    def sharing(self, cart: ArrayLike, least: int, most: int) -> tuple[Indices, Indices]:
        """The baskets that share at least `least` items with the cart, and how many they share.

        At most `most` baskets: first those that share more, then the newest.
        """
        rows = dict.fromkeys(np.asarray(cart, dtype=np.intp).tolist())
        lists = [self._listed(row) for row in rows]
        found = np.concatenate(lists) if lists else np.empty(0, dtype=np.int32)
        if not len(found):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        numbers, sums = _sums(found, np.ones(len(found)), len(self.offsets) - 1)
        shared = sums.astype(np.intp)
        chosen = np.flatnonzero(shared >= least)
        if len(chosen) > most:
            chosen = chosen[np.argsort(-shared[chosen], kind="stable")[:most]]
        return numbers[chosen], shared[chosen]

    def _listed(self, row: int) -> NDArray[np.int32]:
        return self.postings[self.starts[row] : self.starts[row + 1]]

    def check(self, size: int) -> None:
        """ValueError unless the index is for `size` items and its arrays fit together."""
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
        if self.most < 1:
            raise ValueError("the basket index lists no baskets")
        if self.log_first.shape != (size,):
            raise ValueError(f"the kernel has {size} items, the first items {len(self.log_first)}")
        if not (np.isfinite(self.rarity).all() and np.isfinite(self.log_first).all()):
            raise ValueError("the basket index holds a rarity or a share that is not finite")


def _sums(places: NDArray[np.integer[Any]], weights: Vector, size: int) -> Sparse:
    """The places that occur, ascending, and the sum of the weights at each."""
    if size <= _SPARSE * len(places):
        totals = np.bincount(places, weights).astype(np.float64, copy=False)
        chosen = np.flatnonzero(totals > 0)  # much faster on booleans than on numbers
        return chosen, totals[chosen]
    listed, position = np.unique(places, return_inverse=True)
    return listed.astype(np.intp), np.bincount(position, weights).astype(np.float64, copy=False)
