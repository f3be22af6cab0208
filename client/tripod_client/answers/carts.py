"""Answers about carts."""

from __future__ import annotations

from typing import Literal, TypedDict


class CartLine(TypedDict):
    """An item and its quantity."""

    item_id: str
    quantity: int


class CartAnswer(TypedDict):
    """A cart. `etag` identifies its current state; pass it as `if_match`."""

    cart_id: str
    etag: str
    status: Literal["open", "checked_out"]
    items: list[CartLine]
    created_at: str
    updated_at: str
    purchase_id: str | None
    has_shopper: bool


class ConsideredCart(TypedDict):
    """The cart that the answer was computed for."""

    cart_id: str | None
    items: list[str]
    unknown_items: list[str]
    ignored_items: list[str]
