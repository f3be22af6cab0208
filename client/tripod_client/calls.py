"""Every route of the service as a function that says what to send and which answer comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from tripod_client import answers

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request; T is the type of its answer."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Any = None
    headers: Mapping[str, str | None] | None = None


class Boosts(TypedDict, total=False):
    """Factors on the gains of items and categories: above 1 promotes, 0 hides."""

    items: Mapping[str, float]
    categories: Mapping[str, float]


class Filters(TypedDict, total=False):
    """Which items may appear, and how to serve the model."""

    exclude: Sequence[str]
    category: Sequence[str]
    min_price: float
    max_price: float
    in_stock: bool
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
    """The options of a fit; what is left out has its default."""

    kernel: Literal["symmetric", "ndpp2019", "scalable", "tied"]
    rank: int
    skew_rank: int
    diagonal: bool
    alpha: float
    beta: float
    init: Literal["scaled", "paper", "previous"]
    steps: int
    batch_size: int
    learning_rate: float
    evaluate_every: int
    patience: int
    half_life_days: float
    seed: int
    threads: int
    tune: Literal["none", "quick", "thorough"]
    validation: int
    max_basket_size: int
    min_item_count: int
    only_listed_items: bool
    report: bool
    format: Literal["lines", "csv", "parquet", "jsonl"]
    columns: Mapping[str, str]


class JobRequest(TypedDict, total=False):
    """What to learn from, and what to do with the result."""

    data: str
    items: str
    purchases: bool
    activate: Literal["auto", "never", "always"]
    options: FitOptions


class Conditions(TypedDict, total=False):
    """Under which conditions a cart may change."""

    if_match: str
    idempotency_key: str


def _path(*segments: str) -> str:
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def _headers(conditions: Conditions) -> dict[str, str | None]:
    return {
        "If-Match": conditions.get("if_match"),
        "Idempotency-Key": conditions.get("idempotency_key"),
    }


def _basket(cart_id: str | None, items: Sequence[str]) -> dict[str, Any]:
    return {"items": list(items)} if cart_id is None else {"cart_id": cart_id, "items": list(items)}


def create_cart(**conditions: Unpack[Conditions]) -> Call[answers.CartAnswer]:
    """Create an empty cart with a fresh id."""
    return Call("POST", "/carts", headers=_headers(conditions))


def add_items(
    cart_id: str, *items: str | answers.CartLine, **conditions: Unpack[Conditions]
) -> Call[answers.CartAnswer]:
    """Add items, as ids (one of each) or as lines with a quantity; the cart is created if it is new."""
    lines = [{"item_id": item} if isinstance(item, str) else item for item in items]
    return Call("POST", _path("carts", cart_id, "items"), body={"items": lines}, headers=_headers(conditions))


def set_quantity(
    cart_id: str, item_id: str, quantity: int, **conditions: Unpack[Conditions]
) -> Call[answers.CartAnswer]:
    """Set how many of an item the cart holds."""
    path = _path("carts", cart_id, "items", item_id)
    return Call("PUT", path, body={"quantity": quantity}, headers=_headers(conditions))


def remove_item(cart_id: str, item_id: str, **conditions: Unpack[Conditions]) -> Call[answers.CartAnswer]:
    """Take all of an item out of the cart."""
    return Call("DELETE", _path("carts", cart_id, "items", item_id), headers=_headers(conditions))


def get_cart(cart_id: str) -> Call[answers.CartAnswer]:
    """The whole cart."""
    return Call("GET", _path("carts", cart_id))


def delete_cart(cart_id: str, **conditions: Unpack[Conditions]) -> Call[None]:
    """Forget the cart."""
    return Call("DELETE", _path("carts", cart_id), headers=_headers(conditions))


def check_out(cart_id: str, **conditions: Unpack[Conditions]) -> Call[answers.CartAnswer]:
    """Close the cart and append its basket to the purchase log, exactly once."""
    return Call("POST", _path("carts", cart_id, "checkout"), headers=_headers(conditions))


def recommend(
    cart_id: str | None = None, items: Sequence[str] = (), k: int = 10, **options: Unpack[RecommendOptions]
) -> Call[answers.Recommendations]:
    """What a cart, a list of items, or an empty cart should get next."""
    return Call("POST", "/recommend", body={**_basket(cart_id, items), "k": k, **options})


def recommend_batch(
    carts: Sequence[Sequence[str]], k: int = 10, **options: Unpack[RecommendOptions]
) -> Call[answers.BatchAnswer]:
    """The same question for up to 256 lists of items at once."""
    baskets = [{"items": list(items)} for items in carts]
    return Call("POST", "/recommend/batch", body={"carts": baskets, "k": k, **options})


def cart_insights(cart_id: str) -> Call[answers.InsightsAnswer]:
    """How complete and how coherent a cart is."""
    return Call("GET", _path("carts", cart_id, "insights"))


def find_bundles(
    cart_id: str | None = None, items: Sequence[str] = (), k: int = 5, **options: Unpack[BundleOptions]
) -> Call[answers.BundlesAnswer]:
    """The k items that belong together most, around the given ones if any."""
    return Call("POST", "/bundles", body={**_basket(cart_id, items), "k": k, **options})


def search_items(
    q: str = "", category: str | None = None, limit: int = 50, cursor: str | None = None
) -> Call[answers.ItemsAnswer]:
    """The items of the catalogue, the most popular first, page by page."""
    query = {"q": q, "category": category, "limit": limit, "cursor": cursor}
    return Call("GET", "/items", {name: value for name, value in query.items() if value is not None})


def list_categories() -> Call[answers.CategoriesAnswer]:
    """All categories of the catalogue, with the number of their items."""
    return Call("GET", "/categories")


def get_item(item_id: str) -> Call[answers.ItemAnswer]:
    """One item as it counts now."""
    return Call("GET", _path("items", item_id))


def related_items(
    item_id: str, relation: Literal["complement", "substitute"] = "complement", k: int = 10
) -> Call[answers.RelatedAnswer]:
    """What goes with an item, or what would replace it."""
    return Call("GET", _path("items", item_id, "related"), {"relation": relation, "k": k})


def patch_item(item_id: str, **change: Unpack[ItemChange]) -> Call[answers.ItemAnswer]:
    """Say what the shop knows better than the model; needs the admin key if the service has one."""
    return Call("PATCH", _path("items", item_id), body=dict(change))


def list_models() -> Call[answers.ModelsAnswer]:
    """All versions in the store."""
    return Call("GET", "/models")


def active_model() -> Call[answers.ModelInUse]:
    """The model that answers at the moment."""
    return Call("GET", "/models/active")


def model_report(version: str) -> Call[dict[str, Any]]:
    """How good a version was when it was trained, beside the baselines."""
    return Call("GET", _path("models", version, "report.json"))


def activate_model(version: str) -> Call[answers.Activation]:
    """Let a version answer from now on; with an older one this is the way back. Needs the admin key."""
    return Call("POST", _path("models", version, "activate"))


def delete_model(version: str) -> Call[None]:
    """Remove a version from the store; never the active one. Needs the admin key."""
    return Call("DELETE", _path("models", version))


def start_job(**request: Unpack[JobRequest]) -> Call[answers.Job]:
    """Start a training job. Needs the admin key, as do the other calls about jobs."""
    return Call("POST", "/training-jobs", body=dict(request))


def list_jobs() -> Call[answers.JobsAnswer]:
    """The latest jobs, the newest first."""
    return Call("GET", "/training-jobs")


def get_job(job_id: str) -> Call[answers.Job]:
    """How far a job is, or how it ended."""
    return Call("GET", _path("training-jobs", job_id))


def cancel_job(job_id: str) -> Call[answers.Job]:
    """Stop a job."""
    return Call("POST", _path("training-jobs", job_id, "cancel"))


def ready() -> Call[answers.ReadyAnswer]:
    """Whether a model is loaded and Redis answers."""
    return Call("GET", "/readyz")
