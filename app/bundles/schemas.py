"""What bundle routes take and give."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.baskets import Basket, ConsideredCart
from app.fallback import Fallback
from app.fields import KnownItemId
from app.filters import QUERY_IDS, Boosts, Filters, Knobs, QueryIds
from app.relations import RelatedPair

Method = Literal["greedy", "local_search", "stochastic", "mcmc", "sample"]


class BundleOptions(Filters):
    """How large, how found, how many."""

    k: int = Field(5, ge=1, le=50, description="How many items to choose, besides those given.")
    method: Method = Field(
        "greedy",
        description="`greedy` adds the best item each time; `local_search` then swaps items while that "
        "helps; `stochastic` is greedy on random candidates; `mcmc` searches by random swaps; `sample` draws "
        "a set in proportion to its determinant (approximately) instead of looking for the best one.",
    )
    alternatives: int = Field(
        1, ge=1, le=10, description="How many bundles. Each leaves out the items chosen in those before it."
    )
    seed: int = Field(
        0, ge=0, le=2**32 - 1, description="Of the random methods: the same seed gives the same answer."
    )


class BundleRequest(Basket, BundleOptions):
    """A request for bundles."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"items": ["camera"], "k": 3, "alternatives": 2}]}
    )

    boosts: Boosts | None = None
    knobs: Knobs | None = None


class BundleQuery(Basket, BundleOptions):
    """The same as query parameters."""

    items: QueryIds = Field(
        default_factory=list, max_length=500, description=f"Instead of `cart_id`: {QUERY_IDS}"
    )
    exclude: QueryIds = Field(
        default_factory=list, max_length=500, description=f"Never show these: {QUERY_IDS}"
    )


class BundleItem(BaseModel):
    """An item chosen for a bundle."""

    item_id: KnownItemId
    name: str | None
    category: str | None
    price: float | None
    gain: float = Field(description="The factor by which it raised the determinant when it was added.")


class BundleAnswer(BaseModel):
    """One bundle."""

    items: list[BundleItem] = Field(description="The chosen items, in the order in which they were added.")
    log_det: float = Field(
        description="log of the determinant of the tilted kernel, given the cart, on the chosen items: "
        "the sum of the logarithms of their gains."
    )
    total_price: float | None = Field(description="Of the chosen items; null if a price is unknown.")
    lifts: list[RelatedPair] = Field(description="Every pair among given and chosen items.")


class BundlesAnswer(BaseModel):
    """The bundles, the best first."""

    model_version: str
    cart: ConsideredCart = Field(description="The items that were given.")
    method: Method
    bundles: list[BundleAnswer]
    fallback: Fallback | None = Field(
        description="Why a bundle is smaller than k, or there are fewer of them than asked for."
    )
    took_ms: float
