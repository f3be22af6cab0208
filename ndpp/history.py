"""What a shopper bought before: the items of earlier baskets, and how long ago each was bought."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.kernel import FloatArray, Indices, Vector
from ndpp.sparse import Sparse, find

_MAIN_ITEMS, _MAIN_DAYS = 20, 60.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a history says, in the logarithms of `ndpp.mixture.Own`."""

    recent: Vector  # log(1 + recent_i / s_i) of the history's items
    often: Vector  # log(1 + count_i / s_i) of the history's items
    related: Sparse  # log(r_i(h) / floor): the relevance of items to those that the shopper buys most


@dataclass(frozen=True, eq=False)
class History:
    """The purchases of earlier baskets; `rows[n]` was bought `ages[n]` days ago."""

    rows: Indices  # (total,): an item of several baskets occurs several times
    ages: Vector  # (total,): in days, 0 or more
    baskets: int  # those that hold a known item
    evidence: dict[Hashable, Evidence] = field(default_factory=dict, init=False, repr=False)  # by model

    @classmethod
    def of(cls, baskets: Sequence[ArrayLike], ages: Sequence[float]) -> History | None:
        """The history of baskets bought `ages` days ago; None if they hold no item."""
        lists = [np.unique(np.asarray(basket, dtype=np.intp)) for basket in baskets]
        sizes = np.array([len(rows) for rows in lists], dtype=np.intp)
        if not sizes.sum():
            return None
        days = np.repeat(np.maximum(np.asarray(ages, dtype=np.float64), 0.0), sizes)
        return cls(np.concatenate(lists), days, int(np.count_nonzero(sizes)))

    @classmethod
    def in_order(cls, baskets: Sequence[ArrayLike], gap_days: float) -> History | None:
        """The history of baskets without dates, oldest first, taken to be `gap_days` apart."""
        ages = [gap_days * (len(baskets) - place) for place in range(len(baskets))]
        return cls.of(baskets, ages)

    @cached_property
    def _distinct(self) -> tuple[Indices, Indices]:
        distinct, place = np.unique(self.rows, return_inverse=True)
        return distinct, place

    @property
    def items(self) -> Indices:
        """The rows that were bought, ascending, each once."""
        return self._distinct[0]

    @cached_property
    def counts(self) -> Vector:
        """In how many baskets each of `items` is."""
        return np.bincount(self._distinct[1]).astype(np.float64)

    def decayed_counts(self, days: float, longest_gap: float = np.inf) -> Vector:
        """Σ exp(−age / days) over the baskets with each of `items`.

        If the last basket is older than `longest_gap` days, all ages count from that much after it.
        """
        ages = self.ages - max(self.ages.min() - longest_gap, 0.0)
        return np.bincount(self._distinct[1], np.exp(ages / -days)).astype(np.float64, copy=False)

    @cached_property
    def main_items(self) -> Indices:
        """The items bought most, with more weight on recent purchases; they say what else may interest."""
        weights = self.decayed_counts(_MAIN_DAYS)
        return self.items[np.argsort(-weights, kind="stable")[:_MAIN_ITEMS]]

    @cached_property
    def last(self) -> Vector:
        """How many days ago each of `items` was bought for the last time."""
        latest = np.full(len(self.items), np.inf)
        np.minimum.at(latest, self._distinct[1], self.ages)
        return latest

    @cached_property
    def _visits(self) -> tuple[Indices, Vector]:
        """The basket of each purchase, by its age, and the number of items in each basket."""
        visits: Indices = np.unique(self.ages, return_inverse=True)[1]
        return visits, np.bincount(visits).astype(np.float64)

    def votes(self, cart: Indices, rarity: FloatArray) -> Vector:
        """Σ s_b² over the baskets b with each of `items`, where s_b is the similarity of b and the cart.

        s_b = Σ_{y ∈ cart ∩ b} rarity_y / √|b|, as in `BasketIndex.similar`.
        """
        visits, sizes = self._visits
        shared = rarity[self.rows] * find(self.rows, np.sort(cart))[1]
        squares = np.bincount(visits, shared) ** 2 / sizes
        return np.bincount(self._distinct[1], squares[visits]).astype(np.float64, copy=False)

    def holds(self, rows: Indices) -> int:
        """How many of the rows were bought before."""
        return int(np.count_nonzero(find(rows, self.items)[1]))
