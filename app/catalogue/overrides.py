"""Overrides: the shop's own stock, price and boost of items, kept in Redis as a hash and a log of changes.

Each change has a number, and its log entry has the number of the change before it. A process that has applied
one change reads the entries after it as long as they form a chain. Otherwise it reads all overrides: when the
log is too short, when Redis lost data, or after a change by release 0.1, which writes no log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.redis.client import RedisLink

_OVERRIDES = "tripod:items"
_CHANGES = "tripod:items:changes"  # the number of the latest change
_LOG = "tripod:items:log"
_LOG_LENGTH = 10_000
_SCRIPT = Path(__file__).with_name("override.lua").read_text()


@dataclass(frozen=True, slots=True)
class Override:
    """Values that replace those of the model; None keeps the model's."""

    in_stock: bool | None = None
    price: float | None = None
    boost: float | None = None

    @classmethod
    def parse(cls, text: bytes) -> Override:
        """Parse the JSON in Redis. Fields that a newer release may have added are ignored."""
        try:
            fields = json.loads(text or b"{}")
        except ValueError:
            fields = {}
        if not isinstance(fields, dict):
            fields = {}
        in_stock = fields.get("in_stock")
        return cls(
            in_stock if isinstance(in_stock, bool) else None,
            _number(fields.get("price")),
            _number(fields.get("boost")),
        )


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Changes:
    """The overrides that have changed, or all of them."""

    number: int  # of the latest change
    texts: dict[bytes, bytes]  # by item id; empty if the override was removed
    are_all: bool

    def overrides(self) -> dict[str, Override]:
        """The overrides by item id. Parsing many takes a while, so call it in a thread."""
        return {item_id.decode(): Override.parse(text) for item_id, text in self.texts.items()}


class OverrideStore:
    """Reads and changes overrides."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._script = link.client.register_script(_SCRIPT)

    async def patch(self, item_id: str, fields: dict[str, Any]) -> None:
        """Change fields of an item's override."""
        with self._link.call(writes=True):
            await self._script(
                keys=[_OVERRIDES, _CHANGES, _LOG], args=[item_id, json.dumps(fields), _LOG_LENGTH]
            )

    async def latest(self) -> int:
        """The number of the latest change, 0 before the first."""
        return int(await self._link.read("GET", _CHANGES) or 0)

    async def since(self, number: int | None) -> Changes:
        """The changes after a number; all overrides if it is None or the log does not reach back to it."""
        if number is not None:
            latest, entries = await self._latest_and("XRANGE", _LOG, f"{number}-1", "+")
            if _is_chain(number, latest, entries):
                texts = {fields[b"item"]: fields[b"override"] for _, fields in entries}
                return Changes(latest, texts, are_all=False)
        return Changes(*await self._latest_and("HGETALL", _OVERRIDES), are_all=True)

    async def _latest_and(self, *command: str) -> tuple[int, Any]:
        """The number of the latest change and the response to the command, read atomically."""
        with self._link.call() as redis:
            both = redis.pipeline(transaction=True)
            both.get(_CHANGES)
            both.execute_command(*command)
            latest, response = await both.execute()
        return int(latest or 0), response


def _is_chain(number: int, latest: int, entries: Iterable[tuple[bytes, dict[bytes, bytes]]]) -> bool:
    """Whether the log entries lead from one change to the other without a gap."""
    for entry_id, fields in entries:
        if int(fields[b"after"]) != number:
            return False
        number = int(entry_id.split(b"-")[0])
    return number == latest
