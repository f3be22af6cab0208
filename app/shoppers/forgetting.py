"""Forgetting a shopper: the profile, the carts, and the purchases that are still in Redis.

The worker removes what was drained to files: it reads the entry `forget` of the purchase log.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from app.carts.store import ORDER, PURCHASE_LOG, SHOPPER_CARTS
from app.redis.client import RedisLink
from app.shoppers.store import forgotten_key, profile_key

NOTE = "tripod:forgetting"  # set while the worker has something to remove
_CART = "tripod:cart:"
_SCRIPT = Path(__file__).with_name("forget.lua").read_text()
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted."""

    profile: bool
    carts: int
    purchases: int


class Forgetting:
    """Deletes what Redis holds about shoppers."""

    def __init__(self, link: RedisLink, remembered: int) -> None:
        self._link = link
        self._remembered = remembered  # seconds in which earlier purchases may arrive and must not count
        self._script = link.client.register_script(_SCRIPT)

    async def forget(self, shopper: str, mark: str, *, has_files: bool) -> Forgotten:
        """Delete all that is kept under the hash of a shopper; may be repeated."""
        keys = [profile_key(shopper), SHOPPER_CARTS + shopper, forgotten_key(mark), PURCHASE_LOG, NOTE]
        with self._link.call(writes=True):
            profile, carts, last = await self._script(
                keys=keys, args=[shopper, _CART, self._remembered, int(has_files)]
            )
        purchases = await self._delete_purchases(shopper, last)
        await self._delete_orders(shopper, last)
        return Forgotten(bool(profile), carts, purchases)

    async def _delete_purchases(self, shopper: str, last: bytes) -> int:
        """Delete the shopper's entries before `last` from the log, and earlier entries that forget them."""
        deleted, first, name = 0, "-", shopper.encode()
        while True:
            with self._link.call(writes=True) as redis:
                entries: Any = await redis.xrange(PURCHASE_LOG, first, f"({last.decode()}", _AT_ONCE)
                bought = [entry for entry, fields in entries if fields.get(b"shopper") == name]
                noted = [entry for entry, fields in entries if fields.get(b"forget") == name]
                if bought or noted:
                    await redis.xdel(PURCHASE_LOG, *bought, *noted)
            deleted += len(bought)
            if len(entries) < _AT_ONCE:
                return deleted
            first = f"({entries[-1][0].decode()}"

    async def _delete_orders(self, shopper: str, last: bytes) -> None:
        """Delete the records of the shopper's orders up to `last`, wherever their entries are by now."""
        cursor, name = 0, shopper.encode()
        while True:
            with self._link.call(writes=True) as redis:
                cursor, keys = await redis.scan(cursor, f"{ORDER}*", _AT_ONCE)
                texts: Any = await redis.mget(keys) if keys else []
                found = [
                    key
                    for key, text in zip(keys, texts, strict=True)
                    if text and name in text and _order(from_json(text)["entry"]) <= _order(last.decode())
                ]
                if found:
                    await redis.delete(*found)
            if cursor == 0:
                return


def _order(entry: str) -> tuple[int, ...]:
    return tuple(map(int, entry.split("-")))
