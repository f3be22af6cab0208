"""Types of arguments, with the members of the schemas in /openapi.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NotRequired, TypedDict

from tripod_client.conditions import Condition


class NewLine(TypedDict):
    """An item to add to a cart; the quantity is 1 unless given."""

    item_id: str
    quantity: NotRequired[int]


class Boosts(TypedDict, total=False):
    """Factors on the odds of items and categories: 2 doubles the odds, 0 hides the item."""

    items: Mapping[str, float]
    categories: Mapping[str, float]


class KnobValues(TypedDict, total=False):
    """Exact parameter values, instead of a dial or of the values chosen by training."""

    decoupling: float | None
    relevance: float | None
    popularity: float | None


class InStockFilters(TypedDict, total=False):
    """Which of the items in stock may appear."""

    filter: Condition | None
    exclude: Sequence[str]
    category: Sequence[str]
    min_price: float
    max_price: float


class ItemFilters(InStockFilters, total=False):
    """Which items may appear."""

    in_stock: bool


class Filters(ItemFilters, total=False):
    """Which items may appear, and their order: two dials from -1 to 1, neutral at 0."""

    discovery: float
    cohesion: float
    variants: bool
    boosts: Boosts
    knobs: KnobValues


class RecommendOptions(Filters, total=False):
    """Options of a recommendation."""

    explain: bool
    fill: bool
    scoring: Literal["mixture", "kernel"]


class BundleOptions(Filters, total=False):
    """Options of a bundle."""

    max_k: int
    objective: Literal["together", "map"]
    method: Literal["greedy", "local_search", "stochastic", "mcmc", "sample", "exact"]
    alternatives: int
    skip: int
    seed: int
    include: Sequence[str]
    max_total_price: float
    max_per_category: int


# A free attribute of an item.
Attribute = str | float | bool | Sequence[str]


class _ItemFields(TypedDict, total=False):
    """What a shop may say about an item besides its name; None: it says nothing."""

    category: str | None
    price: float | None
    in_stock: bool | None
    boost: float | None
    image_url: str | None
    parent_id: str | None


class ItemWrite(_ItemFields):
    """An item. What is left out is as in the model, if the model knows the item."""

    name: str
    attributes: NotRequired[Mapping[str, Attribute]]


class ItemPatch(_ItemFields, total=False):
    """The fields to change; None restores the value of the model, or removes an attribute."""

    name: str | None
    attributes: Mapping[str, Attribute | None] | None


class ItemChange(ItemPatch):
    """The fields of one item to change. With a name, an item that the shop does not have is created."""

    item_id: str


class When(TypedDict, total=False):
    """When a rule applies: always, if nothing is given. Times are ISO 8601 with an offset, or datetimes."""

    cart_has: Condition | None
    cart_lacks: Condition | None
    starts_at: str | datetime | None
    ends_at: str | datetime | None


class Pin(TypedDict):
    """Show an item at a position, the first unless given."""

    action: Literal["pin"]
    item_id: str
    position: NotRequired[int]


class BoostOrBury(TypedDict):
    """Rank items as if they were more or less likely; the factor is 2 or 0.1 unless given."""

    action: Literal["boost", "bury"]
    items: Condition
    factor: NotRequired[float]


class Hide(TypedDict):
    """Do not show items."""

    action: Literal["hide"]
    items: Condition


class AtMost(TypedDict):
    """Show at most so many of the items in one list."""

    action: Literal["at_most"]
    items: Condition
    most: int


Then = Pin | BoostOrBury | Hide | AtMost


class RuleBody(TypedDict):
    """A rule: what it does, and when."""

    name: str
    then: Then
    when: NotRequired[When]
    priority: NotRequired[int]
    enabled: NotRequired[bool]


class FitOptions(TypedDict, total=False):
    """Options of a fit. Omitted: as in the active version; None: the default of `fit`."""

    kernel: Literal["symmetric", "ndpp2019", "scalable", "tied"] | None
    rank: int | None
    skew_rank: int | None
    diagonal: bool | None
    alpha: float | None
    beta: float | None
    init: Literal["scaled", "paper", "previous"] | None
    steps: int | None
    batch_size: int | None
    learning_rate: float | None
    evaluate_every: int | None
    patience: int | None
    half_life_days: float | None
    seed: int | None
    threads: int | None
    tune: Literal["none", "quick", "thorough"] | None
    validation: int | None
    max_basket_size: int | None
    min_item_count: int | None
    only_listed_items: bool | None
    report: bool | None
    format: Literal["lines", "csv", "parquet", "jsonl"] | None
    columns: Mapping[str, str] | None


class JobRequest(TypedDict, total=False):
    """Data and options of a training job, and whether to activate the result."""

    data: str
    items: str
    purchases: bool
    activate: Literal["auto", "never", "always"]
    options: FitOptions


class _Past(TypedDict):
    """What the shopper bought before: an id with stored purchases, or the baskets, oldest first."""

    shopper_id: NotRequired[str]
    history: NotRequired[Sequence[Sequence[str]]]


class CartName(_Past):
    """A cart stored in the service."""

    cart_id: str


class CartItems(_Past):
    """A cart given by its items."""

    items: Sequence[str]


# A cart of a batch: a list of item ids, or one of the two types above.
AnyCart = Sequence[str] | CartName | CartItems


class NewPurchase(TypedDict):
    """A purchase made elsewhere; its items are ids (quantity 1) or have a quantity.

    `timestamp` is ISO 8601, seconds since 1970, or a datetime with a time zone; now unless given.
    """

    order_id: str
    items: Sequence[str | NewLine]
    shopper_id: NotRequired[str | None]
    timestamp: NotRequired[str | float | datetime | None]
