"""What cart routes take and give."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.carts.store import MAX_LINES, MAX_QUANTITY, Cart, Line
from app.fields import CartId, ItemId

Quantity = Annotated[
    int, Field(strict=True, ge=1, le=MAX_QUANTITY, description="How many of it.", examples=[1])
]


class CartLine(BaseModel):
    """An item and how many of it."""

    model_config = ConfigDict(extra="forbid")

    item_id: ItemId
    quantity: Quantity = 1


class CartLines(BaseModel):
    """Several items at once."""

    model_config = ConfigDict(extra="forbid")

    items: list[CartLine] = Field(min_length=1, max_length=MAX_LINES)


class LineQuantity(BaseModel):
    """The quantity to set."""

    model_config = ConfigDict(extra="forbid")

    quantity: Quantity


class CartAnswer(BaseModel):
    """A whole cart, its lines in the order in which they were added."""

    cart_id: CartId
    status: Literal["open", "checked_out"]
    items: list[CartLine]
    created_at: datetime
    updated_at: datetime
    purchase_id: str | None = Field(
        description="Where the purchase log has the basket, once the cart is checked out.", examples=[None]
    )

    @classmethod
    def of(cls, cart: Cart) -> CartAnswer:
        """The answer that shows a cart."""
        return cls(
            cart_id=cart.cart_id,
            status="open" if cart.purchase_id is None else "checked_out",
            items=[CartLine(item_id=item_id, quantity=quantity) for item_id, quantity in cart.lines],
            created_at=datetime.fromtimestamp(cart.created, UTC),
            updated_at=datetime.fromtimestamp(cart.updated, UTC),
            purchase_id=cart.purchase_id,
        )


def lines_of(body: CartLine | CartLines) -> tuple[Line, ...]:
    """The lines of either form of the body."""
    items = body.items if isinstance(body, CartLines) else [body]
    return tuple((line.item_id, line.quantity) for line in items)
