"""Routes of bundles."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.bundles.schemas import BundleRequest, BundlesAnswer, TopBundlesAnswer, TopBundlesQuery
from app.dependencies import FromCatalogue, ServicesDep, catalogue_headers, services_of
from app.http.errors import CartNotFound, ModelMissing, Overloaded, RedisUnavailable, UnsupportedMediaType
from app.http.etags import REVALIDATED
from app.http.inputs import query_parameters, query_reader
from app.http.problems import COMMON, declare

router = APIRouter(prefix="/bundles", tags=["bundles"], responses=COMMON)

_read_query = query_reader(BundleRequest)
_read_top = query_reader(TopBundlesQuery)
_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisUnavailable)


@router.get(
    "",
    summary="Find bundles",
    response_model=BundlesAnswer,
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=query_parameters(BundleRequest),
)
async def find_bundles(request: Request) -> Response:
    """Find k items that belong together: from scratch, with given `items`, or with a stored cart (`cart_id`).

    With given items, the bundle is what people most often buy with them as a whole. Without, every pair of
    its items is bought together more often than by chance. Items that the shopper (`shopper_id`, or that of
    the cart) is more likely to buy than others are preferred. Without `cart_id` and `shopper_id` the response
    has an ETag.
    """
    query = _read_query(request)
    is_shared = query.cart_id is None and query.shopper_id is None
    headers = catalogue_headers(request) if is_shared else None
    answer = await services_of(request).bundles.find(query, "query")
    return Response(answer, media_type="application/json", headers=headers)


@router.post(
    "",
    summary="Find bundles (JSON)",
    response_model=BundlesAnswer,
    responses={**_PROBLEMS, **declare(UnsupportedMediaType)},
)
async def find_bundles_json(services: ServicesDep, request: BundleRequest) -> Response:
    """`GET /bundles` with a JSON body, which may hold boosts, a history and long lists."""
    return Response(await services.bundles.find(request, "body"), media_type="application/json")


@router.get(
    "/top",
    summary="The best bundles of the catalogue",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing)},
    openapi_extra=query_parameters(TopBundlesQuery),
)
async def top_bundles(request: Request) -> TopBundlesAnswer:
    """Bundles of `k` items that are bought together far more often than by chance, in pages, best first.

    They were found when the model was trained, and no two of them share an item. The list is empty for a
    model that was trained without tuning or by release 0.1.
    """
    return services_of(request).bundles.top(_read_top(request))
