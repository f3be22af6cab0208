"""Routes of bundles."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.bundles.schemas import BundleQuery, BundleRequest, BundlesAnswer
from app.dependencies import ServicesDep, catalogue_headers, services_of
from app.errors import CartNotFound, ModelMissing, Overloaded, RedisAway, UnsupportedMediaType
from app.etags import REVALIDATED
from app.problems import COMMON, declare
from app.queries import documented, query_of

router = APIRouter(prefix="/bundles", tags=["bundles"], responses=COMMON)

_read_query = query_of(BundleQuery)
_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisAway)


@router.get(
    "",
    summary="Find bundles",
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=documented(BundleQuery),
)
async def find_bundles(request: Request, response: Response) -> BundlesAnswer:
    """The k items that belong together most: from nothing, around `items`, or completing `cart_id`.

    Without `cart_id` the answer has an ETag.
    """
    query = _read_query(request)
    if query.cart_id is None:
        response.headers.update(catalogue_headers(request))
    return await services_of(request).bundles.find(query)


@router.post("", summary="Find bundles (JSON)", responses={**_PROBLEMS, **declare(UnsupportedMediaType)})
async def find_bundles_json(services: ServicesDep, request: BundleRequest) -> BundlesAnswer:
    """The same as `GET /bundles`, with boosts and room for long lists."""
    return await services.bundles.find(request)
