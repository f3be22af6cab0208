"""Response schemas of recommendations and insights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app.catalogue.relations import RelatedPair, Relation
from app.http.inputs import KnownCartId, KnownItemId

# The responses of the busiest routes are plain dataclasses: they need no validation, and pydantic serialises
# them just as it serialises models.


@dataclass(slots=True)
class ConsideredCart:
    """The cart that a response is about."""

    cart_id: KnownCartId | None
    items: Annotated[list[KnownItemId], Field(description="The items that the model considered, each once.")]
    unknown_items: Annotated[list[KnownItemId], Field(description="Items that the model does not know.")]
    ignored_items: Annotated[
        list[KnownItemId],
        Field(
            description="Known items that were not considered: they add no information, or the cart is very "
            "long."
        ),
    ]


@dataclass(slots=True)
class Fallback:
    """Why the model alone did not fill the response."""

    reason: Annotated[
        Literal["only_unknown_items", "too_few_candidates"],
        Field(
            description="`only_unknown_items`: the model knows no item of the cart, so the response is that "
            "for an empty cart. `too_few_candidates`: fewer items than requested fit the cart and the "
            "filters. If both apply, the first is the reason and `message` says both."
        ),
    ]
    message: str
    filled: Annotated[int, Field(description="How many popular items fill the end of the list.")]


@dataclass(slots=True)
class Reason:
    """A source of an item's probability."""

    source: Annotated[
        Literal["cart_item", "similar_baskets", "habit", "own"],
        Field(
            description="`cart_item`: it goes with that item of the cart; `similar_baskets`: baskets similar "
            "to this cart contain it; `habit`: it is bought anyway; `own`: this shopper bought it before."
        ),
    ]
    item_id: Annotated[KnownItemId | None, Field(description="The cart item; null for the other sources.")]
    name: str | None
    share: Annotated[
        float,
        Field(
            description="The share of the probability that comes from this source; shares add up to 1.",
            examples=[0.62],
        ),
    ]
    times_bought: Annotated[
        int | None,
        Field(
            description="With `own`: in how many of the shopper's stored baskets it is; else null.",
            examples=[5],
        ),
    ] = None
    last_bought_days: Annotated[
        int | None,
        Field(
            description="With `own`: how many days ago the shopper last bought it; null for the other "
            "sources, and if `history` was sent, which has no dates.",
            examples=[9],
        ),
    ] = None


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
            description="The probability that this is the next item, given that one more is added and that "
            "it passes the filters. A boost multiplies the odds; `discovery`, `cohesion` and `knobs` change "
            "the order only. Null if the model was not fitted to give probabilities.",
            ge=0,
            le=1,
            examples=[0.12],
        ),
    ]
    times_usual: Annotated[
        float | None,
        Field(
            description="The probability divided by that for an empty cart of an unknown shopper, without "
            "filters and boosts. Null if the model was not fitted to give probabilities.",
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
        Field(
            description="The sources of the probability; empty unless `explain` is true and there is a "
            "probability."
        ),
    ]
    cold: Annotated[
        bool,
        Field(description="Whether the model does not know the item: its numbers are those of similar ones."),
    ]
    rules: Annotated[
        list[str], Field(description="The ids of the shop's rules that act on the item.", examples=[[]])
    ]
    image_url: str | None


@dataclass(slots=True)
class Recommendations:
    """Recommended items, best first."""

    model_version: Annotated[str, Field(examples=["20261116-021530-3f9a1c"])]
    cart: ConsideredCart
    items: list[RecommendedItem]
    exact: Annotated[
        bool,
        Field(
            description="Whether these are certainly the best items, in this order. False only in a large "
            "catalogue under high load, if items are too close to each other to be ordered quickly."
        ),
    ]
    probability_error: Annotated[
        float,
        Field(
            description="The standard error of the probabilities, as a share of them: in a large catalogue "
            "their normaliser is estimated. Else 0.",
            ge=0,
            examples=[0.0],
        ),
    ]
    fallback: Fallback | None
    took_ms: Annotated[float, Field(examples=[0.8])]


@dataclass(slots=True)
class BatchAnswer:
    """One result per cart, in the order of the request."""

    model_version: str
    results: list[Recommendations]
    took_ms: float


class BasketSize(BaseModel):
    """The final number of different items in the basket, including those in the cart."""

    low: int = Field(ge=0, examples=[8])
    high: int = Field(ge=0, examples=[20])
    probability: float = Field(
        description="The probability that the final number is between `low` and `high`: at least 0.8.",
        ge=0,
        le=1,
        examples=[0.81],
    )


class Coherence(BaseModel):
    """How well the items of the cart go together, regardless of their popularity."""

    percentile: float = Field(
        description="The percentage of real baskets of similar size whose items go together less well.",
        ge=0,
        le=100,
        examples=[87.5],
    )
    mean_lift: float = Field(
        description="The geometric mean of the lifts of all pairs: above 1, they are bought together more "
        "often than by chance.",
        gt=0,
        examples=[1.9],
    )


class InsightsAnswer(BaseModel):
    """Insights into a cart. The numbers were fitted to real baskets whose items are added in random order."""

    model_version: str
    cart: ConsideredCart
    probability_complete: float | None = Field(
        description="The probability that nothing more is added. Null for versions trained by release 0.1, "
        "as are `expected_further_items` and `basket_size`.",
        ge=0,
        le=1,
        examples=[0.08],
    )
    expected_further_items: float | None = Field(
        description="The expected number of further different items.", ge=0, examples=[2.3]
    )
    basket_size: BasketSize | None
    coherence: Coherence | None = Field(
        description="Null for a cart with fewer than two known items, for a size with too few baskets to "
        "compare with, and for versions trained by release 0.1."
    )
    complements: list[RelatedPair] = Field(description="Pairs that go together, most certain first.")
    substitutes: list[RelatedPair] = Field(description="Pairs that replace each other, most certain first.")
