"""Brings changes of records, rules and purchases of arrivals into the snapshot of this process."""

from __future__ import annotations

import asyncio

from app.catalogue.holder import SnapshotHolder
from app.catalogue.purchases import CHANGES as BOUGHT
from app.catalogue.purchases import PurchaseCounts
from app.catalogue.records import CHANGES as RECORDS
from app.catalogue.records import RecordStore
from app.redis.client import RedisLink
from app.rules.store import CHANGES as RULES
from app.rules.store import RuleStore

_MIXING_PAUSE = 0.1  # seconds between two steps of mixtures


class CatalogueFollower:
    """Follows the numbers of the latest changes. While Redis is unavailable, the last known state stays."""

    def __init__(self, link: RedisLink, snapshots: SnapshotHolder, poll_seconds: float) -> None:
        self._link = link
        self._snapshots = snapshots
        self._poll_seconds = poll_seconds
        self.records = RecordStore(link)
        self.rules = RuleStore(link)
        self.purchases = PurchaseCounts(link)
        self.loading = False  # whether Redis has answered, and changes are being applied
        self._seen: dict[str, int] = {}  # the numbers of the latest changes that are applied
        self._refreshing = asyncio.Lock()  # or the older of two responses could be applied last

    async def pause(self) -> None:
        """Wait until the next poll."""
        await asyncio.sleep(_MIXING_PAUSE if self._snapshots.mixtures_wait else self._poll_seconds)

    async def poll(self) -> None:
        """Apply the changes of other processes, and compute some of the mixtures that wait."""
        latest = await self._latest()
        self.loading = True
        try:
            if latest != self._seen:
                await self.refresh()
        finally:
            self.loading = False
        if self._snapshots.mixtures_wait:
            await asyncio.to_thread(self._snapshots.mix)

    async def refresh(self) -> None:
        """Apply all changes. A few new or changed arrivals have their mixtures in the end."""
        async with self._refreshing:
            latest = await self._latest()
            if latest[RECORDS] != self._seen.get(RECORDS):
                changes = await self.records.since(self._seen.get(RECORDS))
                await asyncio.to_thread(self._snapshots.use_changes, changes)
                self._seen[RECORDS] = changes.number
            if latest[RULES] != self._seen.get(RULES):
                await asyncio.to_thread(self._snapshots.use_rules, await self.rules.all(), latest[RULES])
                self._seen[RULES] = latest[RULES]
            if latest[BOUGHT] != self._seen.get(BOUGHT):
                counts = await self.purchases.read()
                await asyncio.to_thread(self._snapshots.use_purchases, counts, latest[BOUGHT])
                self._seen[BOUGHT] = latest[BOUGHT]
        if self._snapshots.few_mixtures_wait:
            await asyncio.to_thread(self._snapshots.mix)

    async def _latest(self) -> dict[str, int]:
        names = RECORDS, RULES, BOUGHT
        numbers = await self._link.read("MGET", *names)
        return {name: int(number or 0) for name, number in zip(names, numbers, strict=True)}
