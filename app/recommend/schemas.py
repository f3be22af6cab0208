"""What recommendation routes take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.baskets import Basket, ConsideredCart
from app.fallback import Fallback
from app.fields import KnownItemId
from app.filters import QUERY_IDS, Boosts, Filters, Knobs, QueryIds
from app.relations import RelatedPair, Relation

_EXAMPLE: dict[str, JsonValue] = {
    "items": ["camera", "film"],
    "k": 3,
    "boosts": {"items": {"tripod": 2}},
    "explain": True,
}


class Options(Filters):
    """How many items, and what to tell about them."""

    k: int = Field(10, ge=1, le=100, description="How many items.")
    explain: bool = Field(False, description="Say where the probability of each recommendation comes from.")
    fill: bool = Field(
        False,
        description="Fill up with popular items when the model has fewer than k; they obey the filters too.",
    )
    scoring: Literal["mixture", "kernel"] = Field(
        "mixture",
        description="`mixture` is the model's fitted probability; `kernel` is the paper's exact "
        "conditioning, P ∝ det(L_Y+i)/det(L_Y), which is not calibrated.",
    )


class RecommendRequest(Basket, Options):
    """A request for recommendations."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    boosts: Boosts | None = None
    knobs: Knobs | None = None


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
    knobs: Knobs | None = None


# Answers of the busiest routes are plain dataclasses: they are made of values that need no checking, and
# pydantic writes them as JSON just as it writes models.


@dataclass(slots=True)
class Reason:
    """A source of a recommended item's probability."""

    source: Annotated[
        Literal["cart_item", "similar_baskets", "habit"],
        Field(
            description="`cart_item`: it goes with that item of the cart; `similar_baskets`: baskets like "
            "this cart hold it; `habit`: it is bought anyway."
        ),
    ]
    item_id: Annotated[KnownItemId | None, Field(description="The cart item; null for the other sources.")]
    name: str | None
    share: Annotated[
        float,
        Field(
            description="The part of the probability that comes from here; all add up to 1.", examples=[0.62]
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
    probability: Annotated[
        float | None,
        Field(
            description="That this is the next item, given that one more comes and that it is one of those "
            "the filters leave. A boost multiplies the odds; dials and knobs change the order only. Null if "
            "the model was not fitted to give probabilities.",
            ge=0,
            le=1,
            examples=[0.12],
        ),
    ]
    times_usual: Annotated[
        float | None,
        Field(
            description="How many times as likely as for an empty cart, without filters and boosts. Null if "
            "the model was not fitted to give probabilities.",
            ge=0,
            examples=[14.5],
        ),
    ]
    relation: Annotated[
        Relation,
        Field(
            description="`substitute` if it is a substitute of an item in the cart, else `complement` if it "
            "is a complement of one, else `neutral`: as in `/items/{item_id}/related`."
        ),
    ]
    because: Annotated[
        list[Reason],
        Field(description="Where its probability comes from; empty unless `explain` is true."),
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
    complements: list[RelatedPair] = Field(description="Pairs that go together, the surest first.")
    substitutes: list[RelatedPair] = Field(description="Pairs that replace each other, the surest first.")
