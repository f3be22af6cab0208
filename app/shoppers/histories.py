"""Histories for the model: from a shopper's profile, or from the baskets of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time

from app.catalogue.served_model import ServedModel
from app.catalogue.snapshot import Snapshot
from app.runtime.caches import ByteCache
from app.shoppers.ids import ShopperHashes
from app.shoppers.store import Profile, ProfileStore
from ndpp import History

_CACHED_BYTES, _EVIDENCE_BYTES = 8 << 20, 20_000  # of a history, what the model makes of it
_CACHED_SECONDS = 60.0  # ages do not change much in a minute

Baskets = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Past:
    """What a shopper bought before, as far as the model knows the items."""

    history: History
    dated: bool  # false: the ages are assumed, because only the order of the baskets is known


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The history of a profile, for a shopper who asks again within a minute."""

    text: bytes
    model: ServedModel
    at: float
    past: Past | None

    def serves(self, text: bytes | None, model: ServedModel, now: float) -> bool:
        """Whether nothing has changed since."""
        return text == self.text and model is self.model and now - self.at < _CACHED_SECONDS


class Histories:
    """Finds the histories of requests."""

    def __init__(self, profiles: ProfileStore, hashes: ShopperHashes) -> None:
        self._profiles = profiles
        self._hashes = hashes
        self._parsed = ByteCache(_CACHED_BYTES)

    async def of(self, snapshot: Snapshot, shopper_id: str | None, baskets: Baskets | None) -> Past | None:
        """The history of a shopper, or that of baskets, oldest first; None if there is none."""
        if baskets is not None:
            return _of_baskets(snapshot, baskets)
        return None if shopper_id is None else await self.of_hash(snapshot, await self._hashes.of(shopper_id))

    async def of_hash(self, snapshot: Snapshot, shopper: str) -> Past | None:
        """The history of the shopper with this hash; None without a profile."""
        return self._of_profile(snapshot, shopper, await self._profiles.get(shopper))

    async def with_cart(
        self, snapshot: Snapshot, shopper_id: str, cart: tuple[str | int, ...]
    ) -> tuple[bytes | None, Past | None]:
        """The response to the command that reads a cart, and the shopper's history, in one round trip."""
        shopper = await self._hashes.of(shopper_id)
        response, text = await self._profiles.get_beside(cart, shopper)
        return response, self._of_profile(snapshot, shopper, text)

    async def of_each(
        self,
        snapshot: Snapshot,
        known: Sequence[tuple[str | None, Baskets | None]],
        owners: Sequence[str | None],
    ) -> list[Past | None]:
        """The histories of shopper ids or baskets, else of `owners` (hashes); profiles in one round trip."""
        shoppers = [
            owner if shopper_id is None else await self._hashes.of(shopper_id)
            for (shopper_id, _), owner in zip(known, owners, strict=True)
        ]
        baskets = [past for _, past in known]
        named = {shopper for shopper, past in zip(shoppers, baskets, strict=True) if shopper and past is None}
        texts = await self._profiles.get_many(sorted(named))
        found = {shopper: self._of_profile(snapshot, shopper, text) for shopper, text in texts.items()}
        return [
            found.get(shopper or "") if past is None else _of_baskets(snapshot, past)
            for shopper, past in zip(shoppers, baskets, strict=True)
        ]

    def _of_profile(self, snapshot: Snapshot, shopper: str, text: bytes | None) -> Past | None:
        now = time()
        cached: _Parsed | None = self._parsed.get(shopper)
        if cached is not None and cached.serves(text, snapshot.model, now):
            return cached.past
        profile = Profile.parse(text)
        if profile is None or text is None:
            self._parsed.drop(shopper)
            return None
        history = profile.history(snapshot, now)
        past = None if history is None else Past(history, dated=True)
        parsed = _Parsed(text, snapshot.model, now, past)
        self._parsed.put(shopper, parsed, 3 * len(text) + _EVIDENCE_BYTES)  # the text, and its numbers
        return past


def _of_baskets(snapshot: Snapshot, baskets: Baskets) -> Past | None:
    own = snapshot.model.next_item.mixture.own
    gap_days = 7.0 if own is None else own.gap_days
    history = History.in_order([snapshot.rows_of(basket) for basket in baskets], gap_days)
    return None if history is None else Past(history, dated=False)
