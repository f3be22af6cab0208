"""Every route of the service as a function that says what to send and which answer comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, Unpack
from urllib.parse import quote

from tripod_client import answers
from tripod_client.arguments import (
    AnyCart,
    BundleOptions,
    ItemChange,
    ItemFilters,
    JobRequest,
    NewLine,
    RecommendOptions,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request; T is the type of its answer."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Any = None
    headers: Mapping[str, str] | None = None
    answer: Literal["object", "text", "nothing"] = "object"  # what a good answer holds


def _path(*segments: str) -> str:
    for segment in segments:
        if segment in ("", ".", ".."):  # an address with one of these is that of something else
            raise ValueError(f"{segment!r} cannot be the id of a cart or an item, or the name of a version")
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def header_value(name: str, value: str) -> str:
    """A text that a header can hold, without blanks around it; ValueError, which does not show it, if not."""
    text = value.strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError(
            f"{name} cannot be sent: it must have printable ASCII characters only, without line breaks"
        )
    return text


def _headers(if_match: str | None = None, idempotency_key: str | None = None) -> dict[str, str]:
    headers = {}
    if if_match is not None:
        written = if_match == "*" or if_match.endswith('"')
        headers["If-Match"] = header_value("if_match", if_match if written else f'"{if_match}"')
    if idempotency_key is not None:
        headers["Idempotency-Key"] = header_value("idempotency_key", idempotency_key)
    return headers


def _list(name: str, texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):  # a sequence as well, but of letters
        raise TypeError(f"{name} must be a list of texts, such as [{texts!r}], not one text")
    return list(texts)


def _cart(cart_id: str | None) -> dict[str, str]:
    if cart_id is None:
        return {}
    if not isinstance(cart_id, str):
        raise TypeError(f"cart_id must be a text, not {cart_id!r}: a list of item ids goes into items=")
    return {"cart_id": cart_id}


def _body(
    cart_id: str | None, items: Sequence[str], k: int, options: RecommendOptions | BundleOptions
) -> dict[str, Any]:
    return {**_cart(cart_id), "items": _list("items", items), "k": k, **_options(options)}


def _options(options: RecommendOptions | BundleOptions | ItemFilters) -> dict[str, Any]:
    lists = {name: _list(name, options[name]) for name in ("exclude", "category") if name in options}
    return {**options, **lists}


def create_cart(*, idempotency_key: str | None = None) -> Call[answers.CartAnswer]:
    """Create an empty cart with a fresh id."""
    return Call("POST", "/carts", headers=_headers(None, idempotency_key))


def add_items(
    cart_id: str,
    *items: str | NewLine,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[answers.CartAnswer]:
    """Add items, as ids (one of each) or as lines with a quantity; the cart is created if it is new.

    `if_match=cart["etag"]` adds them only if the cart has not changed since.
    """
    lines = [{"item_id": item} if isinstance(item, str) else item for item in items]
    headers = _headers(if_match, idempotency_key)
    return Call("POST", _path("carts", cart_id, "items"), body={"items": lines}, headers=headers)


def set_quantity(
    cart_id: str, item_id: str, quantity: int, *, if_match: str | None = None
) -> Call[answers.CartAnswer]:
    """Set how many of an item the cart holds."""
    path = _path("carts", cart_id, "items", item_id)
    return Call("PUT", path, body={"quantity": quantity}, headers=_headers(if_match))


def remove_item(cart_id: str, item_id: str, *, if_match: str | None = None) -> Call[answers.CartAnswer]:
    """Take all of an item out of the cart."""
    return Call("DELETE", _path("carts", cart_id, "items", item_id), headers=_headers(if_match))


def get_cart(cart_id: str) -> Call[answers.CartAnswer]:
    """The whole cart."""
    return Call("GET", _path("carts", cart_id))


def delete_cart(cart_id: str, *, if_match: str | None = None) -> Call[None]:
    """Forget the cart."""
    return Call("DELETE", _path("carts", cart_id), headers=_headers(if_match), answer="nothing")


def check_out(
    cart_id: str, *, if_match: str | None = None, idempotency_key: str | None = None
) -> Call[answers.CartAnswer]:
    """Close the cart and append its basket to the purchase log, exactly once."""
    return Call("POST", _path("carts", cart_id, "checkout"), headers=_headers(if_match, idempotency_key))


def recommend(
    cart_id: str | None = None, items: Sequence[str] = (), k: int = 10, **options: Unpack[RecommendOptions]
) -> Call[answers.Recommendations]:
    """What a cart, a list of items, or an empty cart should get next."""
    return Call("POST", "/recommend", body=_body(cart_id, items, k, options))


def recommend_batch(
    carts: Sequence[AnyCart], k: int = 10, **options: Unpack[RecommendOptions]
) -> Call[answers.BatchAnswer]:
    """The same question for up to 256 carts at once: ids of items, `{"items": …}` or `{"cart_id": …}`."""
    baskets = [_any_cart(cart) for cart in carts]
    return Call("POST", "/recommend/batch", body={"carts": baskets, "k": k, **_options(options)})


def _any_cart(cart: AnyCart) -> Mapping[str, Any]:
    if isinstance(cart, Mapping):
        given: dict[str, Any] = {**cart}
        if given.keys() == {"items"}:
            return {"items": _list("items", given["items"])}
        if given.keys() == {"cart_id"}:
            return given
    elif isinstance(cart, Sequence) and not isinstance(cart, str):
        return {"items": list(cart)}
    raise TypeError(f'a cart is a list of item ids, {{"items": […]}} or {{"cart_id": …}}, not {cart!r}')


def insights(cart_id: str | None = None, items: Sequence[str] = ()) -> Call[answers.InsightsAnswer]:
    """How large and how coherent a cart, a list of items, or an empty cart is."""
    listed = {"items": json.dumps(_list("items", items))} if items else {}
    return Call("GET", "/insights", {**_cart(cart_id), **listed})


def cart_insights(cart_id: str) -> Call[answers.InsightsAnswer]:
    """The same for a stored cart."""
    return Call("GET", _path("carts", cart_id, "insights"))


# The service has one operation for queries and one for JSON bodies; both calls send the latter.
recommend_json = recommend


def find_bundles(
    cart_id: str | None = None, items: Sequence[str] = (), k: int = 5, **options: Unpack[BundleOptions]
) -> Call[answers.BundlesAnswer]:
    """The k items that belong together most, around the given ones if any."""
    return Call("POST", "/bundles", body=_body(cart_id, items, k, options))


find_bundles_json = find_bundles


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
    item_id: str,
    relation: Literal["complement", "substitute"] = "complement",
    k: int = 10,
    **filters: Unpack[ItemFilters],
) -> Call[answers.RelatedAnswer]:
    """What goes with an item, or what would replace it, the surest first; empty if the baskets show none."""
    query = {"relation": relation, "k": k, **_options(filters)}
    if "exclude" in query:
        query["exclude"] = json.dumps(query["exclude"])  # an id may hold a comma
    return Call("GET", _path("items", item_id, "related"), query)


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
    return Call("DELETE", _path("models", version), answer="nothing")


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


def follow_job(job_id: str) -> Call[answers.Job]:
    """The job as it stands and after each change, until it ends: iterate over it."""
    return Call("GET", _path("training-jobs", job_id, "events"))


def alive() -> Call[answers.AliveAnswer]:
    """Whether the process runs."""
    return Call("GET", "/healthz")


def metrics() -> Call[str]:
    """The metrics in the text format of Prometheus."""
    return Call("GET", "/metrics", answer="text")


def ready() -> Call[answers.ReadyAnswer]:
    """Whether a model is loaded and Redis answers."""
    return Call("GET", "/readyz")
