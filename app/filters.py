"""What a request may say about items, for recommendations and bundles alike: all of it becomes one Tilt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import from_json

from app.baskets import KnownCart
from app.fields import Category, ItemId, Strict
from app.items.catalogue import Catalogue
from ndpp import Tilt
from ndpp.kernel import Indices, Vector

Factor = Annotated[float, Field(strict=True, ge=0, le=1000)]
Price = Annotated[float, Field(ge=0, le=1e9)]
_STRINGS_BEGIN = re.compile(r'\s*\[\s*"')
_NOTHING = np.empty(0, dtype=np.intp)


class Knobs(Strict):
    """How to serve the model; what is not given is as the training job chose it."""

    popularity: float | None = Field(
        None, ge=-2, le=2, description="γ: above 0 plays popular items down, below 0 up."
    )
    relevance: float | None = Field(
        None, ge=0, le=10, description="β: the weight of plain co-purchase counts beside the set model."
    )
    decoupling: float | None = Field(
        None, ge=0, le=1, description="ω: 0 conditions on the cart exactly, 1 takes its items independently."
    )


class ItemFilters(Strict):
    """Which items may appear."""

    exclude: list[ItemId] = Field(default_factory=list, max_length=10_000, description="Never show these.")
    category: list[Category] = Field(
        default_factory=list, max_length=100, description="Only items of one of these categories."
    )
    min_price: Price | None = Field(None, description="Only items that cost at least this.")
    max_price: Price | None = Field(None, description="Only items that cost at most this.")
    in_stock: bool = Field(True, description="Only items in stock; false shows the others too.")

    @model_validator(mode="after")
    def _prices_in_order(self) -> Self:
        if self.min_price is not None and self.max_price is not None and self.min_price > self.max_price:
            raise ValueError("min_price must not be above max_price")
        return self

    @property
    def narrowing(self) -> bool:
        """Whether category or price rule items out."""
        return bool(self.category) or self.min_price is not None or self.max_price is not None


class Filters(Knobs, ItemFilters):
    """Which items may appear, and how to serve the model."""


class Boosts(Strict):
    """Factors on the gains of items: above 1 promotes, below 1 demotes, 0 hides."""

    items: dict[ItemId, Factor] = Field(default_factory=dict, max_length=10_000, examples=[{"tripod": 2}])
    categories: dict[Category, Factor] = Field(
        default_factory=dict, max_length=100, examples=[{"Photo": 1.5}]
    )


def _query_ids(values: list[str]) -> list[str]:
    """In a query, `items=a,b&items=c` names three items, and so does `items=["a","b","c"]`."""
    return [item_id for text in values for item_id in _ids_of(text)]


def _ids_of(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        try:
            values: list[Any] = from_json(text)
        except ValueError as error:  # an id may begin with a bracket
            if _STRINGS_BEGIN.match(text):
                raise ValueError(f"it begins like a JSON array but is none: {error}") from None
        else:
            if not all(isinstance(value, str) for value in values):
                raise ValueError('a JSON array of ids must hold strings only, such as ["7","a,b"]')
            return values
    return [word.strip() for word in text.split(",") if word.strip()]


QueryIds = Annotated[list[ItemId], BeforeValidator(_query_ids)]
QUERY_IDS = '`a,b,c`, repeated, or a JSON array for ids with commas: `["a,b","c"]`.'


@dataclass(frozen=True, eq=False)
class Wishes:
    """τ² in parts: a dense base (None stands for ones) times factors at some rows, part by part."""

    base: Vector | None
    parts: list[tuple[Indices, Vector | float]]  # the rows of one part differ, or its factor is 0
    unit: float = 1.0  # what all of τ² is still to be multiplied by: it changes no order and no share

    def dense(self, size: int) -> Vector:
        """τ² of every item."""
        values = np.ones(size) if self.base is None else self.base.copy()
        for rows, factors in self.parts:
            values[rows] *= factors
        return values

    @cached_property
    def tilt(self) -> Tilt:
        """The same for the engine."""
        rows = [rows for rows, _ in self.parts]
        factors = [
            np.broadcast_to(np.asarray(given, dtype=np.float64), len(rows)) for rows, given in self.parts
        ]
        return Tilt(self.base, np.concatenate([_NOTHING, *rows]), np.concatenate([np.empty(0), *factors]))


def wishes_of(catalogue: Catalogue, filters: Filters, boosts: Boosts | None, cart: KnownCart) -> Wishes:
    """τ² = filters · boosts · popularity · relevance of a request about a cart."""
    model, relevance = catalogue.model, catalogue.model.stored.relevance
    parts: list[tuple[Indices, Vector | float]] = []
    if len(catalogue.boosted):
        parts.append((catalogue.boosted, catalogue.boost_factors))
    if filters.in_stock and len(catalogue.out_of_stock):
        parts.append((catalogue.out_of_stock, 0.0))
    if hidden := cart.earlier + catalogue.rows_of(filters.exclude):
        parts.append((np.array(hidden, dtype=np.intp), 0.0))
    exponent = model.knobs.relevance if filters.relevance is None else filters.relevance
    unit = 1.0
    if cart.rows and exponent and relevance is not None:
        rows, evidence = relevance.evidence(cart.rows)
        unit = relevance.floor**exponent  # r^β = floor^β (r/floor)^β, and for most items r is the floor
        parts.append((rows, (evidence / relevance.floor) ** exponent))
    if boosts is not None and boosts.items:
        known = [item_id for item_id in boosts.items if catalogue.row_of(item_id) is not None]
        factors = np.array([boosts.items[item_id] for item_id in known])
        parts.append((np.array(catalogue.rows_of(known), dtype=np.intp), factors))
    return Wishes(_base(catalogue, filters, boosts), parts, unit)


def allowed(catalogue: Catalogue, filters: ItemFilters, rows: Indices) -> NDArray[np.bool_]:
    """Which of some rows may appear: those that no filter and no boost of 0 hides."""
    shown = catalogue.boosts[rows] > 0
    if filters.in_stock:
        shown &= catalogue.in_stock[rows]
    shown &= ~np.isin(rows, catalogue.rows_of(filters.exclude))
    if filters.category:
        shown &= np.array([catalogue.category(row) in filters.category for row in rows.tolist()], dtype=bool)
    # An unknown price (NaN) is neither above nor below a limit, so it is ruled out by one.
    if filters.min_price is not None:
        shown &= catalogue.prices[rows] >= filters.min_price
    if filters.max_price is not None:
        shown &= catalogue.prices[rows] <= filters.max_price
    return shown


def decoupling_of(catalogue: Catalogue, filters: Filters) -> float:
    """ω of the request, or the model's own."""
    return catalogue.model.knobs.decoupling if filters.decoupling is None else filters.decoupling


def _base(catalogue: Catalogue, filters: Filters, boosts: Boosts | None) -> Vector | None:
    """The dense part of τ²: popularity, categories, prices. None stands for ones."""
    model = catalogue.model
    exponent = model.knobs.popularity if filters.popularity is None else filters.popularity
    base = model.popularity_factors(exponent)
    categories = boosts.categories if boosts is not None else {}
    if not filters.narrowing and not categories:
        return base
    factors = np.ones(model.kernel.size) if base is None else base.copy()
    for category, factor in categories.items():
        factors[model.categories.get(category, _NOTHING)] *= factor
    if filters.category:
        allowed = np.zeros(model.kernel.size)
        for category in filters.category:
            allowed[model.categories.get(category, _NOTHING)] = 1.0
        factors *= allowed
    # An unknown price (NaN) is neither above nor below a limit, so it is ruled out by one.
    if filters.min_price is not None:
        factors *= catalogue.prices >= filters.min_price
    if filters.max_price is not None:
        factors *= catalogue.prices <= filters.max_price
    return factors
