"""Request and response schemas of carts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WrapValidator

from app.carts.store import MAX_LINES, MAX_QUANTITY, Cart, Line
from app.http.inputs import CartId, ItemId, KnownCartId, KnownItemId, ShopperId, Strict

Quantity = Annotated[
    int, Field(strict=True, ge=1, le=MAX_QUANTITY, description="The quantity.", examples=[1])
]


class NewLine(Strict):
    """An item and its quantity."""

    item_id: ItemId
    quantity: Quantity = 1


class CartShopper(Strict):
    """Who shops."""

    shopper_id: ShopperId | None = None


class OneLine(NewLine, CartShopper):
    """One item."""


class CartLines(CartShopper):
    """Several items at once."""

    items: list[NewLine] = Field(min_length=1, max_length=MAX_LINES)


class CartMerge(CartShopper):
    """The cart to join."""

    from_cart_id: CartId


def _one_or_several(body: Any, _: object) -> OneLine | CartLines:
    """Choose the form by its members: a union would report errors of both forms."""
    if not isinstance(body, dict):
        raise ValueError("it must be an object")
    if "items" in body:
        return CartLines.model_validate(body)
    if "item_id" not in body:
        raise ValueError("it must have `item_id` (and `quantity`), or `items`, a list of such objects")
    return OneLine.model_validate(body)


NewLines = Annotated[OneLine | CartLines, WrapValidator(_one_or_several)]


class LineQuantity(Strict):
    """The quantity to set."""

    quantity: Quantity


class CartLine(BaseModel):
    """An item and its quantity."""

    item_id: KnownItemId
    quantity: int = Field(description="The quantity.", examples=[1])


class CartAnswer(BaseModel):
    """A cart; its lines are in the order in which they were added."""

    cart_id: KnownCartId
    etag: str = Field(
        description="Identifies this state of the cart. `If-Match` takes it in quotes, like the ETag header.",
        examples=["1763259000.123456-3"],
    )
    status: Literal["open", "checked_out"]
    items: list[CartLine]
    created_at: datetime
    updated_at: datetime
    purchase_id: str | None = Field(
        description="The entry in the purchase log; null before the checkout.", examples=[None]
    )
    has_shopper: bool = Field(description="Whether a `shopper_id` was given for the cart.", examples=[False])

    @classmethod
    def of(cls, cart: Cart) -> CartAnswer:
        """The response for a cart."""
        return cls(
            cart_id=cart.cart_id,
            etag=cart.etag,
            status="open" if cart.purchase_id is None else "checked_out",
            items=[CartLine(item_id=item_id, quantity=quantity) for item_id, quantity in cart.lines],
            created_at=datetime.fromtimestamp(cart.created, UTC),
            updated_at=datetime.fromtimestamp(cart.updated, UTC),
            purchase_id=cart.purchase_id,
            has_shopper=cart.shopper is not None,
        )


def lines_of(body: OneLine | CartLines) -> tuple[Line, ...]:
    """The lines of either form of the body."""
    items = body.items if isinstance(body, CartLines) else [body]
    return tuple((line.item_id, line.quantity) for line in items)
