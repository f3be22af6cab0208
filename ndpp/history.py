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
_NOTHING: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a history says, in the logarithms of `ndpp.mixture.Own`."""

    recent: Vector  # log(1 + recent_i / s_i) of the history's items
    often: Vector  # log(1 + count_i / s_i) of the history's items
    related: Sparse  # log(r_i(h) / floor): the relevance of items to those that the shopper buys most


@dataclass(frozen=True, eq=False)
class History:
    """The purchases of earlier baskets: `items[places[n]]` was bought in the basket `visits[n]`."""

    items: Indices  # (distinct,): the rows that were bought, ascending
    places: Indices  # (total,)
    visits: Indices  # (total,): every basket holds an item, and an item once
    ages: Vector  # (baskets,): in days, 0 or more
    evidence: dict[Hashable, Evidence] = field(default_factory=dict, init=False, repr=False)  # by model

    @classmethod
    def of(cls, baskets: Sequence[ArrayLike], ages: Sequence[float]) -> History | None:
        """The history of baskets bought `ages` days ago; None if they hold no item."""
        lists = [np.unique(np.asarray(basket, dtype=np.intp)) for basket in baskets]
        visits = np.repeat(np.arange(len(lists)), [len(rows) for rows in lists])
        return cls.of_purchases(np.concatenate([_NOTHING, *lists]), visits, ages)

    @classmethod
    def of_purchases(cls, rows: Indices, visits: Indices, ages: ArrayLike) -> History | None:
        """The history in which `rows[n]` was bought in the basket `visits[n]`, `ages[visits[n]]` days ago."""
        if not len(rows):
            return None
        items, places = np.unique(rows, return_inverse=True)
        used, numbered = np.unique(visits, return_inverse=True)
        days = np.maximum(np.asarray(ages, dtype=np.float64)[used], 0.0)
        return cls(items, places, numbered, days)

    @classmethod
    def in_order(cls, baskets: Sequence[ArrayLike], gap_days: float) -> History | None:
        """The history of baskets without dates, oldest first, taken to be `gap_days` apart."""
        ages = [gap_days * (len(baskets) - place) for place in range(len(baskets))]
        return cls.of(baskets, ages)

    @property
    def baskets(self) -> int:
        """The number of baskets."""
        return len(self.ages)

    @property
    def rows(self) -> Indices:
        """The row of each purchase; an item of several baskets occurs several times."""
        return self.items[self.places]

    @cached_property
    def counts(self) -> Vector:
        """In how many baskets each of `items` is."""
        return np.bincount(self.places).astype(np.float64)

    def decayed_counts(self, days: float, longest_gap: float = np.inf) -> Vector:
        """Σ exp(−age / days) over the baskets with each of `items`.

        If the last basket is older than `longest_gap` days, all ages count from that much after it.
        """
        ages = self.ages - max(float(self.ages.min()) - longest_gap, 0.0)
        return self._summed(np.exp(ages / -days))

    def _summed(self, weights: Vector) -> Vector:
        """The sum of the weights of the baskets with each of `items`."""
        return np.bincount(self.places, weights[self.visits]).astype(np.float64, copy=False)

    @cached_property
    def main_items(self) -> Indices:
        """The items bought most, with more weight on recent purchases; they say what else may interest."""
        weights = self.decayed_counts(_MAIN_DAYS)
        return self.items[np.argsort(-weights, kind="stable")[:_MAIN_ITEMS]]

    @cached_property
    def last(self) -> Vector:
        """How many days ago each of `items` was bought for the last time."""
        latest = np.full(len(self.items), np.inf)
        np.minimum.at(latest, self.places, self.ages[self.visits])
        return latest

    @cached_property
    def _sizes(self) -> Vector:
        """The number of items in each basket."""
        return np.bincount(self.visits).astype(np.float64)

    def votes(self, cart: Indices, rarity: FloatArray) -> Vector:
        """Σ s_b² over the baskets b with each of `items`, where s_b is the similarity of b and the cart.

        s_b = Σ_{y ∈ cart ∩ b} rarity_y / √|b|, as in `BasketIndex.similar`.
        """
        worth = np.zeros(len(self.items))
        places, found = find(cart, self.items)
        worth[places[found]] = rarity[cart[found]]
        shared = np.bincount(self.visits, worth[self.places])
        return self._summed(shared * shared / self._sizes)

    def holds(self, rows: Indices) -> int:
        """How many of the rows were bought before."""
        return int(np.count_nonzero(find(rows, self.items)[1]))
