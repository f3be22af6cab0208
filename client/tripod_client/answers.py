"""The service's answers as types; each has the name and the members of its schema in /openapi.json."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class CartLine(TypedDict):
    """An item and how many of it."""

    item_id: str
    quantity: int


class CartAnswer(TypedDict):
    """A whole cart; its `etag` names this state of it, for `if_match`."""

    cart_id: str
    etag: str
    status: Literal["open", "checked_out"]
    items: list[CartLine]
    created_at: str
    updated_at: str
    purchase_id: str | None


class ConsideredCart(TypedDict):
    """The cart that an answer is about."""

    cart_id: str | None
    items: list[str]
    unknown_items: list[str]
    ignored_items: list[str]


class Reason(TypedDict):
    """A source of a recommended item's probability; the shares of all of them add up to 1."""

    source: Literal["cart_item", "similar_baskets", "habit"]
    item_id: str | None
    name: str | None
    share: float


class RecommendedItem(TypedDict):
    """One recommendation."""

    rank: int
    item_id: str
    name: str | None
    category: str | None
    price: float | None
    probability: float | None
    times_usual: float | None
    relation: Literal["complement", "substitute", "neutral"]
    because: list[Reason]


class Fallback(TypedDict):
    """Why the model alone did not fill the answer."""

    reason: Literal["only_unknown_items", "too_few_candidates"]
    message: str
    filled: int


class Recommendations(TypedDict):
    """What the cart should get next, best first."""

    model_version: str
    cart: ConsideredCart
    items: list[RecommendedItem]
    fallback: Fallback | None
    took_ms: float


class BatchAnswer(TypedDict):
    """One result per cart."""

    model_version: str
    results: list[Recommendations]
    took_ms: float


class _Lift(TypedDict):
    """How much more often two items are together than by chance, with the 95 % interval and the counts."""

    lift: float
    lift_low: float
    lift_high: float
    together: int | None
    by_chance: float


class RelatedPair(_Lift):
    """Two items of a cart or bundle."""

    first: str
    second: str
    relation: Literal["complement", "substitute", "neutral"]


class Coherence(TypedDict):
    """How well the items of a cart go together."""

    percentile: float
    mean_lift: float


class BasketSize(TypedDict):
    """How many different items the basket will hold in the end."""

    low: int
    high: int
    probability: float


class InsightsAnswer(TypedDict):
    """What the model says about a cart."""

    model_version: str
    cart: ConsideredCart
    probability_complete: float | None
    expected_further_items: float | None
    basket_size: BasketSize | None
    coherence: Coherence | None
    complements: list[RelatedPair]
    substitutes: list[RelatedPair]


class BundleItem(TypedDict):
    """An item chosen for a bundle."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None
    gain: float


class BundleAnswer(TypedDict):
    """One bundle."""

    items: list[BundleItem]
    log_det: float
    total_price: float | None
    lifts: list[RelatedPair]


class BundlesAnswer(TypedDict):
    """The bundles, the best first."""

    model_version: str
    cart: ConsideredCart
    method: str
    bundles: list[BundleAnswer]
    fallback: Fallback | None
    took_ms: float


class ItemAnswer(TypedDict):
    """An item of the catalogue as it counts now."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None
    in_stock: bool
    boost: float
    count: int | None


class ItemsAnswer(TypedDict):
    """A page of items."""

    model_version: str
    items: list[ItemAnswer]
    next_cursor: str | None


class CategoryEntry(TypedDict):
    """A category and how many items it has."""

    category: str
    items: int


class CategoriesAnswer(TypedDict):
    """All categories of the catalogue."""

    model_version: str
    categories: list[CategoryEntry]


class RelatedItem(_Lift):
    """An item and how it relates to the one in question."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None


class RelatedAnswer(TypedDict):
    """Complements or substitutes of an item."""

    model_version: str
    item_id: str
    relation: Literal["complement", "substitute"]
    items: list[RelatedItem]


class ModelEntry(TypedDict):
    """A version in the store."""

    version: str
    status: Literal["in_use", "loading", "refused", "stored"]
    created_at: str | None
    refused_because: str | None
    has_report: bool


class ModelsAnswer(TypedDict):
    """All versions, the newest first."""

    in_use: str | None
    models: list[ModelEntry]


class ServingKnobs(TypedDict):
    """How the model is served unless a request says otherwise."""

    decoupling: float
    relevance: float
    popularity: float


class ModelInUse(TypedDict):
    """The model in use."""

    version: str
    created_at: str
    kind: str
    items: int
    rank: int
    knobs: ServingKnobs
    metrics: dict[str, Any]
    calibration: dict[str, Any] | None
    has_report: bool


class Activation(TypedDict):
    """A version that was made the active one."""

    version: str
    previous_version: str | None


class GateFigures(TypedDict):
    """A new model against what was live before."""

    metric: str
    candidate: float
    active: float
    rival: str | None
    rival_figure: float | None
    difference: float
    interval: tuple[float, float]
    tolerance: float
    queries: int
    accepted: bool


class Job(TypedDict):
    """A training job as it stands."""

    job_id: str
    state: Literal["queued", "running", "succeeded", "failed", "cancelled", "rejected"]
    phase: str | None
    trigger: str
    request: dict[str, Any]
    attempt: int
    retries: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    step: int | None
    steps: int | None
    validation_log_likelihood: float | None
    seconds_left: float | None
    purchases_drained: int | None
    options_used: dict[str, Any] | None
    baskets: int | None
    items: int | None
    version: str | None
    activated: bool
    gate: GateFigures | None
    error: str | None
    note: str | None


class JobsAnswer(TypedDict):
    """The latest jobs, the newest first."""

    jobs: list[Job]
    worker_alive: bool


class AliveAnswer(TypedDict):
    """The process answers."""

    status: Literal["alive"]


class ReadyAnswer(TypedDict):
    """Everything is there."""

    status: Literal["ready"]
    model_version: str
    refused_version: str | None
    refused_because: str | None
    watchers: dict[str, str | None]
