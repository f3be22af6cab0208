"""Answers about purchases and shoppers."""

from __future__ import annotations

from typing import Literal, TypedDict

from tripod_client.answers.carts import CartLine


class PurchaseAnswer(TypedDict):
    """What is left of a purchase."""

    order_id: str
    purchase_id: str
    status: Literal["recorded", "partly_returned", "cancelled"]
    items: list[CartLine]
    bought_at: str
    has_shopper: bool


class InvalidPart(TypedDict):
    """An invalid part of a request."""

    where: str
    message: str


class FailedLine(TypedDict):
    """A purchase that was not recorded; `line` is its number, from 1."""

    line: int
    errors: list[InvalidPart]


class ImportAnswer(TypedDict):
    """What became of many purchases; `failed` has the first 100 that were not recorded."""

    recorded: int
    repeated: int
    failed_count: int
    failed: list[FailedLine]


class StoredBasket(TypedDict):
    """A basket of a shopper."""

    bought_at: str
    items: list[str]


class StoredItem(TypedDict):
    """An item that a shopper bought."""

    item_id: str
    name: str | None
    times: int
    last_bought_at: str


class ShopperAnswer(TypedDict):
    """All that is stored about a shopper; baskets oldest first, items most often bought first."""

    baskets: list[StoredBasket]
    items: list[StoredItem]
    first_bought_at: str
    last_bought_at: str
    expires_at: str


class DueItem(TypedDict):
    """An item that a shopper buys again and again."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None
    times: int
    usual_interval_days: float
    last_bought_at: str
    due_at: str
    overdue_days: float


class BuyAgainAnswer(TypedDict):
    """Items that are due, most due first."""

    model_version: str
    items: list[DueItem]


class ForgottenAnswer(TypedDict):
    """What was deleted; with `files` pending, the worker will remove purchases from its files."""

    profile: bool
    carts: int
    purchases: int
    files: Literal["pending", "none"]
