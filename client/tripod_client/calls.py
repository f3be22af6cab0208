"""One function per route of the service, which builds the request and declares the type of the answer.

Carts are in `cart_calls.py`, purchases and shoppers in `shopper_calls.py`, items in `item_calls.py`, rules in
`rule_calls.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tripod_client import answers
from tripod_client.arguments import (
    AnyCart,
    BundleOptions,
    InStockFilters,
    JobRequest,
    RecommendOptions,
)
from tripod_client.request import (
    Call,
    body_of,
    cart_query,
    given_only,
    json_lists,
    list_of,
    options_of,
    past_of,
    path_of,
)


def recommend(
    cart_id: str | None = None,
    items: Sequence[str] = (),
    k: int = 10,
    *,
    shopper_id: str | None = None,
    history: Sequence[Sequence[str]] | None = None,
    **options: Unpack[RecommendOptions],
) -> Call[answers.Recommendations]:
    """Recommend items for a stored cart, a list of items or an empty cart.

    With a `shopper_id`, or a `history` of baskets (oldest first), what the shopper bought before counts too.
    """
    cart = {**cart_query(cart_id), **past_of(shopper_id, history)}
    return Call("POST", "/recommend", body=body_of(cart, items, k, options))


def recommend_batch(
    carts: Sequence[AnyCart], k: int = 10, **options: Unpack[RecommendOptions]
) -> Call[answers.BatchAnswer]:
    """Recommend items for up to 256 carts: lists of item ids, `{"items": …}` or `{"cart_id": …}`.

    The two dictionaries may have a `shopper_id` or a `history`, too.
    """
    baskets = [_any_cart(cart) for cart in carts]
    return Call("POST", "/recommend/batch", body={"carts": baskets, "k": k, **options_of(options)})


def _any_cart(cart: AnyCart) -> Mapping[str, Any]:
    if isinstance(cart, Mapping):
        given: dict[str, Any] = {**cart}
        past = past_of(given.pop("shopper_id", None), given.pop("history", None))
        if given.keys() == {"items"}:
            return {"items": list_of("items", given["items"]), **past}
        if given.keys() == {"cart_id"}:
            return given | past
    elif isinstance(cart, Sequence) and not isinstance(cart, str):
        return {"items": list(cart)}
    raise TypeError(f'a cart is a list of item ids, {{"items": […]}} or {{"cart_id": …}}, not {cart!r}')


def insights(cart_id: str | None = None, items: Sequence[str] = ()) -> Call[answers.InsightsAnswer]:
    """Predict size and coherence of a stored cart, a list of items or an empty cart."""
    return Call("GET", "/insights", json_lists({**cart_query(cart_id), "items": items}))


def cart_insights(cart_id: str) -> Call[answers.InsightsAnswer]:
    """Predict size and coherence of a stored cart."""
    return Call("GET", path_of("carts", cart_id, "insights"))


def substitutes(
    cart_id: str | None = None,
    items: Sequence[str] = (),
    replace: Sequence[str] = (),
    k: int = 3,
    **filters: Unpack[InStockFilters],
) -> Call[answers.SubstitutesAnswer]:
    """Find substitutes for items of a stored cart or a list: those named, or all that are out of stock."""
    query = {**cart_query(cart_id), "items": items, "replace": replace, "k": k, **options_of(filters)}
    return Call("GET", "/substitutes", json_lists(query))


def cart_substitutes(
    cart_id: str, replace: Sequence[str] = (), k: int = 3, **filters: Unpack[InStockFilters]
) -> Call[answers.SubstitutesAnswer]:
    """Find substitutes for items of a stored cart: those named, or all that are out of stock."""
    query = json_lists({"replace": replace, "k": k, **options_of(filters)})
    return Call("GET", path_of("carts", cart_id, "substitutes"), query)


# The service has one operation for query parameters and one for JSON bodies; the client uses JSON for both.
recommend_json = recommend


def find_bundles(
    cart_id: str | None = None,
    items: Sequence[str] = (),
    k: int = 5,
    *,
    shopper_id: str | None = None,
    history: Sequence[Sequence[str]] | None = None,
    **options: Unpack[BundleOptions],
) -> Call[answers.BundlesAnswer]:
    """Find k items that people buy together with the cart or the given items, or without any.

    With a `shopper_id` or a `history` the items are chosen for that shopper.
    """
    cart = {**cart_query(cart_id), **past_of(shopper_id, history)}
    return Call("POST", "/bundles", body=body_of(cart, items, k, options))


find_bundles_json = find_bundles


def top_bundles(
    k: int = 3,
    category: str | None = None,
    in_stock: bool = True,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[answers.TopBundlesAnswer]:
    """List the best bundles of the catalogue page by page; none if the model was trained without tuning."""
    query = {"k": k, "category": category, "in_stock": in_stock, "limit": limit, "cursor": cursor}
    return Call("GET", "/bundles/top", given_only(query))


def list_models() -> Call[answers.ModelsAnswer]:
    """List the versions in the model store."""
    return Call("GET", "/models")


def active_model() -> Call[answers.ModelInUse]:
    """Describe the model that answers requests."""
    return Call("GET", "/models/active")


def model_report(version: str) -> Call[dict[str, Any]]:
    """Read the evaluation report of a version."""
    return Call("GET", path_of("models", version, "report.json"))


def activate_model(version: str) -> Call[answers.Activation]:
    """Activate a version; activating an older one rolls back. Needs the admin key."""
    return Call("POST", path_of("models", version, "activate"))


def delete_model(version: str) -> Call[None]:
    """Delete a version; the active one is refused. Needs the admin key."""
    return Call("DELETE", path_of("models", version), answer="nothing")


def start_job(**request: Unpack[JobRequest]) -> Call[answers.Job]:
    """Start a training job. All calls about jobs need the admin key."""
    return Call("POST", "/training-jobs", body=dict(request))


def list_jobs() -> Call[answers.JobsAnswer]:
    """List the latest jobs, newest first."""
    return Call("GET", "/training-jobs")


def get_job(job_id: str) -> Call[answers.Job]:
    """Read the state of a job."""
    return Call("GET", path_of("training-jobs", job_id))


def cancel_job(job_id: str) -> Call[answers.Job]:
    """Cancel a job."""
    return Call("POST", path_of("training-jobs", job_id, "cancel"))


def follow_job(job_id: str) -> Call[answers.Job]:
    """Stream the job now and after each change, until it ends."""
    return Call("GET", path_of("training-jobs", job_id, "events"))


def alive() -> Call[answers.AliveAnswer]:
    """Check that the process is alive."""
    return Call("GET", "/healthz")


def metrics() -> Call[str]:
    """Read the metrics in the Prometheus text format."""
    return Call("GET", "/metrics", answer="text")


def ready() -> Call[answers.ReadyAnswer]:
    """Check that a model is loaded and Redis accepts writes."""
    return Call("GET", "/readyz")
