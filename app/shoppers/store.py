"""Profiles in Redis: what a shopper bought, one JSON value under the hash of their id, see `profile.lua`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json

from app.catalogue.snapshot import Snapshot
from app.redis.client import RedisLink
from ndpp import History

MOST_BASKETS, MOST_LINES = 100, 2_000
SCRIPT = Path(__file__).with_name("profile.lua").read_text()
_PROFILE = "tripod:shopper:"
_FORGOTTEN = "tripod:forgotten:"
_DAY = 86_400.0


def profile_key(shopper: str) -> str:
    """The Redis key of the profile of a shopper's hash."""
    return _PROFILE + shopper


def forgotten_key(mark: str) -> str:
    """The Redis key that says until when a shopper is forgotten."""
    return _FORGOTTEN + mark


def basket_digest(basket_id: str) -> str:
    """What a profile keeps of a basket's id."""
    return blake2b(basket_id.encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class BoughtBasket:
    """A basket for a profile."""

    basket_id: str
    seconds: int  # when it was bought, since 1970
    item_ids: Sequence[str]
    milliseconds: int  # when it was bought or recorded, whichever was first; to compare with a forgetting


@dataclass(slots=True)
class ProfileChange:
    """The changes of one profile, to be made in one step."""

    put: dict[str, BoughtBasket] = field(default_factory=dict)  # by digest
    correct: dict[str, Sequence[str]] = field(default_factory=dict)  # item ids by digest; none: remove
    old: bool = False  # the baskets may be older than corrections that the profile has

    def add(self, basket: BoughtBasket) -> None:
        """Put a basket, or replace it."""
        digest = basket_digest(basket.basket_id)
        self.put[digest] = basket
        self.correct.pop(digest, None)

    def set_items(self, basket_id: str, item_ids: Sequence[str]) -> None:
        """Change the items of a basket if the profile has it; remove it if there are none."""
        self.correct[basket_digest(basket_id)] = item_ids

    def arguments(self, ttl: int) -> str:
        """The argument of the script."""
        put = [
            (digest, basket.seconds, basket.item_ids[:MOST_LINES], basket.milliseconds)
            for digest, basket in self.put.items()
        ]
        correct = [(digest, item_ids[:MOST_LINES]) for digest, item_ids in self.correct.items()]
        bounds = {"most_baskets": MOST_BASKETS, "most_lines": MOST_LINES}
        request = {"put": put, "correct": correct, "old": self.old, "ttl": ttl, **bounds}
        return json.dumps(request, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Profile:
    """What is stored about a shopper."""

    items: list[str]  # distinct ids
    baskets: list[tuple[str, int, list[int]]]  # digest, seconds since 1970, indexes into items; oldest first

    @classmethod
    def parse(cls, text: bytes | None) -> Profile | None:
        """Parse the value in Redis; None without baskets."""
        if not text:
            return None
        data: dict[str, Any] = from_json(text, cache_strings="none")
        return cls(data["items"], data["baskets"]) if data["baskets"] else None

    def purchases(self) -> Iterable[tuple[int, list[str]]]:
        """The time and the item ids of each basket, oldest first."""
        for _, seconds, indexes in self.baskets:
            yield seconds, [self.items[index] for index in indexes]

    def history(self, snapshot: Snapshot, now: float) -> History | None:
        """The history for the model; None if it knows none of the items."""
        found = snapshot.model.stored.items.rows_of_each(self.items)
        rows = np.fromiter(found, dtype=np.intp, count=len(self.items))
        order = np.argsort(rows)
        unknown = int(np.count_nonzero(rows < 0))  # they come first
        place = np.empty(len(rows), dtype=np.intp)
        place[order] = np.arange(-unknown, len(rows) - unknown)
        _, seconds, indexes = zip(*self.baskets, strict=True)
        sizes = list(map(len, indexes))
        places = place[np.fromiter(chain.from_iterable(indexes), dtype=np.intp, count=sum(sizes))]
        visits = np.repeat(np.arange(len(seconds)), sizes)
        ages = np.maximum((now - np.array(seconds)) / _DAY, 0.0)
        items = rows[order[unknown:]]
        if unknown:  # baskets may be left without an item
            known = places >= 0
            return History.of_purchases(items[places[known]], visits[known], ages)
        return History(items, places, visits, ages)


class ProfileStore:
    """Reads and changes profiles; every use renews a profile's time to live."""

    def __init__(self, link: RedisLink, ttl: int) -> None:
        self._link = link
        self.ttl = ttl
        self._script = link.client.register_script(SCRIPT)

    async def get(self, shopper: str) -> bytes | None:
        """The profile of a shopper's hash for `Profile.parse`, None without one."""
        text: bytes | None = await self._link.read(*self._reading(shopper))
        return text

    async def get_beside(
        self, command: tuple[str | int, ...], shopper: str
    ) -> tuple[bytes | None, bytes | None]:
        """The response to another command that reads, and the profile, in one round trip."""
        response, text = await self._link.read_each(command, self._reading(shopper))
        return response, text

    def _reading(self, shopper: str) -> tuple[str | int, ...]:
        return "GETEX", profile_key(shopper), "EX", self.ttl

    async def get_many(self, shoppers: Sequence[str]) -> dict[str, bytes | None]:
        """Several profiles in one round trip."""
        if not shoppers:
            return {}
        with self._link.call() as redis:
            pipeline = redis.pipeline(transaction=False)
            for shopper in shoppers:
                pipeline.getex(profile_key(shopper), ex=self.ttl)
            return dict(zip(shoppers, await pipeline.execute(), strict=True))

    async def peek(self, shopper: str) -> tuple[Profile | None, int]:
        """The profile and the seconds until it expires, which are not renewed."""
        with self._link.call() as redis:
            pipeline = redis.pipeline(transaction=True)
            pipeline.get(profile_key(shopper))
            pipeline.ttl(profile_key(shopper))
            text, seconds = await pipeline.execute()
        return Profile.parse(text), seconds

    async def change(self, shopper: str, mark: str, change: ProfileChange) -> None:
        """Change the profile of a shopper's hash; `mark` is that of a forgotten shopper."""
        with self._link.call(writes=True):
            await self._script(
                keys=[profile_key(shopper), forgotten_key(mark)], args=[change.arguments(self.ttl)]
            )

    async def delete(self, shopper: str) -> None:
        """Delete the profile."""
        with self._link.call(writes=True) as redis:
            await redis.delete(profile_key(shopper))
