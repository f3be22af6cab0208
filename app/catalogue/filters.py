"""Filters: which items may appear in an answer, and the factor on the odds of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator

from app.catalogue.conditions import Condition
from app.catalogue.snapshot import Snapshot
from app.http.errors import Invalid
from app.http.inputs import JSON_IN_QUERY, QUERY, Category, ItemIds, Price, Strict
from ndpp.kernel import Vector
from ndpp.selection import Pool, Selection


class ConditionFilter(Strict):
    """A condition that items must fulfil."""

    filter: Annotated[Condition | None, JSON_IN_QUERY] = Field(
        None, description="Only items that fulfil this condition; in a query as JSON text."
    )
    _source: Literal["query", "body"] = PrivateAttr("body")

    @model_validator(mode="after")
    def _note_source(self, info: ValidationInfo) -> Self:
        if info.context == QUERY:
            self._source = "query"
        return self

    def place(self, name: str) -> str:
        """Where a field of the request is, for problems."""
        return f"{self._source}.{name}"


class InStockFilters(ConditionFilter):
    """Which of the items in stock may appear."""

    exclude: ItemIds = Field(default_factory=list, max_length=10_000, description="Never show these.")
    category: list[Category] = Field(
        default_factory=list,
        max_length=100,
        description="Only items of one of these categories, or below it; upper and lower case are the same.",
    )
    min_price: Price | None = Field(None, description="Only items that cost at least this.")
    max_price: Price | None = Field(None, description="Only items that cost at most this.")

    @model_validator(mode="after")
    def _prices_in_order(self) -> Self:
        if self.min_price is not None and self.max_price is not None and self.min_price > self.max_price:
            raise ValueError("min_price must not be above max_price")
        return self


class ItemFilters(InStockFilters):
    """Which items may appear."""

    in_stock: bool = Field(True, description="Only items in stock; false includes all others.")


def selection(
    snapshot: Snapshot, filters: InStockFilters, boosts: Mapping[str, float] | None = None
) -> Selection:
    """The factor on the odds of every row: its boost and that of its category, or 0 if it is filtered out."""
    excluded = dict.fromkeys(snapshot.listed_rows(filters.exclude), 0.0)
    return Selection(_pool(snapshot, filters, boosts or {}), excluded)


def _pool(snapshot: Snapshot, filters: InStockFilters, boosts: Mapping[str, float]) -> Pool:
    """The rows that pass the filters, which many requests share."""
    any_stock = isinstance(filters, ItemFilters) and not filters.in_stock
    condition = None if filters.filter is None else filters.filter.cache_key()
    prices = filters.min_price, filters.max_price
    key = any_stock, tuple(filters.category), condition, *prices, tuple(boosts.items())
    found: Pool | None = snapshot.pools.get(key)
    if found is None:
        found = Pool(_factors(snapshot, filters, boosts, any_stock=any_stock))
        snapshot.pools.put(key, found, found.bytes(snapshot.model.next_item))
    return found


def _factors(
    snapshot: Snapshot, filters: InStockFilters, boosts: Mapping[str, float], *, any_stock: bool
) -> Vector:
    found = snapshot.boosts * ~snapshot.deleted
    if not any_stock:
        found *= snapshot.in_stock
    if filters.category:
        found *= in_categories(snapshot, filters.category, filters.place("category"))
    if filters.filter is not None:
        found *= snapshot.mask(filters.filter, filters.place("filter"))
    # A comparison with an unknown price (NaN) is false, so a price filter rules these items out.
    if filters.min_price is not None:
        found *= snapshot.prices >= filters.min_price
    if filters.max_price is not None:
        found *= snapshot.prices <= filters.max_price
    for category, factor in boosts.items():
        chosen = in_categories(snapshot, [category], filters.place("boosts.categories"))
        found *= np.where(chosen, factor, 1.0)
    found.flags.writeable = False
    return found


def in_categories(snapshot: Snapshot, categories: list[str], where: str) -> NDArray[np.bool_]:
    """Which rows are in one of the categories; Invalid names those near an unknown one."""
    allowed = np.zeros(snapshot.size, dtype=np.bool_)
    for category in categories:
        if not snapshot.categories.is_known(category):
            raise Invalid((where, snapshot.categories.unknown(category)))
        allowed |= snapshot.categories.mask(category)
    return allowed
