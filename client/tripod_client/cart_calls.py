"""The routes of carts, like those in `calls.py`."""

from __future__ import annotations

from tripod_client import answers
from tripod_client.arguments import NewLine
from tripod_client.request import Call, headers_of, lines_of, past_of, path_of


def create_cart(
    *, shopper_id: str | None = None, idempotency_key: str | None = None
) -> Call[answers.CartAnswer]:
    """Create an empty cart with a random id."""
    headers = headers_of(None, idempotency_key)
    return Call("POST", "/carts", body=past_of(shopper_id, None) or None, headers=headers)


def add_items(
    cart_id: str,
    *items: str | NewLine,
    shopper_id: str | None = None,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[answers.CartAnswer]:
    """Add items, given as ids (quantity 1) or with a quantity; creates the cart if it does not exist.

    `if_match=cart["etag"]` adds them only if nobody else has changed the cart. The cart remembers the latest
    `shopper_id`.
    """
    body = {"items": lines_of(items), **past_of(shopper_id, None)}
    headers = headers_of(if_match, idempotency_key)
    return Call("POST", path_of("carts", cart_id, "items"), body=body, headers=headers)


def merge_carts(
    cart_id: str,
    from_cart_id: str,
    *,
    shopper_id: str | None = None,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[answers.CartAnswer]:
    """Add the lines of another cart and delete that cart, in one step: for a guest who logs in."""
    body = {"from_cart_id": from_cart_id, **past_of(shopper_id, None)}
    headers = headers_of(if_match, idempotency_key)
    return Call("POST", path_of("carts", cart_id, "merge"), body=body, headers=headers)


def set_quantity(
    cart_id: str, item_id: str, quantity: int, *, if_match: str | None = None
) -> Call[answers.CartAnswer]:
    """Set the quantity of an item in the cart."""
    path = path_of("carts", cart_id, "items", item_id)
    return Call("PUT", path, body={"quantity": quantity}, headers=headers_of(if_match))


def remove_item(cart_id: str, item_id: str, *, if_match: str | None = None) -> Call[answers.CartAnswer]:
    """Remove an item from the cart, whatever its quantity."""
    return Call("DELETE", path_of("carts", cart_id, "items", item_id), headers=headers_of(if_match))


def get_cart(cart_id: str) -> Call[answers.CartAnswer]:
    """Read a cart."""
    return Call("GET", path_of("carts", cart_id))


def delete_cart(cart_id: str, *, if_match: str | None = None) -> Call[None]:
    """Delete a cart."""
    return Call("DELETE", path_of("carts", cart_id), headers=headers_of(if_match), answer="nothing")


def check_out(
    cart_id: str,
    *,
    shopper_id: str | None = None,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[answers.CartAnswer]:
    """Check the cart out: close it and append it to the purchase log, exactly once."""
    headers, body = headers_of(if_match, idempotency_key), past_of(shopper_id, None) or None
    return Call("POST", path_of("carts", cart_id, "checkout"), body=body, headers=headers)
