"""Routes of substitutes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.dependencies import CartIdPath, catalogue_headers, services_of
from app.http.errors import CartNotFound, ModelMissing, Overloaded, RedisUnavailable
from app.http.etags import REVALIDATED
from app.http.inputs import query_parameters, query_reader
from app.http.problems import COMMON, declare
from app.recommend.request import Basket
from app.substitutes.schemas import SubstituteOptions, SubstitutesAnswer, SubstitutesQuery

router = APIRouter(tags=["recommendations"], responses=COMMON)

_read_query = query_reader(SubstitutesQuery)
_read_options = query_reader(SubstituteOptions)
_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisUnavailable)


@router.get(
    "/substitutes",
    summary="Substitutes for items of a list",
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=query_parameters(SubstitutesQuery),
)
async def substitutes(request: Request, response: Response) -> SubstitutesAnswer:
    """Substitutes for items of a list (`items`) or a stored cart (`cart_id`), with the price difference.

    They are the items that replace one and fit the rest of the cart. Without `replace`, the items that are
    out of stock are replaced. An item without substitutes has an empty list, and `shortage` says why. Items
    hidden by a boost of 0 are left out. Without `cart_id` the response has an ETag.
    """
    query = _read_query(request)
    if query.cart_id is None:
        response.headers.update(catalogue_headers(request))
    return await services_of(request).substitutes.of(query, query)


@router.get(
    "/carts/{cart_id}/substitutes",
    summary="Substitutes for items of a cart",
    responses=_PROBLEMS,
    openapi_extra=query_parameters(SubstituteOptions),
)
async def cart_substitutes(request: Request, cart_id: CartIdPath) -> SubstitutesAnswer:
    """`GET /substitutes` for a stored cart."""
    return await services_of(request).substitutes.of(Basket(cart_id=cart_id), _read_options(request))
