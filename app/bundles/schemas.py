"""Request and response schemas of bundles."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.catalogue.relations import RelatedPair
from app.http.inputs import Category, ItemIds, KnownItemId, Strict
from app.recommend.request import Preferences, ShopperBasket
from app.recommend.schemas import ConsideredCart, Fallback
from ndpp.bundles import Method
from ndpp.sets.top_bundles import SIZES

Objective = Literal["together", "map"]
_LARGEST = 50
_FOR_TOGETHER = ("max_k", "include", "max_total_price", "max_per_category")


class BundleRequest(ShopperBasket, Preferences):
    """A request for bundles.

    What the shopper bought before changes which items are chosen: it multiplies their odds like a boost.
    Probabilities and counts stay those of all shoppers.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"items": ["camera"], "k": 3, "alternatives": 2}]}
    )

    k: int = Field(
        5, ge=1, le=_LARGEST, description="How many items to choose, in addition to the given ones."
    )
    max_k: int | None = Field(
        None,
        ge=1,
        le=_LARGEST,
        description="Choose from `k` to `max_k` items: the size with the highest P · log(P / P by chance).",
    )
    objective: Objective | None = Field(
        None,
        description="`together` (the default): the items that are most often bought with the given ones; "
        "without given items, items that are bought together more often than by chance. `map`: the largest "
        "determinant, the paper's problem; the default if `method` is given, and for models of release 0.1.",
    )
    method: Method | None = Field(
        None,
        description="How to search for the largest determinant: `greedy` (the default) adds the best item in "
        "each step; `local_search` then exchanges one or two items while that improves the bundle; "
        "`stochastic` is greedy over random candidates; `mcmc` is simulated annealing; `exact` tries all "
        "sets of few candidates; `sample` draws a set with probability approximately proportional to its "
        "determinant.",
    )
    alternatives: int = Field(
        1,
        ge=1,
        le=10,
        description="How many bundles. With `together`, a bundle shares at most half of the items of each "
        "earlier one, not counting `include`; with `map`, none.",
    )
    skip: int = Field(
        0, ge=0, le=50, description="Leave out this many of the best bundles: 1 gives another one than 0."
    )
    seed: int = Field(
        0, ge=0, le=2**32 - 1, description="Seed of the random methods: the same seed gives the same bundles."
    )
    include: ItemIds = Field(
        default_factory=list,
        max_length=_LARGEST,
        description="Items that every bundle must hold; they count among its items, whatever the filters. "
        "Without a cart the other items are chosen to go with these, as with given items.",
    )
    max_total_price: float | None = Field(
        None, gt=0, le=1e9, description="The highest total price of the chosen items."
    )
    max_per_category: int | None = Field(
        None, ge=1, le=_LARGEST, description="The most chosen items of one category."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.max_k is not None and self.max_k < self.k:
            raise ValueError(f"max_k is {self.max_k}, below k = {self.k}")
        if len(set(self.include)) > (self.max_k or self.k):
            raise ValueError("include names more items than a bundle may have: raise k")
        if self.method is not None and self.objective == "together":
            raise ValueError("method belongs to objective=map: leave it out, or ask for map")
        if self.wants_map and (wrong := self.only_together):
            raise ValueError(f"{wrong[0]} belongs to objective=together: leave it out, or ask for together")
        return self

    @property
    def wants_map(self) -> bool:
        """Whether the request asks for the determinant."""
        return self.objective == "map" or (self.objective is None and self.method is not None)

    @property
    def only_together(self) -> list[str]:
        """The given options that only `together` has."""
        return [name for name in _FOR_TOGETHER if getattr(self, name)]

    @property
    def sizes(self) -> range:
        """The sizes that a bundle may have."""
        return range(self.k, (self.max_k or self.k) + 1)


class GoesWith(BaseModel):
    """The given or chosen item that an item goes with best."""

    item_id: KnownItemId
    name: str | None
    lift: float = Field(description="As in `lifts`.", examples=[4.2])


class BundleItem(BaseModel):
    """An item chosen for a bundle."""

    item_id: KnownItemId
    name: str | None
    category: str | None
    price: float | None
    probability: float | None = Field(
        description="The probability that the basket holds it in the end, given that it holds the given "
        "items, whoever the shopper is. Null without given items, with `map`, and for models that were not "
        "fitted to give it.",
        ge=0,
        le=1,
        examples=[0.35],
    )
    goes_with: GoesWith | None = Field(
        description="The given item with which it has the most certain lift above 1, else such an item of "
        "the bundle."
    )
    gain: float | None = Field(
        description="With `map`: the factor by which it increased the determinant when it was added."
    )
    rules: list[str] = Field(description="The ids of the shop's rules that act on the item.", examples=[[]])
    image_url: str | None


class BundleFigures(BaseModel):
    """Counts behind a bundle."""

    baskets: int | None = Field(
        description="Training baskets that hold all given and chosen items; null if these were not all "
        "counted.",
        examples=[412],
    )
    by_chance: float | None = Field(
        description="Training baskets expected to hold all of them if they were unrelated, given the sizes "
        "of the baskets that hold each.",
        examples=[17.3],
    )
    total_price: float | None = Field(
        description="The total price of the chosen items; null if a price is unknown.", examples=[12.4]
    )


class BundleAnswer(BundleFigures):
    """One bundle."""

    items: list[BundleItem] = Field(description="The chosen items, in the order in which they were added.")
    probability: float | None = Field(
        description="The probability that the basket holds all chosen items in the end, given that it holds "
        "the given ones, whoever the shopper is. For a single item in `items` it is the share of baskets "
        "with it that hold the rest; without given items, the share of all baskets. A stored cart and "
        "several items are a cart in the making, whatever came first: large baskets count less than in "
        "`baskets` / `baskets_with_given`. Null with `map`, and for models not fitted to give it.",
        ge=0,
        le=1,
        examples=[0.12],
    )
    baskets_with_given: int | None = Field(
        description="Training baskets that hold all given items: all of them if none is given; null if these "
        "were not all counted.",
        examples=[3120],
    )
    log_det: float | None = Field(
        description="With `map`: the log-determinant of the chosen items under the conditional kernel with "
        "filters, boosts, history and parameters applied: the sum of the logarithms of their gains."
    )
    lifts: list[RelatedPair] = Field(description="All pairs of given and chosen items.")


class BundlesAnswer(BaseModel):
    """The bundles, best first."""

    model_version: str
    cart: ConsideredCart = Field(description="The items that were given.")
    objective: Objective
    method: Method | None = Field(description="Null with `together`.")
    bundles: list[BundleAnswer]
    fallback: Fallback | None = Field(
        description="Why a bundle has fewer than k items, or there are fewer bundles than requested."
    )
    took_ms: float


class TopBundlesQuery(Strict):
    """Which bundles of the catalogue to list."""

    k: int = Field(3, ge=min(SIZES), le=max(SIZES), description="How many items a bundle has.")
    category: Category | None = Field(None, description="Only bundles with an item of this category.")
    in_stock: bool = Field(True, description="Leave out bundles with an item that is out of stock.")
    limit: int = Field(20, ge=1, le=100, description="Bundles per page.")
    cursor: Annotated[str, StringConstraints(max_length=20)] | None = Field(
        None, description="The `next_cursor` of the previous page."
    )


class TopBundleItem(BaseModel):
    """An item of a bundle."""

    item_id: KnownItemId
    name: str | None
    category: str | None
    price: float | None


class TopBundle(BundleFigures):
    """One of the best bundles of the catalogue."""

    rank: int = Field(
        description="Its place among the bundles of this size that pass the filters.", examples=[1]
    )
    items: list[TopBundleItem]


class TopBundlesAnswer(BaseModel):
    """A page of the best bundles of the catalogue; no two of them share an item."""

    model_version: str
    k: int
    bundles: list[TopBundle]
    next_cursor: str | None = Field(description="The `cursor` of the next page; null on the last page.")
