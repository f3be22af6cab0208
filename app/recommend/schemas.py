"""What recommendation routes take and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.baskets import Basket, ConsideredCart
from app.fallback import Fallback
from app.fields import KnownItemId
from app.filters import QUERY_IDS, Boosts, Filters, QueryIds
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
            description="`substitute` if it is a substitute of an item in the cart, else `complement` if it "
            "is a complement of one, else `neutral`: as in `/items/{item_id}/related`."
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


class Coherence(BaseModel):
    """How well the items of the cart go together."""

    log_likelihood: float = Field(description="log P(basket = these items).", examples=[-14.2])
    percentile: float = Field(
        description="The share of reference carts that are less likely, in percent. They have as many items, "
        "drawn independently by popularity.",
        ge=0,
        le=100,
        examples=[97.5],
    )
    reference_mean: float = Field(description="Mean log-likelihood of the reference carts.", examples=[-21.8])
    reference_size: int = Field(description="How many reference carts were drawn.", examples=[200])


class InsightsAnswer(BaseModel):
    """What the model says about a cart."""

    model_version: str
    cart: ConsideredCart
    probability_complete: float = Field(
        description="That nothing more is added, given what is in the cart.", ge=0, le=1, examples=[0.08]
    )
    expected_further_items: float = Field(ge=0, examples=[2.3])
    coherence: Coherence | None = Field(description="Null when the model considers no item of the cart.")
    complements: list[RelatedPair] = Field(description="Pairs that go together, the surest first.")
    substitutes: list[RelatedPair] = Field(description="Pairs that replace each other, the surest first.")
