"""Request and response schemas of substitutes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from app.catalogue.filters import InStockFilters
from app.catalogue.schemas import RelatedItem
from app.http.inputs import ItemIds, KnownItemId
from app.recommend.request import Basket
from app.recommend.schemas import ConsideredCart


class SubstituteOptions(InStockFilters):
    """Which items of a cart to replace, and with what."""

    replace: ItemIds = Field(
        default_factory=list,
        max_length=500,
        description="The items of the cart to replace, in stock or not; without it, those out of stock.",
    )
    k: int = Field(3, ge=1, le=100, description="How many replacements per item at most.")


class SubstitutesQuery(Basket, SubstituteOptions):
    """A cart and which of its items to replace."""


class Replacement(RelatedItem):
    """A substitute of an item in the cart; the lift is that of the two."""

    price_difference: float | None = Field(
        description="Its price minus that of the item to replace; null if one of them is unknown.",
        examples=[-1.5],
    )
    probability: float | None = Field(
        description="How it fits the rest of the cart: the probability that this is the next item if one "
        "more is added to `cart.items` without the item to replace, over the whole catalogue, without "
        "filters and boosts. It is not the probability that a shopper accepts the replacement. Null if the "
        "model was not fitted to give probabilities.",
        ge=0,
        le=1,
        examples=[0.02],
    )
    times_usual: float | None = Field(
        description="`probability` divided by that for an empty cart; null if `probability` is.",
        ge=0,
        examples=[3.1],
    )


class Shortage(BaseModel):
    """Why an item has fewer than k replacements."""

    reason: Literal["unknown_item", "no_lifts", "no_substitutes", "too_few_candidates"] = Field(
        description="`unknown_item`: the model does not know the item. `no_lifts`: the model was trained by "
        "release 0.1, which did not count pairs. `no_substitutes`: the baskets show no substitute of the "
        "item. `too_few_candidates`: it has fewer than k substitutes that are in stock, pass the filters "
        "and are not in the cart."
    )
    message: str


class ItemToReplace(BaseModel):
    """An item of the cart and its replacements."""

    item_id: KnownItemId
    name: str | None
    category: str | None
    price: float | None
    in_stock: bool | None = Field(description="Null if the model does not know the item.")
    replacements: list[Replacement] = Field(
        description="Its substitutes as in `/items/{item_id}/related` that are in stock and not in the cart, "
        "highest `probability` first."
    )
    shortage: Shortage | None


class SubstitutesAnswer(BaseModel):
    """The items of a cart to replace."""

    model_version: str
    cart: ConsideredCart
    items: list[ItemToReplace] = Field(
        description="One entry for each item to replace: as named by `replace`, or as in the cart."
    )
