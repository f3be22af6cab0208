"""Carts in Redis: one JSON value a cart, changed only by the script in `script.py`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pydantic_core import from_json

from app.carts.script import CHANGE_CART
from app.redis_link import RedisLink

PURCHASE_LOG = "tripod:purchases"  # a stream; each entry has the fields `cart_id` and `lines` (JSON pairs)
_CART = "tripod:cart:"
MAX_LINES = 500
MAX_QUANTITY = 1_000_000

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
]
Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Cart:
    """A cart as it was at one moment."""

    cart_id: str
    etag: str
    lines: tuple[Line, ...]  # in the order of insertion
    created: int  # seconds since 1970
    updated: int
    purchase_id: str | None  # the entry in the purchase log, once checked out

    @property
    def item_ids(self) -> list[str]:
        """The items without their quantities."""
        return [item_id for item_id, _ in self.lines]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Which states a cart must or must not be in to be changed: tags in their quotes, or `*` for any."""

    if_match: tuple[str, ...] | None = None
    if_none_match: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a cart, and the conditions under which it may happen."""

    kind: Literal["create", "add", "set", "remove", "delete", "checkout"]
    cart_id: str
    lines: tuple[Line, ...] = ()
    conditions: Conditions = Conditions()
    idempotency_key: str | None = None
    client: str = ""  # the address that asks: a cart to be created has no id yet that its client could name

    def memory_key(self) -> str | None:
        """Where an Idempotency-Key is remembered: each kind of change of each cart has keys of its own."""
        if self.idempotency_key is None:
            return None
        # Neither a cart's id nor an address has a slash, so no two of them run into each other.
        owner = self.client if self.kind == "create" else self.cart_id
        return f"tripod:idempotency:{self.kind}/{owner}/{self.idempotency_key}"

    def fingerprint(self) -> str:
        """What must be equal when an Idempotency-Key comes again."""
        return hashlib.sha256(json.dumps(self.lines).encode()).hexdigest()


class CartStore:
    """Reads and changes carts; every use of a cart renews its time to live."""

    def __init__(self, link: RedisLink, ttl: int, memory_ttl: int) -> None:
        self._link = link
        self._ttl = ttl
        self._memory_ttl = memory_ttl
        self._script = link.client.register_script(CHANGE_CART)

    async def get(self, cart_id: str) -> Cart | None:
        """The cart, None if there is none."""
        text = await self._link.read("GETEX", _cart_key(cart_id), "EX", self._ttl)
        return _parse(text) if text else None

    async def get_many(self, cart_ids: Sequence[str]) -> list[Cart | None]:
        """Several carts in one round trip."""
        with self._link.reaching() as redis:
            pipeline = redis.pipeline(transaction=False)
            for cart_id in cart_ids:
                pipeline.getex(_cart_key(cart_id), ex=self._ttl)
            texts = await pipeline.execute()
        return [_parse(text) if text else None for text in texts]

    async def apply(self, change: Change) -> tuple[Outcome, Cart | None]:
        """Make the change if its conditions hold; the cart afterwards (or as it is, if they do not)."""
        keys = [_cart_key(change.cart_id), PURCHASE_LOG]
        if (memory_key := change.memory_key()) is not None:
            keys.append(memory_key)
        fields = asdict(change)
        fields |= fields.pop("conditions")
        request = {name: value for name, value in fields.items() if value is not None}
        request |= {"ttl": self._ttl, "memory_ttl": self._memory_ttl, "fingerprint": change.fingerprint()}
        request |= {"max_lines": MAX_LINES, "max_quantity": MAX_QUANTITY, "cart_prefix": _CART}
        with self._link.reaching(writes=True):
            outcome, text = await self._script(keys=keys, args=[json.dumps(request)])
        return outcome.decode(), _parse(text) if text else None


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
    )
