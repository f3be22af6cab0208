"""Answers about items and how they relate."""

from __future__ import annotations

from typing import Literal, TypedDict

from tripod_client.answers.carts import ConsideredCart
from tripod_client.answers.shoppers import InvalidPart


class ItemAnswer(TypedDict):
    """An item of the shop; `cold` if the model does not know it yet."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None
    in_stock: bool
    boost: float
    count: int | None
    image_url: str | None
    parent_id: str | None
    attributes: dict[str, str | float | bool | list[str]]
    cold: bool


class CategoryEntry(TypedDict):
    """A category and its number of items."""

    category: str
    items: int


class ItemsAnswer(TypedDict):
    """A page of items, the number of all that match, and how many of them each category has."""

    model_version: str
    items: list[ItemAnswer]
    total: int
    categories: list[CategoryEntry]
    next_cursor: str | None


class FailedItem(TypedDict):
    """A change that was not made; `line` is its number, from 1."""

    line: int
    errors: list[InvalidPart]


class ChangesAnswer(TypedDict):
    """What became of many changes; `failed` has the first 100 that were not made."""

    changed: int
    failed_count: int
    failed: list[FailedItem]


class CategoriesAnswer(TypedDict):
    """All categories of the catalogue."""

    model_version: str
    categories: list[CategoryEntry]


class _Lift(TypedDict):
    """Lift of two items with its 95 % interval and the basket counts behind it."""

    lift: float
    lift_low: float
    lift_high: float
    together: int | None
    by_chance: float


class RelatedPair(_Lift):
    """Lift of two items of a cart or a bundle."""

    first: str
    second: str
    relation: Literal["complement", "substitute", "neutral"]


class RelatedItem(_Lift):
    """An item related to the requested one."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None


class RelatedAnswer(TypedDict):
    """Complements or substitutes of an item."""

    model_version: str
    item_id: str
    relation: Literal["complement", "substitute"]
    items: list[RelatedItem]


class Replacement(RelatedItem):
    """A substitute of an item in the cart, and how it fits the rest of the cart."""

    price_difference: float | None
    probability: float | None
    times_usual: float | None


class Shortage(TypedDict):
    """Why an item has fewer replacements than requested."""

    reason: Literal["unknown_item", "no_lifts", "no_substitutes", "too_few_candidates"]
    message: str


class ItemToReplace(TypedDict):
    """An item of the cart and its replacements, best first."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None
    in_stock: bool | None
    replacements: list[Replacement]
    shortage: Shortage | None


class SubstitutesAnswer(TypedDict):
    """The items of a cart to replace."""

    model_version: str
    cart: ConsideredCart
    items: list[ItemToReplace]
