"""Routes of bundles."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.bundles.schemas import BundleQuery, BundleRequest, BundlesAnswer
from app.dependencies import ServicesDep
from app.errors import CartNotFound, ModelMissing, Overloaded, RedisAway
from app.problems import declare

router = APIRouter(prefix="/bundles", tags=["bundles"])

_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisAway)


@router.get("", summary="Find bundles", responses=_PROBLEMS)
async def find_bundles(services: ServicesDep, query: Annotated[BundleQuery, Query()]) -> BundlesAnswer:
    """The k items that belong together most: from nothing, around `items`, or completing `cart_id`."""
    return await services.bundles.find(query)


@router.post("", summary="Find bundles (JSON)", responses=_PROBLEMS)
async def find_bundles_json(services: ServicesDep, request: BundleRequest) -> BundlesAnswer:
    """The same as `GET /bundles`, with boosts and room for long lists."""
    return await services.bundles.find(request)
