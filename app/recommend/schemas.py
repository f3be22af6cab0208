"""What recommendation routes take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.baskets import Basket, ConsideredCart
from app.fallback import Fallback
from app.fields import KnownItemId
from app.filters import QUERY_IDS, Boosts, Filters, QueryIds
from app.items.schemas import Relation
from app.relations import RelatedPair

_EXAMPLE: dict[str, JsonValue] = {
    "items": ["camera", "film"],
    "k": 3,
    "boosts": {"items": {"tripod": 2}},
    "explain": True,
}


class Options(Filters):
    """How many items, and what to tell about them."""

    k: int = Field(10, ge=1, le=100, description="How many items.")
    explain: bool = Field(False, description="Say which cart items speak for each recommendation.")
    fill: bool = Field(
        False,
        description="Fill up with popular items when the model has fewer than k; they obey the filters too.",
    )


class RecommendRequest(Basket, Options):
    """A request for recommendations."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    boosts: Boosts | None = None


class RecommendQuery(Basket, Options):
    """The same as query parameters."""

    items: QueryIds = Field(
        default_factory=list, max_length=500, description=f"Instead of `cart_id`: {QUERY_IDS}"
    )
    exclude: QueryIds = Field(
        default_factory=list, max_length=500, description=f"Never show these: {QUERY_IDS}"
    )


class BatchRequest(Options):
    """The same question for many carts."""

    carts: list[Basket] = Field(
        min_length=1, max_length=256, examples=[[{"items": ["camera"]}, {"items": ["film", "tripod"]}]]
    )
    boosts: Boosts | None = None


# Answers of the busiest routes are plain dataclasses: they are made of values that need no checking, and
# pydantic writes them as JSON just as it writes models.


@dataclass(slots=True)
class Reason:
    """A cart item that speaks for or against a recommendation."""

    item_id: KnownItemId
    name: str | None
    effect: Annotated[
        float,
        Field(
            description="What this cart item adds to the recommended item's gain, as a share of its gain on "
            "an empty cart: above 0 they are complements, below 0 substitutes.",
            examples=[0.42],
        ),
    ]


@dataclass(slots=True)
class RecommendedItem:
    """One recommendation."""

    rank: Annotated[int, Field(examples=[1])]
    item_id: KnownItemId
    name: Annotated[str | None, Field(examples=["Tripod"])]
    category: Annotated[str | None, Field(examples=["Photo"])]
    price: Annotated[float | None, Field(examples=[89.0])]
    score: Annotated[float, Field(description="τ²·Δ, the tilted gain det(L_Y+i)/det(L_Y).", examples=[0.037])]
    probability: Annotated[
        float,
        Field(
            description="That this is the next item, if there is one: score over the sum of all scores, in "
            "the distribution that all filters, boosts and knobs of the request shape together. A strong "
            "relevance prior makes it promise too much: the model's report shows how far to believe it.",
            ge=0,
            le=1,
            examples=[0.12],
        ),
    ]
    relation: Annotated[
        Relation,
        Field(
            description="Whether the cart as a whole raises the item's gain by 5 % or more (complement), "
            "lowers it as much (substitute), or neither."
        ),
    ]
    because: Annotated[
        list[Reason], Field(description="The strongest cart items; empty unless `explain` is true.")
    ]


@dataclass(slots=True)
class Recommendations:
    """What the cart should get next, best first."""

    model_version: Annotated[str, Field(examples=["20261116-021530-3f9a1c"])]
    cart: ConsideredCart
    items: list[RecommendedItem]
    fallback: Fallback | None
    took_ms: Annotated[float, Field(examples=[0.8])]


@dataclass(slots=True)
class BatchAnswer:
    """One result per cart, in the order of the request."""

    model_version: str
    results: list[Recommendations]
    took_ms: float


class InsightsQuery(Basket):
    """The cart as query parameters."""

    items: QueryIds = Field(
        default_factory=list, max_length=500, description=f"Instead of `cart_id`: {QUERY_IDS}"
    )


class BasketSize(BaseModel):
    """How many different items the basket will hold in the end, those of the cart included."""

    low: int = Field(ge=0, examples=[8])
    high: int = Field(ge=0, examples=[20])
    probability: float = Field(
        description="That the final number lies between `low` and `high`: 0.8 or a little more.",
        ge=0,
        le=1,
        examples=[0.81],
    )


class Coherence(BaseModel):
    """How well the items of the cart go together, whatever their popularity."""

    percentile: float = Field(
        description="The share of real baskets of like size whose items go together less well, in percent.",
        ge=0,
        le=100,
        examples=[87.5],
    )
    mean_lift: float = Field(
        description="The geometric mean of the lifts of all pairs: above 1 they are bought together more "
        "often than by chance.",
        gt=0,
        examples=[1.9],
    )


class InsightsAnswer(BaseModel):
    """What can be said about a cart. The numbers were fitted on real baskets built up in random order."""

    model_version: str
    cart: ConsideredCart
    probability_complete: float | None = Field(
        description="That nothing more is added. Null if the version was trained by release 0.1, and so are "
        "`expected_further_items` and `basket_size`.",
        ge=0,
        le=1,
        examples=[0.08],
    )
    expected_further_items: float | None = Field(
        description="How many more different items are added on average.", ge=0, examples=[2.3]
    )
    basket_size: BasketSize | None
    coherence: Coherence | None = Field(
        description="Null for a cart with fewer than two known items, for sizes of which there were too few "
        "baskets to compare with, and for versions trained by release 0.1."
    )
    complements: list[RelatedPair] = Field(description="The pairs that attract each other most.")
    substitutes: list[RelatedPair] = Field(description="The pairs that replace each other most.")
