"""The follower of the purchase log: brings each purchase, correction and forgetting into the profiles.

It also counts first purchases of items that the model does not know. A process reads the log only while it
holds the lease. The position is written after the profiles are changed, together with the counts, and a
change of a profile may be repeated, so a crash loses nothing and counts nothing twice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from app.carts.store import PURCHASE_LOG
from app.catalogue.holder import SnapshotHolder
from app.catalogue.purchases import PurchaseCounts
from app.http.errors import RedisUnavailable
from app.redis.client import RedisLink
from app.runtime.logs import get_logger
from app.shoppers.ids import ShopperHashes
from app.shoppers.store import BoughtBasket, ProfileChange, ProfileStore

ORIGIN = "tripod:origin"  # as in training.purchase_log, which the service cannot import
_LEASE = "tripod:shoppers:follower"
_POSITION = "tripod:shoppers:position"
_SCRIPT = Path(__file__).with_name("follow.lua").read_text()
_PAUSE_SECONDS = 0.3
_LEASE_MILLISECONDS = 3_000
_ENTRIES_AT_ONCE = 200

Entry = tuple[bytes, dict[bytes, bytes]]


class Follower:
    """Applies the purchase log to profiles; one process at a time does it."""

    def __init__(
        self,
        link: RedisLink,
        profiles: ProfileStore,
        hashes: ShopperHashes,
        snapshots: SnapshotHolder,
        counts: PurchaseCounts,
    ) -> None:
        self._link = link
        self._profiles = profiles
        self._hashes = hashes
        self._snapshots = snapshots
        self._counts = counts
        self._name = secrets.token_hex(8)
        self._script = link.client.register_script(_SCRIPT)

    async def poll(self) -> None:
        """Apply the entries that have not been applied yet, if no other process does it."""
        while True:
            position, entries = await self._unread()
            if not entries:
                break
            if any(b"shopper" in fields or b"forget" in fields for _, fields in entries):
                await self._apply(entries)
            await self._advance(position, entries)
            if len(entries) < _ENTRIES_AT_ONCE:
                break

    async def _advance(self, position: bytes, entries: Sequence[Entry]) -> None:
        """Move the position, and count the purchases that a client with the admin key recorded."""
        recorded = [fields for _, fields in entries if b"order_id" in fields and b"corrects" not in fields]
        knows = bool(recorded) and self._snapshots.model is not None
        arrivals = self._snapshots.current().listed_arrivals if knows else []
        bought = Counter(item_id for fields in recorded for item_id in set(_item_ids(fields)))
        between = position, entries[-1][0]
        await self._counts.advance(_POSITION, between, len(recorded), arrivals, bought)

    async def pause(self) -> None:
        """Wait before the next poll."""
        await asyncio.sleep(_PAUSE_SECONDS)

    async def release(self) -> None:
        """Give the lease to another process at once."""
        with suppress(RedisUnavailable):
            await self._call_script(lease=0)

    async def _unread(self) -> tuple[bytes, list[Entry]]:
        """The position, and the entries after it."""
        position, found = await self._call_script(lease=_LEASE_MILLISECONDS) or (b"", [])
        entries = [(entry, dict(zip(fields[::2], fields[1::2], strict=True))) for entry, fields in found]
        return position, entries

    async def _call_script(self, lease: int) -> Any:
        with self._link.call():  # a server without memory still renews leases
            return await self._script(
                keys=[_LEASE, _POSITION, PURCHASE_LOG], args=[self._name, lease, _ENTRIES_AT_ONCE]
            )

    async def _apply(self, entries: Sequence[Entry]) -> None:
        """Change the profiles; entries of one shopper are applied together, a forgetting in its place."""
        origin, changes = await self._origin(), dict[str, ProfileChange]()
        for entry, fields in entries:
            if b"forget" in fields:
                shopper = fields[b"forget"].decode()
                changes.pop(shopper, None)
                await self._profiles.delete(shopper)
            elif b"shopper" in fields:
                change = changes.setdefault(fields[b"shopper"].decode(), ProfileChange())
                try:
                    _note(change, entry.decode(), fields, origin)
                except (ValueError, TypeError, KeyError):  # the drain of the log reports such entries too
                    get_logger().warning("unreadable entry of the purchase log", entry=entry.decode())
        ids = await self._hashes.ids()
        for shopper, change in changes.items():
            await self._profiles.change(shopper, ids.mark(shopper), change)

    async def _origin(self) -> str:
        """The name of this Redis server in the ids of baskets."""
        with self._link.call(writes=True) as redis:
            await redis.set(ORIGIN, secrets.token_hex(6), nx=True)
            kept: Any = await redis.get(ORIGIN)
        return str(kept.decode())


def _item_ids(fields: dict[bytes, bytes]) -> list[str]:
    try:
        return [str(item_id) for item_id, quantity in from_json(fields[b"lines"]) if quantity > 0]
    except (ValueError, TypeError, KeyError):  # the drain of the log reports such entries
        return []


def _note(change: ProfileChange, entry: str, fields: dict[bytes, bytes], origin: str) -> None:
    """Add an entry of the log to the changes of its shopper's profile."""
    recorded = int(entry.split("-", 1)[0])
    item_ids = [str(item_id) for item_id, quantity in from_json(fields[b"lines"]) if quantity > 0]
    order_id = fields[b"order_id"].decode() if b"order_id" in fields else None
    corrected = fields[b"corrects"].decode() if b"corrects" in fields else None
    basket_id = order_id or f"purchase:{origin}:{corrected or entry}"
    if corrected is not None:
        change.set_items(basket_id, item_ids)
    elif item_ids:
        milliseconds = int(fields.get(b"timestamp", recorded))
        earlier = min(milliseconds, recorded)
        change.add(BoughtBasket(basket_id, milliseconds // 1000, item_ids, earlier))
