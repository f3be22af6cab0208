"""Orders in Redis: one JSON value per purchase, changed only together with the purchase log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic_core import from_json

from app.carts.store import ORDER, PURCHASE_LOG, Line
from app.redis.client import RedisLink
from app.settings import Settings

_RECORD = Path(__file__).with_name("record.lua").read_text()
_CORRECT = Path(__file__).with_name("correct.lua").read_text()

Status = Literal["recorded", "partly_returned", "cancelled"]
Recorded = Literal["recorded", "repeated", "differs"]
Corrected = Literal["ok", "missing", "key_reused", "too_many"]


@dataclass(frozen=True, slots=True)
class Purchase:
    """A purchase to record."""

    order_id: str
    lines: tuple[Line, ...]  # each item once
    shopper: str | None  # the hash of the shopper's id
    timestamp: int | None  # milliseconds since 1970; None: now

    def fingerprint(self) -> str:
        """A digest of the content; an order that is sent again must come with the same one."""
        return _digest(sorted(self.lines), self.shopper, self.timestamp)

    def log_entry(self) -> dict[str, str | int]:
        """The fields of the entry in the purchase log."""
        fields = {
            "order_id": self.order_id,
            "lines": json.dumps(self.lines),
            "shopper": self.shopper,
            "timestamp": self.timestamp,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Order:
    """What is left of a purchase."""

    order_id: str
    entry: str  # of the purchase log
    lines: tuple[Line, ...]
    timestamp: int  # milliseconds since 1970
    status: Status
    has_shopper: bool

    @classmethod
    def parse(cls, order_id: str, text: bytes) -> Order:
        """Parse the value in Redis."""
        data: dict[str, Any] = from_json(text)
        return cls(
            order_id=order_id,
            entry=data["entry"],
            lines=tuple((item_id, quantity) for item_id, quantity in data["lines"]),  # Lua writes [] as {}
            timestamp=data["timestamp"],
            status=data["status"],
            has_shopper="shopper" in data,
        )


@dataclass(frozen=True, slots=True)
class Correction:
    """Lines to take back from a purchase, or its cancellation."""

    order_id: str
    returned: tuple[Line, ...] | None = None  # each item once; None: all of the purchase
    idempotency_key: str | None = None

    def idempotency_redis_key(self) -> str:
        """The Redis key of the Idempotency-Key, which is valid for one order."""
        return f"tripod:idempotency:return/{quote(self.order_id, safe='')}/{self.idempotency_key}"

    def request(self, idempotency_ttl: int) -> str:
        """The argument of the script."""
        request: dict[str, Any] = {"order_id": self.order_id}
        if self.returned is not None:
            request |= {"returned": self.returned, "fingerprint": _digest(sorted(self.returned))}
        return json.dumps(request | {"idempotency_ttl": idempotency_ttl})


class OrderStore:
    """Records purchases once, and corrects them until they expire."""

    def __init__(self, link: RedisLink, settings: Settings) -> None:
        self._link = link
        self._ttl = settings.order_ttl
        self._idempotency_ttl = settings.idempotency_ttl
        self._record = link.client.register_script(_RECORD)
        self._correct = link.client.register_script(_CORRECT)

    async def record(self, purchases: Sequence[Purchase]) -> list[tuple[Recorded, Order]]:
        """Append purchases to the log in one round trip, except those whose order is known."""
        if not purchases:
            return []
        with self._link.call(writes=True) as redis:
            pipeline = redis.pipeline(transaction=False)
            for purchase in purchases:
                await self._record(
                    keys=[ORDER + purchase.order_id, PURCHASE_LOG],
                    args=self._arguments(purchase),
                    client=pipeline,
                )
            answers = await pipeline.execute()
        return [
            (outcome.decode(), Order.parse(purchase.order_id, text))
            for purchase, (outcome, text) in zip(purchases, answers, strict=True)
        ]

    def _arguments(self, purchase: Purchase) -> list[str | int]:
        fingerprint = purchase.fingerprint()
        order: dict[str, Any] = {"lines": purchase.lines, "fingerprint": fingerprint, "status": "recorded"}
        if purchase.shopper is not None:
            order["shopper"] = purchase.shopper
        entry = [part for field in purchase.log_entry().items() for part in field]
        timestamp = "" if purchase.timestamp is None else purchase.timestamp
        return [fingerprint, json.dumps(order), timestamp, self._ttl, *entry]

    async def correct(self, correction: Correction) -> tuple[Corrected, Order | None]:
        """Append a correction to the log; returns the outcome and what is left of the order."""
        keys = [ORDER + correction.order_id, PURCHASE_LOG]
        if correction.idempotency_key is not None:
            keys.append(correction.idempotency_redis_key())
        with self._link.call(writes=True):
            outcome, text = await self._correct(keys=keys, args=[correction.request(self._idempotency_ttl)])
        return outcome.decode(), Order.parse(correction.order_id, text) if text else None


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
