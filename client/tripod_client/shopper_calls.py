"""The routes of purchases and shoppers, like those in `calls.py`. All need the admin key."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tripod_client import answers
from tripod_client.arguments import NewLine, NewPurchase
from tripod_client.request import NDJSON, Call, headers_of, lines_of, list_of, ndjson, path_of, time_of


def record_purchase(
    order_id: str,
    *items: str | NewLine,
    shopper_id: str | None = None,
    timestamp: str | float | datetime | None = None,
) -> Call[answers.PurchaseAnswer]:
    """Record a purchase made elsewhere; a repetition with the same content changes nothing."""
    purchase: NewPurchase = {
        "order_id": order_id,
        "items": items,
        "shopper_id": shopper_id,
        "timestamp": timestamp,
    }
    return Call("POST", "/purchases", body=_purchase(purchase))


def record_purchases(purchases: Iterable[NewPurchase]) -> Call[answers.ImportAnswer]:
    """Record many purchases in one request; `failed` of the answer lists those that were refused."""
    content = b"".join(ndjson(_purchase(purchase) for purchase in purchases))
    return Call("POST", "/purchases", content=content, headers=NDJSON)


def cancel_purchase(order_id: str) -> Call[None]:
    """Cancel a purchase, by its `order_id`, or by the `purchase_id` of a cart; may be repeated."""
    return Call("DELETE", path_of("purchases", order_id), answer="nothing")


def return_items(
    order_id: str, *items: str | NewLine, idempotency_key: str | None = None
) -> Call[answers.PurchaseAnswer]:
    """Take items of a purchase back; the answer is what is left. A key makes it safe to repeat."""
    path = path_of("purchases", order_id, "returns")
    return Call("POST", path, body={"items": lines_of(items)}, headers=headers_of(None, idempotency_key))


def get_shopper(shopper_id: str) -> Call[answers.ShopperAnswer]:
    """Read what is stored about a shopper."""
    return Call("GET", path_of("shoppers", shopper_id))


def buy_again(shopper_id: str, limit: int = 10) -> Call[answers.BuyAgainAnswer]:
    """List what a shopper buys again and again, most due first."""
    return Call("GET", path_of("shoppers", shopper_id, "buy-again"), {"limit": limit})


def forget_shopper(shopper_id: str) -> Call[answers.ForgottenAnswer]:
    """Delete all that is known about a shopper; may be repeated."""
    return Call("DELETE", path_of("shoppers", shopper_id))


def _purchase(purchase: NewPurchase) -> dict[str, Any]:
    """A purchase as JSON, without members that are None."""
    given: dict[str, Any] = {**purchase}
    if missing := [name for name in ("order_id", "items") if given.get(name) is None]:
        raise ValueError(f"a purchase needs {' and '.join(missing)}")
    if isinstance(given["items"], str):
        list_of("items", given["items"])  # raises
    given["items"] = lines_of(given["items"])
    given["timestamp"] = time_of("timestamp", given.get("timestamp"))
    return {name: value for name, value in given.items() if value is not None}
