"""What a request may say about items, for recommendations and bundles alike: filters, boosts, dials."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
_FURTHEST = 0.8  # γ at the ends of `discovery`: at 1 an empty cart would have nothing left to order by
_NOTHING = np.empty(0, dtype=np.intp)


class Dials(Strict):
    """Two dials that change the order of suggestions; the centre is what fits the baskets best."""

    discovery: float = Field(
        0, ge=-1, le=1, description="From bestsellers (−1) to hidden gems (1); 0 orders by probability."
    )
    cohesion: float = Field(
        0,
        ge=-1,
        le=1,
        description="From each cart item by itself (−1) to the cart as one set (1); 0 is as learned.",
    )


class Knobs(Strict):
    """Exact values for experts, in place of a dial or of what the training job chose."""

    decoupling: float | None = Field(
        None,
        ge=0,
        le=1,
        description="ω: 0 conditions on the cart exactly, 1 takes its items independently. Instead of "
        "`cohesion`.",
    )
    relevance: float | None = Field(
        None, ge=0, le=10, description="β: the exponent of the co-purchase evidence beside the determinant."
    )
    popularity: float | None = Field(
        None,
        ge=-2,
        le=2,
        description="γ: orders by P(item | cart) / P(item | empty cart)^γ. Instead of `discovery`.",
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


class Filters(Dials, ItemFilters):
    """Which items may appear, and in which order."""


class Boosts(Strict):
    """Factors on the odds of items: 2 makes an item twice as likely against the others, 0 hides it."""

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
    """Factors on items: a dense base (None stands for ones) times factors at some rows, part by part."""

    base: Vector | None
    parts: list[tuple[Indices, Vector | float]]  # the rows of one part differ, or its factor is 0

    def dense(self, size: int) -> Vector:
        """The factor of every item."""
        values = np.ones(size) if self.base is None else self.base.copy()
        for rows, factors in self.parts:
            values[rows] *= factors
        return values

    @property
    def tilt(self) -> Tilt:
        """The same for a bundle."""
        rows = [rows for rows, _ in self.parts]
        factors = [
            np.broadcast_to(np.asarray(given, dtype=np.float64), len(rows)) for rows, given in self.parts
        ]
        return Tilt(self.base, np.concatenate([_NOTHING, *rows]), np.concatenate([np.empty(0), *factors]))


def wishes_of(catalogue: Catalogue, filters: Filters, boosts: Boosts | None, cart: KnownCart) -> Wishes:
    """Filters and boosts of a request about a cart: 0 rules an item out, a boost multiplies its odds."""
    parts: list[tuple[Indices, Vector | float]] = []
    if len(catalogue.boosted):
        parts.append((catalogue.boosted, catalogue.boost_factors))
    if filters.in_stock and len(catalogue.out_of_stock):
        parts.append((catalogue.out_of_stock, 0.0))
    if hidden := cart.earlier + catalogue.rows_of(filters.exclude):
        parts.append((np.array(hidden, dtype=np.intp), 0.0))
    if boosts is not None and boosts.items:
        known = [item_id for item_id in boosts.items if catalogue.row_of(item_id) is not None]
        factors = np.array([boosts.items[item_id] for item_id in known])
        parts.append((np.array(catalogue.rows_of(known), dtype=np.intp), factors))
    return Wishes(_base(catalogue, filters, boosts), parts)


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


def decoupling_of(learned: float, dials: Dials, knobs: Knobs | None) -> float:
    """ω: the knob, or as learned and moved by the dial."""
    if knobs is not None and knobs.decoupling is not None:
        return knobs.decoupling
    return learned * (1 - dials.cohesion) if dials.cohesion > 0 else learned - (1 - learned) * dials.cohesion


def popularity_of(dials: Dials, knobs: Knobs | None) -> float:
    """γ: the knob, or the dial, which ends before an item's own popularity is all divided out."""
    return _FURTHEST * dials.discovery if knobs is None or knobs.popularity is None else knobs.popularity


def _base(catalogue: Catalogue, filters: Filters, boosts: Boosts | None) -> Vector | None:
    """The dense part: categories and prices. None stands for ones."""
    model = catalogue.model
    categories = boosts.categories if boosts is not None else {}
    if not filters.narrowing and not categories:
        return None
    factors = np.ones(model.kernel.size)
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
