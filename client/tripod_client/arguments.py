"""What calls take, as types; each has the members of its schema in /openapi.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict


class NewLine(TypedDict):
    """An item to be put into a cart, and how many of it: one, unless a quantity is given."""

    item_id: str
    quantity: NotRequired[int]


class Boosts(TypedDict, total=False):
    """Factors on the gains of items and categories: above 1 promotes, 0 hides."""

    items: Mapping[str, float]
    categories: Mapping[str, float]


class ItemFilters(TypedDict, total=False):
    """Which items may appear."""

    exclude: Sequence[str]
    category: Sequence[str]
    min_price: float
    max_price: float
    in_stock: bool


class Filters(ItemFilters, total=False):
    """Which items may appear, and how to serve the model."""

    popularity: float
    relevance: float
    decoupling: float
    boosts: Boosts


class RecommendOptions(Filters, total=False):
    """What else a recommendation can be told."""

    explain: bool
    fill: bool


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
