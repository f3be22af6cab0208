"""A model in memory with everything that requests look up in it, computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model_store import Knobs, StoredModel
from ndpp import Kernel, Mixture, NextItem, PairTable, Relations
from ndpp.kernel import Indices, Vector

# A table of pairs takes 8 M² bytes in each worker: 87 MB for 3,300 items, 134 MB for these.
_TABLE_ITEMS = 4_096
_MIXING = 30  # multiply-adds that the experts' logarithms and exponentials of an item are worth
_VOTES = 1_000_000  # and those that the search for similar baskets is worth


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """Immutable: a request takes one reference to it and never sees another version."""

    stored: StoredModel
    prices: Vector  # (M,), NaN where unknown
    in_stock: NDArray[np.bool_]  # (M,), what is unknown counts as in stock
    categories: dict[str, Indices]
    search_names: tuple[str, ...]  # name and id of each item, in one case
    next_item: NextItem
    relations: Relations | None  # versions of release 0.1 have no lifts

    @classmethod
    def of(cls, stored: StoredModel) -> LoadedModel:
        """Prepare a stored model for requests."""
        items = stored.items
        pairs = PairTable.of(stored.kernel) if stored.kernel.size <= _TABLE_ITEMS else None
        rows_by_category: dict[str, list[int]] = {}
        for row, category in enumerate(items.categories):
            if category is not None:
                rows_by_category.setdefault(category, []).append(row)
        return cls(
            stored=stored,
            prices=np.array([np.nan if price is None else price for price in items.prices], dtype=np.float64),
            in_stock=np.array([stock is not False for stock in items.in_stock], dtype=np.bool_),
            categories={name: np.array(rows, dtype=np.intp) for name, rows in rows_by_category.items()},
            search_names=tuple(
                f"{name or ''}\n{item_id}".casefold()
                for name, item_id in zip(items.names, items.ids, strict=True)
            ),
            next_item=replace(stored.next_item, pairs=pairs),
            relations=None if stored.lifts is None else Relations(stored.kernel, stored.lifts),
        )

    @property
    def version(self) -> str:
        """The version's name in the store."""
        return self.stored.version

    @property
    def kernel(self) -> Kernel:
        """The kernel over the catalogue's rows."""
        return self.stored.kernel

    @property
    def knobs(self) -> Knobs:
        """ω, β and γ as the training job chose them."""
        return self.stored.manifest.knobs

    @property
    def gives_probabilities(self) -> bool:
        """Whether its scores were fitted as probabilities; release 0.1 did not do that."""
        return self.stored.manifest.mixture is not None

    @cached_property
    def determinant(self) -> NextItem:
        """The paper's conditioning: P ∝ Δ."""
        return NextItem(self.kernel, Mixture.plain(), pairs=self.next_item.pairs)

    def operations(self, cart_size: int) -> float:
        """Multiply-adds of a pass over F for a cart, to decide where it runs."""
        return float(self.kernel.size) * self.kernel.rank * (cart_size + 1)

    def operations_of_one(self, cart_size: int) -> float:
        """The same for a single recommendation, which has the table of pairs and mixes experts."""
        pairs = self.next_item.pairs
        gains = self.operations(cart_size)
        if pairs is not None and pairs.suits(cart_size):
            gains = pairs.operations(cart_size)
        return gains + _MIXING * self.kernel.size + _VOTES

    def warm_up(self) -> None:
        """Touch all pages and fill all caches, so that the first request is as fast as the next."""
        numbers = self.next_item.given([0]).probabilities
        if self.relations is not None and self.kernel.size > 1:
            numbers = np.append(numbers, self.relations.between([0], [1]).lift)
        if np.isnan(self.next_item.log_usual).any() or not np.isfinite(numbers).all():
            raise ValueError("a first recommendation gives numbers that are not finite")
