"""Routes of bundles."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.bundles.schemas import BundleQuery, BundleRequest, BundlesAnswer
from app.dependencies import ServicesDep, services_of
from app.errors import CartNotFound, ModelMissing, Overloaded, RedisAway
from app.problems import COMMON, declare
from app.queries import documented, query_of

router = APIRouter(prefix="/bundles", tags=["bundles"], responses=COMMON)

_read_query = query_of(BundleQuery)
_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisAway)


@router.get("", summary="Find bundles", responses=_PROBLEMS, openapi_extra=documented(BundleQuery))
async def find_bundles(request: Request) -> BundlesAnswer:
    """The k items that belong together most: from nothing, around `items`, or completing `cart_id`."""
    return await services_of(request).bundles.find(_read_query(request))


@router.post("", summary="Find bundles (JSON)", responses=_PROBLEMS)
async def find_bundles_json(services: ServicesDep, request: BundleRequest) -> BundlesAnswer:
    """The same as `GET /bundles`, with boosts and room for long lists."""
    return await services.bundles.find(request)
