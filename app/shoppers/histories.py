"""Histories for the model: from a shopper's profile, or from the baskets of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time

from app.catalogue.snapshot import Snapshot
from app.shoppers.ids import ShopperHashes
from app.shoppers.store import Profile, ProfileStore
from ndpp import History


@dataclass(frozen=True, slots=True)
class Past:
    """What a shopper bought before, as far as the model knows the items."""

    history: History
    dated: bool  # false: the ages are assumed, because only the order of the baskets is known


class Histories:
    """Finds the histories of requests."""

    def __init__(self, profiles: ProfileStore, hashes: ShopperHashes) -> None:
        self._profiles = profiles
        self._hashes = hashes

    async def of(
        self, snapshot: Snapshot, shopper_id: str | None, baskets: Sequence[Sequence[str]] | None
    ) -> Past | None:
        """The history of a shopper, or that of baskets, oldest first; None if there is none."""
        if baskets is not None:
            return _of_baskets(snapshot, baskets)
        if shopper_id is None:
            return None
        return await self.of_hash(snapshot, await self._hashes.of(shopper_id))

    async def of_hash(self, snapshot: Snapshot, shopper: str) -> Past | None:
        """The history of the shopper with this hash; None without a profile."""
        return _of_profile(snapshot, await self._profiles.get(shopper))

    async def of_each(
        self,
        snapshot: Snapshot,
        known: Sequence[tuple[str | None, Sequence[Sequence[str]] | None]],
        owners: Sequence[str | None],
    ) -> list[Past | None]:
        """The histories of shopper ids or baskets, else of `owners` (hashes); profiles in one round trip."""
        shoppers = [
            owner if shopper_id is None else await self._hashes.of(shopper_id)
            for (shopper_id, _), owner in zip(known, owners, strict=True)
        ]
        baskets = [past for _, past in known]
        named = {shopper for shopper, past in zip(shoppers, baskets, strict=True) if shopper and past is None}
        profiles = await self._profiles.get_many(sorted(named))
        found = {shopper: _of_profile(snapshot, profile) for shopper, profile in profiles.items()}
        return [
            found.get(shopper or "") if past is None else _of_baskets(snapshot, past)
            for shopper, past in zip(shoppers, baskets, strict=True)
        ]


def _of_profile(snapshot: Snapshot, profile: Profile | None) -> Past | None:
    history = None if profile is None else profile.history(snapshot, time())
    return None if history is None else Past(history, dated=True)


def _of_baskets(snapshot: Snapshot, baskets: Sequence[Sequence[str]]) -> Past | None:
    own = snapshot.model.next_item.mixture.own
    gap_days = 7.0 if own is None else own.gap_days
    history = History.in_order([snapshot.rows_of(basket) for basket in baskets], gap_days)
    return None if history is None else Past(history, dated=False)
