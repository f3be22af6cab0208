"""What calls take, as types; each has the members of its schema in /openapi.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict


class NewLine(TypedDict):
    """An item to be put into a cart, and how many of it: one, unless a quantity is given."""

    item_id: str
    quantity: NotRequired[int]


class Boosts(TypedDict, total=False):
    """Factors on the odds of items and categories: 2 makes an item twice as likely, 0 hides it."""

    items: Mapping[str, float]
    categories: Mapping[str, float]


class Knobs(TypedDict, total=False):
    """Exact values for experts, in place of a dial or of what the training job chose."""

    decoupling: float | None
    relevance: float | None
    popularity: float | None


class ItemFilters(TypedDict, total=False):
    """Which items may appear."""

    exclude: Sequence[str]
    category: Sequence[str]
    min_price: float
    max_price: float
    in_stock: bool


class Filters(ItemFilters, total=False):
    """Which items may appear, and in which order: two dials from -1 to 1, with 0 as the centre."""

    discovery: float
    cohesion: float
    boosts: Boosts
    knobs: Knobs


class RecommendOptions(Filters, total=False):
    """What else a recommendation can be told."""

    explain: bool
    fill: bool
    scoring: Literal["mixture", "kernel"]


class BundleOptions(Filters, total=False):
    """What else a bundle can be told."""

    method: Literal["greedy", "local_search", "stochastic", "mcmc", "sample"]
    alternatives: int
    seed: int


class ItemChange(TypedDict, total=False):
    """What the shop knows better than the model; None returns to what the model says."""

    in_stock: bool | None
    price: float | None
    boost: float | None


class FitOptions(TypedDict, total=False):
    """The options of a fit; what is left out is as in the active version, None is the default of `fit`."""

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
    """What to learn from, and what to do with the result."""

    data: str
    items: str
    purchases: bool
    activate: Literal["auto", "never", "always"]
    options: FitOptions


class CartName(TypedDict):
    """A cart in the service."""

    cart_id: str


class CartItems(TypedDict):
    """A cart that the service need not know."""

    items: Sequence[str]


# One of many carts: the ids of its items, or one of the two above.
AnyCart = Sequence[str] | CartName | CartItems
