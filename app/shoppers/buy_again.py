"""Items that a shopper buys again and again, and when each is due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from app.catalogue.snapshot import Snapshot
from app.shoppers.store import Profile

_DAY = 86_400.0
_GIVEN_UP = 3.0  # an item this many usual intervals after its last purchase is probably not bought any more
_LEAST_INTERVAL = 60.0  # seconds; two purchases within a moment say nothing about the next


@dataclass(frozen=True, slots=True)
class Due:
    """An item with its usual interval."""

    row: int
    times: int
    interval: float  # in seconds
    last: int  # seconds since 1970

    @property
    def at(self) -> float:
        """When it is due, in seconds since 1970."""
        return self.last + self.interval

    def lateness(self, now: float) -> float:
        """The time since the last purchase as a multiple of the usual interval."""
        return (now - self.last) / max(self.interval, _LEAST_INTERVAL)

    def overdue_days(self, now: float) -> float:
        """Days since it was due, negative before that."""
        return (now - self.at) / _DAY


def due_items(profile: Profile, snapshot: Snapshot, now: float, limit: int) -> list[Due]:
    """The items in stock that were bought at least twice, most due first; those given up come last."""
    found = sorted(_repeated(profile, snapshot), key=lambda due: _order(due, now))
    return found[:limit]


def _repeated(profile: Profile, snapshot: Snapshot) -> Iterator[Due]:
    times: dict[int, list[int]] = {}  # of each item's purchases, in order
    for _, seconds, indexes in profile.baskets:
        for index in indexes:
            times.setdefault(index, []).append(seconds)
    for index, bought in times.items():
        row = snapshot.row_of(profile.items[index])
        if len(bought) < 2 or row is None or not snapshot.in_stock[row] or not snapshot.is_shown(row):
            continue
        gaps = [later - earlier for earlier, later in pairwise(bought)]
        yield Due(row, len(bought), float(median(gaps)), bought[-1])


def _order(due: Due, now: float) -> tuple[bool, float, int]:
    lateness = due.lateness(now)
    given_up = lateness > _GIVEN_UP
    return given_up, lateness if given_up else -lateness, due.row
