"""Carts in Redis: one JSON value per cart, changed only by `change.lua`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic_core import from_json

from app.http.errors import CartNotFound
from app.redis.client import RedisLink
from app.settings import Settings

# A stream. A purchase has `lines` (JSON pairs of item and quantity), `shopper` (a hash) if known, and either
# `cart_id`, or `order_id` and `timestamp` (milliseconds). A correction has `corrects`, the id of a purchase,
# and its new `lines`. An entry with `forget` names the hash of a shopper.
PURCHASE_LOG = "tripod:purchases"
ORDER = "tripod:order:"  # of each purchase: what can still be cancelled or returned
SHOPPER_CARTS = "tripod:shopper-carts:"  # sets of cart ids
MAX_LINES = 500
MAX_QUANTITY = 1_000_000
_CART = "tripod:cart:"
_CHECK_CARTS = 50  # after each so many new carts of a shopper, expired ones are removed from the list
_SCRIPT = Path(__file__).with_name("change.lua").read_text()

Outcome = Literal[
    "ok",
    "missing",
    "changed",
    "excluded",
    "checked_out",
    "empty",
    "full",
    "too_many",
    "no_line",
    "key_reused",
    "gone",
    "other_missing",
    "other_checked_out",
]
Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Cart:
    """The state of a cart."""

    cart_id: str
    etag: str
    lines: tuple[Line, ...]  # in the order of insertion
    created: int  # seconds since 1970
    updated: int
    purchase_id: str | None  # the entry in the purchase log after checkout
    shopper: str | None = None  # the hash of the shopper's id

    @property
    def item_ids(self) -> list[str]:
        """The ids of the items."""
        return [item_id for item_id, _ in self.lines]


@dataclass(frozen=True, slots=True)
class Conditions:
    """If-Match and If-None-Match: ETags in their quotes, or `*`."""

    if_match: tuple[str, ...] | None = None
    if_none_match: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a cart and its conditions."""

    kind: Literal["create", "add", "set", "remove", "delete", "checkout", "merge"]
    cart_id: str
    lines: tuple[Line, ...] = ()
    conditions: Conditions = Conditions()
    idempotency_key: str | None = None
    client: str = ""  # the client's address, for creations: these have no cart id yet
    shopper: str | None = None  # the hash of the shopper's id
    from_cart_id: str | None = None  # of a merge

    def idempotency_redis_key(self) -> str | None:
        """The Redis key of the Idempotency-Key, which is valid for one kind of change of one cart."""
        if self.idempotency_key is None:
            return None
        # Neither a cart id nor an address contains a slash, so the parts cannot be confused.
        owner = self.client if self.kind == "create" else self.cart_id
        return f"tripod:idempotency:{self.kind}/{owner}/{self.idempotency_key}"

    def fingerprint(self) -> str:
        """A digest of the request; a repeated Idempotency-Key must come with the same one."""
        more = [part for part in (self.shopper, self.from_cart_id) if part]
        return hashlib.sha256(json.dumps([self.lines, *more] if more else self.lines).encode()).hexdigest()


class CartStore:
    """Reads and changes carts; every access renews a cart's time to live."""

    def __init__(self, link: RedisLink, settings: Settings) -> None:
        self._link = link
        self._ttl = settings.cart_ttl
        self._constants = {
            "ttl": settings.cart_ttl,
            "idempotency_ttl": settings.idempotency_ttl,
            "order_ttl": settings.order_ttl,
            "shopper_ttl": max(
                settings.cart_ttl, settings.shopper_ttl
            ),  # reading a cart renews the cart only
            "max_lines": MAX_LINES,
            "max_quantity": MAX_QUANTITY,
            "check_carts": _CHECK_CARTS,
            "cart_prefix": _CART,
            "order_prefix": ORDER,
            "shopper_carts_prefix": SHOPPER_CARTS,
        }
        self._script = link.client.register_script(_SCRIPT)

    async def get(self, cart_id: str) -> Cart:
        """The cart, or CartNotFound."""
        return found_cart(cart_id, await self._link.read(*self.reading(cart_id)))

    def reading(self, cart_id: str) -> tuple[str | int, ...]:
        """The command that reads a cart and renews it; `found_cart` parses the response."""
        return "GETEX", _cart_key(cart_id), "EX", self._ttl

    async def get_many(self, cart_ids: Sequence[str]) -> list[Cart]:
        """Several carts in one round trip, or CartNotFound for the first that does not exist."""
        if not cart_ids:
            return []
        with self._link.call() as redis:
            pipeline = redis.pipeline(transaction=False)
            for cart_id in cart_ids:
                pipeline.getex(_cart_key(cart_id), ex=self._ttl)
            texts = await pipeline.execute()
        return [found_cart(cart_id, text) for cart_id, text in zip(cart_ids, texts, strict=True)]

    async def apply(self, change: Change) -> tuple[Outcome, Cart | None]:
        """Make the change if its conditions hold; returns the outcome and the current cart."""
        keys = [_cart_key(change.cart_id), PURCHASE_LOG]
        if (idempotency_key := change.idempotency_redis_key()) is not None:
            keys.append(idempotency_key)
        fields = asdict(change)
        fields |= fields.pop("conditions")
        request = {name: value for name, value in fields.items() if value is not None}
        request |= {**self._constants, "fingerprint": change.fingerprint()}
        with self._link.call(writes=True):
            outcome, text = await self._script(keys=keys, args=[json.dumps(request)])
        return outcome.decode(), _parse(text) if text else None


def missing_cart(cart_id: str) -> CartNotFound:
    """The error for a cart that does not exist."""
    return CartNotFound(f"There is no cart {cart_id!r}: it was never created, was deleted, or has expired.")


def found_cart(cart_id: str, text: bytes | None) -> Cart:
    """The cart of a response, or CartNotFound."""
    if not text:
        raise missing_cart(cart_id)
    return _parse(text)


def _cart_key(cart_id: str) -> str:
    return _CART + cart_id


def _parse(text: bytes | str) -> Cart:
    data = from_json(text)
    return Cart(
        cart_id=data["cart_id"],
        etag=data["etag"],
        lines=tuple((item_id, quantity) for item_id, quantity in data["lines"]),  # Lua writes [] as {}
        created=data["created"],
        updated=data["updated"],
        purchase_id=data.get("purchase_id"),
        shopper=data.get("shopper"),
    )
