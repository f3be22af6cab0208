"""Shoppers: what is stored, what is due, and forgetting."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from time import time

from app.catalogue.holder import SnapshotHolder
from app.catalogue.snapshot import Snapshot
from app.http.errors import ShopperNotFound, Unavailable
from app.shoppers.buy_again import due_items
from app.shoppers.forgetting import Forgetting
from app.shoppers.ids import ShopperHashes
from app.shoppers.schemas import (
    BuyAgainAnswer,
    DueItem,
    ForgottenAnswer,
    ShopperAnswer,
    StoredBasket,
    StoredItem,
)
from app.shoppers.store import Profile, ProfileStore
from model_store import ModelStore, ModelStoreError


class Shoppers:
    """Reads and forgets shoppers. Errors never name them."""

    def __init__(
        self,
        profiles: ProfileStore,
        hashes: ShopperHashes,
        snapshots: SnapshotHolder,
        forgetting: Forgetting,
        models: ModelStore,
    ) -> None:
        self._profiles = profiles
        self._hashes = hashes
        self._snapshots = snapshots
        self._forgetting = forgetting
        self._models = models

    async def get(self, shopper_id: str) -> ShopperAnswer:
        """All that is stored, or ShopperNotFound; it does not count as use."""
        profile, seconds = await self._profiles.peek(await self._hashes.of(shopper_id))
        if profile is None:
            raise _not_found()
        model = self._snapshots.model
        return _answer(profile, self._snapshots.current() if model else None, seconds)

    async def buy_again(self, shopper_id: str, limit: int) -> BuyAgainAnswer:
        """The items that are due, or ShopperNotFound."""
        snapshot = self._snapshots.current()
        profile = Profile.parse(await self._profiles.get(await self._hashes.of(shopper_id)))
        if profile is None:
            raise _not_found()
        now = time()
        items = [
            DueItem(
                item_id=snapshot.item_id(due.row),
                name=snapshot.name(due.row),
                category=snapshot.category(due.row),
                price=snapshot.price(due.row),
                times=due.times,
                usual_interval_days=round(due.interval / 86_400, 3),
                last_bought_at=_moment(due.last),
                due_at=_moment(due.at),
                overdue_days=round(due.overdue_days(now), 3),
            )
            for due in due_items(profile, snapshot, now, limit)
        ]
        return BuyAgainAnswer(model_version=snapshot.model.version, items=items)

    async def forget(self, shopper_id: str, *, has_files: bool) -> ForgottenAnswer:
        """Delete the shopper's data, and note that training must skip it; may be repeated."""
        ids = await self._hashes.ids()
        hashed = ids.hashed(shopper_id)
        mark = ids.mark(hashed)
        try:
            await asyncio.to_thread(self._models.forget_shopper, mark)
        except ModelStoreError as error:
            raise Unavailable(f"The model store cannot note it, nothing was deleted: {error}.") from error
        deleted = await self._forgetting.forget(hashed, mark, has_files=has_files)
        return ForgottenAnswer(
            profile=deleted.profile,
            carts=deleted.carts,
            purchases=deleted.purchases,
            files="pending" if has_files else "none",
        )


def _answer(profile: Profile, snapshot: Snapshot | None, seconds: int) -> ShopperAnswer:
    baskets = list(profile.purchases())
    times = Counter(item_id for _, item_ids in baskets for item_id in item_ids)
    last = {item_id: bought for bought, item_ids in baskets for item_id in item_ids}  # oldest first
    return ShopperAnswer(
        baskets=[StoredBasket(bought_at=_moment(bought), items=item_ids) for bought, item_ids in baskets],
        items=[
            StoredItem(
                item_id=item_id,
                name=_name(snapshot, item_id),
                times=count,
                last_bought_at=_moment(last[item_id]),
            )
            for item_id, count in times.most_common()
        ],
        first_bought_at=_moment(baskets[0][0]),
        last_bought_at=_moment(baskets[-1][0]),
        expires_at=datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds),
    )


def _name(snapshot: Snapshot | None, item_id: str) -> str | None:
    row = None if snapshot is None else snapshot.row_of(item_id)
    return None if snapshot is None or row is None else snapshot.name(row)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds), UTC)


def _not_found() -> ShopperNotFound:
    return ShopperNotFound("There is no profile: this shopper bought nothing, was forgotten, or has expired.")
