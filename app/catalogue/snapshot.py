"""The snapshot that a request works with: a model and the shop's overrides as one immutable value.

`SnapshotHolder.current()` gives the one in use. A new model or a changed override makes a new snapshot, which
replaces the old one in a single assignment, so that no request sees half of a change.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan
from threading import Lock
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.catalogue.overrides import Changes, Override
from app.http.errors import ModelMissing
from app.http.inputs import ItemFilters
from model_store import Knobs, StoredModel
from ndpp import DenseKernel, Kernel, Mixture, NextItem, RelatedItems
from ndpp.kernel import Indices, Vector
from ndpp.sets import Attraction, SetPredictor

_NO_ROWS: Indices = np.empty(0, dtype=np.intp)
_CACHED_RESPONSES = 1_024
# A dense kernel takes 8 M² bytes in each process: 87 MB for 3,300 items, 134 MB for these.
_DENSE_ITEMS = 4_096
# Costs in multiply-adds:
_MIXING = 30  # the logarithms and exponentials of the mixture, per item
_SIMILAR_BASKETS = 1_000_000  # the search for similar baskets


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A stored model with what requests look up in it, computed once."""

    stored: StoredModel
    prices: Vector  # (M,), NaN where unknown
    in_stock: NDArray[np.bool_]  # (M,), true where unknown
    categories: dict[str, Indices]  # rows by category
    search_names: tuple[str, ...]  # name and id of each item, case-folded
    next_item: NextItem
    relations: RelatedItems | None  # None for versions of release 0.1, which have no lifts
    sets: SetPredictor | None  # None for versions that were not fitted to give P(set | cart)
    attraction: Attraction | None  # as `sets`

    @classmethod
    def of(cls, stored: StoredModel) -> ServedModel:
        """Prepare a stored model for requests."""
        items = stored.items
        dense = DenseKernel.of(stored.kernel) if stored.kernel.size <= _DENSE_ITEMS else None
        rows_by_category: dict[str, list[int]] = {}
        for row, category in enumerate(items.categories):
            if category is not None:
                rows_by_category.setdefault(category, []).append(row)
        next_item = replace(stored.next_item, dense=dense)
        relations = None if stored.lifts is None else RelatedItems(stored.kernel, stored.lifts)
        sets = stored.set_predictor
        if sets is not None and relations is not None:
            sets = replace(sets, next_item=next_item, relations=relations)  # with their caches
        return cls(
            stored=stored,
            prices=np.array([np.nan if price is None else price for price in items.prices], dtype=np.float64),
            in_stock=np.array([stock is not False for stock in items.in_stock], dtype=np.bool_),
            categories={name: np.array(rows, dtype=np.intp) for name, rows in rows_by_category.items()},
            search_names=tuple(
                f"{name or ''}\n{item_id}".casefold()
                for name, item_id in zip(items.names, items.ids, strict=True)
            ),
            next_item=next_item,
            relations=relations,
            sets=sets,
            attraction=None if sets is None else Attraction(sets.relations, sets.baskets),
        )

    @property
    def version(self) -> str:
        """The version's name in the model store."""
        return self.stored.version

    @property
    def kernel(self) -> Kernel:
        """The kernel over the rows of the catalogue."""
        return self.stored.kernel

    @property
    def knobs(self) -> Knobs:
        """The serving parameters ω, β and γ that training chose."""
        return self.stored.manifest.knobs

    @property
    def gives_probabilities(self) -> bool:
        """Whether its scores were fitted as probabilities; those of release 0.1 were not."""
        return self.stored.manifest.mixture is not None

    @property
    def uses_histories(self) -> bool:
        """Whether what a shopper bought before changes its probabilities."""
        return self.next_item.mixture.own is not None and self.next_item.baskets is not None

    @cached_property
    def kernel_only(self) -> NextItem:
        """The paper's exact conditioning: P ∝ Δ."""
        return NextItem(self.kernel, Mixture.plain(), dense=self.next_item.dense)

    def rows_in(self, category: str) -> Indices:
        """The rows of a category's items, none if there is no such category."""
        return self.categories.get(category, _NO_ROWS)

    def operations(self, cart_size: int) -> float:
        """Multiply-adds of a pass over F for a cart."""
        return float(self.kernel.size) * self.kernel.rank * (cart_size + 1)

    def operations_of_one(self, cart_size: int) -> float:
        """Multiply-adds of a single recommendation, which may use the dense kernel."""
        dense = self.next_item.dense
        gains = self.operations(cart_size)
        if dense is not None and dense.suits(cart_size):
            gains = dense.operations(cart_size)
        return gains + _MIXING * self.kernel.size + _SIMILAR_BASKETS

    def warm_up(self) -> None:
        """Touch all pages and fill all caches, so that the first request is as fast as the next."""
        numbers = self.next_item.given([0]).probabilities
        if self.relations is not None and self.kernel.size > 1:
            numbers = np.append(numbers, self.relations.between([0], [1]).lift)
        if np.isnan(self.next_item.log_usual).any() or not np.isfinite(numbers).all():
            raise ValueError("a first recommendation gives numbers that are not finite")


