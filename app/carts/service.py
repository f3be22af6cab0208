"""Changes of carts, and the error of each refused change."""

from __future__ import annotations

import secrets
from dataclasses import replace

from app.carts.store import (
    MAX_LINES,
    MAX_QUANTITY,
    Cart,
    CartStore,
    Change,
    Conditions,
    Line,
    Outcome,
    missing_cart,
)
from app.http.errors import (
    CartChanged,
    CartCheckedOut,
    CartEmpty,
    CartExists,
    CartFull,
    CartNotFound,
    IdempotencyKeyReused,
    Invalid,
    ItemNotInCart,
    Problem,
)
from app.shoppers.ids import ShopperHashes


class Carts:
    """Changes carts."""

    def __init__(self, store: CartStore, hashes: ShopperHashes) -> None:
        self._store = store
        self._hashes = hashes

    async def get(self, cart_id: str) -> Cart:
        """The cart, or CartNotFound."""
        return await self._store.get(cart_id)

    async def create(self, client: str, key: str | None, shopper_id: str | None = None) -> Cart:
        """Create an empty cart. An Idempotency-Key counts for the client's address."""
        cart_id = secrets.token_urlsafe(16).replace("-", "_")
        change = Change("create", cart_id, idempotency_key=key, client=client)
        return await self._change(change, shopper_id)

    async def add(
        self,
        cart_id: str,
        lines: tuple[Line, ...],
        conditions: Conditions,
        key: str | None,
        shopper_id: str | None = None,
    ) -> Cart:
        """Add to the quantities; the cart is created if it is new."""
        return await self._change(Change("add", cart_id, lines, conditions, key), shopper_id)

    async def merge(
        self,
        cart_id: str,
        from_cart_id: str,
        conditions: Conditions,
        key: str | None,
        shopper_id: str | None = None,
    ) -> Cart:
        """Add the lines of another cart and delete that cart; the cart is created if it is new."""
        if from_cart_id == cart_id:
            raise Invalid(("body.from_cart_id", "a cart cannot be merged with itself: name another cart"))
        change = Change("merge", cart_id, (), conditions, key, from_cart_id=from_cart_id)
        return await self._change(change, shopper_id)

    async def set_quantity(self, cart_id: str, line: Line, conditions: Conditions) -> Cart:
        """Set the quantity of one item; the cart is created if it is new."""
        return await self._change(Change("set", cart_id, (line,), conditions))

    async def remove(self, cart_id: str, item_id: str, conditions: Conditions) -> Cart:
        """Remove one item."""
        return await self._change(Change("remove", cart_id, ((item_id, 0),), conditions))

    async def delete(self, cart_id: str, conditions: Conditions) -> None:
        """Delete the cart."""
        await self._change(Change("delete", cart_id, (), conditions))

    async def check_out(
        self, cart_id: str, conditions: Conditions, key: str | None, shopper_id: str | None = None
    ) -> Cart:
        """Close the cart and append its basket to the purchase log, once."""
        return await self._change(Change("checkout", cart_id, (), conditions, key), shopper_id)

    async def _change(self, change: Change, shopper_id: str | None = None) -> Cart:
        if shopper_id is not None:
            change = replace(change, shopper=await self._hashes.of(shopper_id))
        outcome, cart = await self._store.apply(change)
        if outcome == "ok" and cart is not None:
            return cart
        raise _refusal(outcome, change, cart)


def _refusal(outcome: Outcome, change: Change, cart: Cart | None) -> Problem:
    cart_id, purchase_id = change.cart_id, cart.purchase_id if cart else None
    item_id = change.lines[0][0] if change.lines else ""
    refusals: dict[Outcome, tuple[type[Problem], str]] = {
        "changed": (CartChanged, f"Cart {cart_id!r} has changed and does not match If-Match: read it again."),
        "excluded": (CartExists, f"Cart {cart_id!r} exists and matches If-None-Match."),
        "empty": (CartEmpty, f"Cart {cart_id!r} is empty: add items before the checkout."),
        "full": (CartFull, f"Cart {cart_id!r} would hold more than {MAX_LINES} lines: remove some first."),
        "too_many": (
            CartFull,
            f"Cart {cart_id!r} would hold more than {MAX_QUANTITY} of one item: add fewer.",
        ),
        "no_line": (ItemNotInCart, f"Cart {cart_id!r} does not hold item {item_id!r}."),
        "gone": (
            CartNotFound,
            "This Idempotency-Key was used before, and the cart it was used for was deleted or has expired: "
            "use a new key.",
        ),
    }
    if outcome == "other_missing":
        return missing_cart(str(change.from_cart_id))
    if outcome in ("checked_out", "other_checked_out"):
        closed = cart.cart_id if cart else cart_id
        detail = f"Cart {closed!r} was checked out as purchase {purchase_id}: use another cart."
        return CartCheckedOut(detail, purchase_id=purchase_id)
    if outcome == "key_reused":
        return IdempotencyKeyReused(
            ("header.Idempotency-Key", "it was used with another request: use a new key")
        )
    if outcome == "missing":
        return missing_cart(cart_id)
    kind, detail = refusals[outcome]
    return kind(detail)
