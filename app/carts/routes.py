"""Routes of carts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from app.carts.schemas import CartAnswer, CartMerge, CartShopper, LineQuantity, NewLines, lines_of
from app.carts.store import Cart
from app.dependencies import CartConditions, CartIdPath, IdempotencyKey, ItemIdPath, ServicesDep
from app.http.errors import (
    CartChanged,
    CartCheckedOut,
    CartEmpty,
    CartExists,
    CartFull,
    CartNotFound,
    IdempotencyKeyReused,
    ItemNotInCart,
    RedisUnavailable,
    UnsupportedMediaType,
)
from app.http.etags import NOT_MODIFIED, check_if_none_match
from app.http.problems import COMMON, declare

router = APIRouter(prefix="/carts", tags=["carts"], responses=COMMON)

_ETAG = {
    "ETag": {
        "schema": {"type": "string"},
        "description": "Identifies the state of the cart, for If-Match and If-None-Match.",
    }
}
_LOCATION = {"Location": {"schema": {"type": "string"}, "description": "The address of the new cart."}}
_LINES = {
    "one": {"summary": "One item", "value": {"item_id": "camera", "quantity": 1}},
    "several": {
        "summary": "Several items",
        "value": {"items": [{"item_id": "camera"}, {"item_id": "film", "quantity": 3}]},
    },
}


def _etag(cart: Cart) -> dict[str, str]:
    return {"ETag": f'"{cart.etag}"'}


def _with_etag(cart: Cart, response: Response) -> CartAnswer:
    response.headers.update(_etag(cart))
    return CartAnswer.of(cart)


@router.post(
    "",
    status_code=201,
    summary="Create a cart",
    responses={
        201: {"headers": _ETAG | _LOCATION},
        **declare(CartNotFound, UnsupportedMediaType, IdempotencyKeyReused, RedisUnavailable),
    },
)
async def create_cart(
    services: ServicesDep,
    request: Request,
    response: Response,
    body: CartShopper | None = None,
    key: IdempotencyKey = None,
) -> CartAnswer:
    """Create an empty cart with a new id. (Adding an item to an id of your choice creates that cart, too.)

    Here an Idempotency-Key counts for your address: use a random one if other clients share the address.
    """
    client = request.client.host if request.client else ""
    cart = await services.carts.create(client, key, body.shopper_id if body else None)
    response.headers["Location"] = f"/carts/{cart.cart_id}"
    return _with_etag(cart, response)


@router.post(
    "/{cart_id}/items",
    summary="Add items",
    responses={
        200: {"headers": _ETAG},
        **declare(
            CartNotFound,
            CartCheckedOut,
            CartFull,
            CartChanged,
            CartExists,
            UnsupportedMediaType,
            IdempotencyKeyReused,
            RedisUnavailable,
        ),
    },
)
async def add_items(
    *,
    services: ServicesDep,
    response: Response,
    cart_id: CartIdPath,
    body: Annotated[NewLines, Body(openapi_examples=_LINES)],
    conditions: CartConditions,
    key: IdempotencyKey = None,
) -> CartAnswer:
    """Add to the quantities in the cart. Adding an item creates the cart. Unknown items are allowed.

    The cart remembers the latest `shopper_id`, as a keyed hash.
    """
    cart = await services.carts.add(cart_id, lines_of(body), conditions, key, body.shopper_id)
    return _with_etag(cart, response)


@router.post(
    "/{cart_id}/merge",
    summary="Merge two carts",
    responses={
        200: {"headers": _ETAG},
        **declare(
            CartNotFound,
            CartCheckedOut,
            CartFull,
            CartChanged,
            CartExists,
            UnsupportedMediaType,
            IdempotencyKeyReused,
            RedisUnavailable,
        ),
    },
)
async def merge_carts(
    *,
    services: ServicesDep,
    response: Response,
    cart_id: CartIdPath,
    body: CartMerge,
    conditions: CartConditions,
    key: IdempotencyKey = None,
) -> CartAnswer:
    """Add the lines of the cart `from_cart_id` and delete that cart, in one step: for a guest who logs in.

    Quantities of the same item are added. A cart without a `shopper_id` gets that of the other.
    """
    cart = await services.carts.merge(cart_id, body.from_cart_id, conditions, key, body.shopper_id)
    return _with_etag(cart, response)


@router.put(
    "/{cart_id}/items/{item_id:path}",
    summary="Set a quantity",
    responses={
        200: {"headers": _ETAG},
        **declare(CartCheckedOut, CartFull, CartChanged, CartExists, UnsupportedMediaType, RedisUnavailable),
    },
)
async def set_quantity(
    *,
    services: ServicesDep,
    response: Response,
    cart_id: CartIdPath,
    item_id: ItemIdPath,
    body: LineQuantity,
    conditions: CartConditions,
) -> CartAnswer:
    """Set the quantity of an item. Repeating the request changes nothing."""
    cart = await services.carts.set_quantity(cart_id, (item_id, body.quantity), conditions)
    return _with_etag(cart, response)


@router.delete(
    "/{cart_id}/items/{item_id:path}",
    summary="Remove an item",
    responses={
        200: {"headers": _ETAG},
        **declare(CartNotFound, ItemNotInCart, CartCheckedOut, CartChanged, CartExists, RedisUnavailable),
    },
)
async def remove_item(
    services: ServicesDep,
    response: Response,
    cart_id: CartIdPath,
    item_id: ItemIdPath,
    conditions: CartConditions,
) -> CartAnswer:
    """Remove an item from the cart, whatever its quantity."""
    return _with_etag(await services.carts.remove(cart_id, item_id, conditions), response)


@router.get(
    "/{cart_id}",
    summary="Read a cart",
    responses={200: {"headers": _ETAG}, **NOT_MODIFIED, **declare(CartNotFound, RedisUnavailable)},
)
async def get_cart(
    services: ServicesDep, request: Request, response: Response, cart_id: CartIdPath
) -> CartAnswer:
    """Read the cart; the ETag identifies its state."""
    cart = await services.carts.get(cart_id)
    check_if_none_match(request, _etag(cart))
    return _with_etag(cart, response)


@router.delete(
    "/{cart_id}",
    status_code=204,
    response_class=Response,  # without a content type
    summary="Delete a cart",
    responses=declare(CartNotFound, CartChanged, CartExists, RedisUnavailable),
)
async def delete_cart(services: ServicesDep, cart_id: CartIdPath, conditions: CartConditions) -> None:
    """Delete the cart, checked out or not. The purchase stays in the purchase log."""
    await services.carts.delete(cart_id, conditions)


@router.post(
    "/{cart_id}/checkout",
    summary="Check out",
    responses={
        200: {"headers": _ETAG},
        **declare(
            CartNotFound,
            CartCheckedOut,
            CartEmpty,
            CartChanged,
            CartExists,
            UnsupportedMediaType,
            IdempotencyKeyReused,
            RedisUnavailable,
        ),
    },
)
async def check_out(
    *,
    services: ServicesDep,
    response: Response,
    cart_id: CartIdPath,
    body: CartShopper | None = None,
    conditions: CartConditions,
    key: IdempotencyKey = None,
) -> CartAnswer:
    """Close the cart and append its basket to the purchase log, exactly once.

    A second checkout gets 409 with the `purchase_id` of the first; with the same Idempotency-Key it gets 200
    with the cart.
    """
    shopper_id = body.shopper_id if body else None
    return _with_etag(await services.carts.check_out(cart_id, conditions, key, shopper_id), response)
