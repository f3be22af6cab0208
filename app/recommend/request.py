"""Request schemas that recommendations, bundles and insights share."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from app.catalogue.filters import ItemFilters
from app.http.inputs import CartId, Category, ItemId, ItemIds, ShopperId, Strict
from app.shoppers.store import MOST_BASKETS, MOST_LINES

Factor = Annotated[float, Field(strict=True, ge=0, le=1000)]
_MAX_POPULARITY = 0.8  # γ at the ends of `discovery`: with 1, nothing would order the items for an empty cart
_EXAMPLE: dict[str, JsonValue] = {
    "items": ["camera", "film"],
    "k": 3,
    "boosts": {"items": {"tripod": 2}},
    "explain": True,
}


class Basket(Strict):
    """What is already in the cart: a stored cart, a list of items, or nothing."""

    cart_id: CartId | None = None
    items: ItemIds = Field(default_factory=list, max_length=500, description="Instead of `cart_id`.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.cart_id is not None and self.items:
            raise ValueError("give either cart_id or items, not both")
        return self


class ShopperBasket(Basket):
    """A cart and what its shopper bought before."""

    shopper_id: ShopperId | None = Field(
        None,
        description="Whose purchases to consider; default: those of the shopper of the cart `cart_id`. "
        "Without purchases, the response is that for any shopper.",
    )
    history: list[list[ItemId]] | None = Field(
        None,
        max_length=MOST_BASKETS,
        description="The shopper's earlier baskets, oldest first, instead of `shopper_id`: for shops that "
        f"keep purchases to themselves. At most {MOST_LINES:,} items.",
        examples=[[["film"], ["film", "camera"]]],
    )

    @model_validator(mode="after")
    def _one_history(self) -> Self:
        if self.history is not None:
            if self.shopper_id is not None:
                raise ValueError("give either shopper_id or history, not both")
            if sum(map(len, self.history)) > MOST_LINES:
                raise ValueError(f"history has more than {MOST_LINES:,} items: send the latest baskets only")
        return self


class Boosts(Strict):
    """Factors on the odds of items: 2 makes an item twice as likely against the others, 0 hides it."""

    items: dict[ItemId, Factor] = Field(default_factory=dict, max_length=10_000, examples=[{"tripod": 2}])
    categories: dict[Category, Factor] = Field(
        default_factory=dict, max_length=100, examples=[{"Photo": 1.5}]
    )


class KnobValues(Strict):
    """Exact parameters for experts, in place of a dial or of what training chose."""

    decoupling: float | None = Field(
        None,
        ge=0,
        le=1,
        description="ω: 0 conditions on the cart exactly, 1 treats its items as independent. Instead of "
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


class Preferences(ItemFilters):
    """Which items may appear, and in which order."""

    discovery: float = Field(
        0, ge=-1, le=1, description="From bestsellers (−1) to hidden gems (1); 0 orders by probability."
    )
    cohesion: float = Field(
        0,
        ge=-1,
        le=1,
        description="From each cart item by itself (−1) to the cart as one set (1); 0 is as learned.",
    )
    variants: bool = Field(
        False,
        description="Also offer other variants of items in the cart. An answer holds one of each parent.",
    )
    boosts: Boosts | None = None
    knobs: KnobValues | None = None

    def decoupling(self, learned: float) -> float:
        """ω: the exact value, or the learned one moved by `cohesion`."""
        if self.knobs is not None and self.knobs.decoupling is not None:
            return self.knobs.decoupling
        return learned * (1 - self.cohesion) if self.cohesion > 0 else learned - (1 - learned) * self.cohesion

    def relevance(self) -> float | None:
        """β, if the request sets it."""
        return None if self.knobs is None else self.knobs.relevance

    def popularity(self) -> float:
        """γ: the exact value, or that of `discovery`."""
        if self.knobs is not None and self.knobs.popularity is not None:
            return self.knobs.popularity
        return _MAX_POPULARITY * self.discovery


class RecommendOptions(Preferences):
    """How many items, and what to include about them."""

    k: int = Field(10, ge=1, le=100, description="How many items.")
    explain: bool = Field(False, description="Include the sources of each item's probability in `because`.")
    fill: bool = Field(
        False,
        description="If fewer than k items have a probability, add popular items that pass the filters.",
    )
    scoring: Literal["mixture", "kernel"] = Field(
        "mixture",
        description="`mixture` is the model's fitted probability; `kernel` is the paper's exact "
        "conditioning, P ∝ det(L_Y+i)/det(L_Y), which is not calibrated.",
    )


class RecommendRequest(ShopperBasket, RecommendOptions):
    """A request for recommendations."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})


class BatchRequest(RecommendOptions):
    """The same request for many carts."""

    carts: list[ShopperBasket] = Field(
        min_length=1, max_length=256, examples=[[{"items": ["camera"]}, {"items": ["film", "tripod"]}]]
    )
