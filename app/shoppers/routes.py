"""Routes of shoppers. They need the admin key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from app.dependencies import AdminKey, ServicesDep, services_of
from app.http.errors import ModelMissing, RedisUnavailable, ShopperNotFound, Unavailable
from app.http.inputs import PathShopperId, query_parameters, query_reader
from app.http.problems import ADMIN, declare
from app.shoppers.schemas import BuyAgainAnswer, BuyAgainQuery, ForgottenAnswer, ShopperAnswer

router = APIRouter(prefix="/shoppers", tags=["shoppers"], responses=ADMIN, dependencies=[AdminKey])

ShopperIdPath = Annotated[PathShopperId, Path(description="The shop's own id of the shopper.")]
_read_query = query_reader(BuyAgainQuery)
_PROBLEMS = declare(ShopperNotFound, RedisUnavailable, Unavailable)


@router.get("/{shopper_id}", summary="What is stored about a shopper", responses=_PROBLEMS)
async def get_shopper(services: ServicesDep, shopper_id: ShopperIdPath) -> ShopperAnswer:
    """The shopper's purchases, as recommendations consider them."""
    return await services.shoppers.get(shopper_id)


@router.get(
    "/{shopper_id}/buy-again",
    summary="What a shopper is about to buy again",
    responses={**_PROBLEMS, **declare(ShopperNotFound, ModelMissing, RedisUnavailable, Unavailable)},
    openapi_extra=query_parameters(BuyAgainQuery),
)
async def buy_again(request: Request, shopper_id: ShopperIdPath) -> BuyAgainAnswer:
    """Items in stock that the shopper bought at least twice, with the usual interval, most due first."""
    limit = _read_query(request).limit
    return await services_of(request).shoppers.buy_again(shopper_id, limit)


@router.delete("/{shopper_id}", summary="Forget a shopper", responses=declare(RedisUnavailable, Unavailable))
async def forget_shopper(services: ServicesDep, shopper_id: ShopperIdPath) -> ForgottenAnswer:
    """Delete the shopper's profile, carts and purchases; a repetition deletes what has been added since.

    Purchases in files are removed by the worker. Training leaves out what the shopper bought until now, also
    in the shop's own data.
    """
    has_files = services.settings.data is not None
    return await services.shoppers.forget(shopper_id, has_files=has_files)