def _new_cache() -> LRUCache[Hashable, Any]:
    return LRUCache(_CACHED_RESPONSES)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A model with the shop's overrides applied to its items."""

    model: ServedModel
    prices: Vector  # (M,), NaN where unknown
    in_stock: NDArray[np.bool_]  # (M,)
    boosts: Vector  # (M,), 1 unless the shop has set another
    revision: int = 0  # the number of the latest change of an override that is applied
    # LRU cache of recommendations, empty in a new snapshot. Copy a response before changing it.
    cache: LRUCache[Hashable, Any] = field(default_factory=_new_cache)

    @classmethod
    def of(cls, model: ServedModel, overrides: Mapping[str, Override], revision: int = 0) -> Snapshot:
        """Apply the overrides to the items of the model."""
        untouched = cls(model, model.prices, model.in_stock, np.ones(model.kernel.size))
        return untouched.changed(overrides, revision)

    def changed(self, overrides: Mapping[str, Override], revision: int) -> Snapshot:
        """A snapshot in which these items have these overrides instead; all others stay."""
        prices, in_stock, boosts = self.prices.copy(), self.in_stock.copy(), self.boosts.copy()
        for item_id, override in overrides.items():
            row = self.row_of(item_id)
            if row is None:
                continue
            prices[row] = self.model.prices[row] if override.price is None else override.price
            in_stock[row] = self.model.in_stock[row] if override.in_stock is None else override.in_stock
            boosts[row] = 1.0 if override.boost is None else override.boost
        return Snapshot(self.model, prices, in_stock, boosts, revision)

    @cached_property
    def out_of_stock(self) -> Indices:
        """The rows of items that are out of stock."""
        return np.flatnonzero(~self.in_stock)

    def row_of(self, item_id: str) -> int | None:
        """The row of an item, None if the model does not know it."""
        return self.model.stored.items.row_of(item_id)

    def rows_of(self, item_ids: Iterable[str]) -> list[int]:
        """The rows of the items that the model knows."""
        return [row for item_id in item_ids if (row := self.row_of(item_id)) is not None]

    def factors(self, filters: ItemFilters) -> Vector:
        """The factor on the odds of every item: its boost, or 0 if it is filtered out."""
        factors = self.boosts.copy()
        if filters.in_stock:
            factors[self.out_of_stock] = 0.0
        factors[self.rows_of(filters.exclude)] = 0.0
        if filters.category:
            allowed = np.zeros(len(factors))
            for category in filters.category:
                allowed[self.model.rows_in(category)] = 1.0
            factors *= allowed
        # A comparison with an unknown price (NaN) is false, so a price filter rules these items out.
        if filters.min_price is not None:
            factors *= self.prices >= filters.min_price
        if filters.max_price is not None:
            factors *= self.prices <= filters.max_price
        return factors

    def item_id(self, row: int) -> str:
        """The id of a row's item."""
        return self.model.stored.items.ids[row]

    def name(self, row: int) -> str | None:
        """The name of a row's item."""
        return self.model.stored.items.names[row]

    def category(self, row: int) -> str | None:
        """The category of a row's item."""
        return self.model.stored.items.categories[row]

    def price(self, row: int) -> float | None:
        """The price of a row's item, None if unknown."""
        price = float(self.prices[row])
        return None if isnan(price) else price


class SnapshotHolder:
    """Holds the snapshot in use."""

    def __init__(self) -> None:
        self._lock = Lock()  # models and overrides come from different threads
        self._snapshot: Snapshot | None = None
        self._overrides: dict[str, Override] = {}
        self._revision = 0

    @property
    def model(self) -> ServedModel | None:
        """The model in use, None before the first one is loaded."""
        return self._snapshot.model if self._snapshot else None

    def current(self) -> Snapshot:
        """The snapshot in use; raises ModelMissing before the first model is loaded."""
        if self._snapshot is None:
            raise ModelMissing(
                "No model is loaded: /readyz gives the reason. Publish a model if there is none."
            )
        return self._snapshot

    def use_model(self, model: ServedModel) -> None:
        """Replace the model."""
        with self._lock:
            self._snapshot = Snapshot.of(model, self._overrides, self._revision)

    def use_changes(self, changes: Changes) -> None:
        """Apply changed overrides. If they are few, only their rows are touched."""
        overrides = changes.overrides()
        with self._lock:
            self._revision = changes.number
            if changes.are_all:
                self._overrides = overrides
                if self._snapshot is not None:
                    self._snapshot = Snapshot.of(self._snapshot.model, overrides, changes.number)
            else:
                self._overrides.update(overrides)
                if self._snapshot is not None:
                    self._snapshot = self._snapshot.changed(overrides, changes.number)
