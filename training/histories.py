"""The earlier purchases of shoppers at the time of each basket."""

from __future__ import annotations

import numpy as np

from ndpp import History
from training.baskets import NOBODY, Baskets

MOST_BASKETS = 100  # the newest ones of a history; the service keeps as many
_DAY = np.timedelta64(1, "D")


class Histories:
    """Finds what a shopper had bought before a moment, among known baskets with shoppers and timestamps."""

    def __init__(self, known: Baskets) -> None:
        self._known = known
        self._of_shopper: dict[int, list[int]] = {}
        if has_histories(known):
            assert known.shoppers is not None
            assert known.timestamps is not None
            for number in np.argsort(known.timestamps, kind="stable").tolist():
                if (shopper := int(known.shoppers[number])) != NOBODY:
                    self._of_shopper.setdefault(shopper, []).append(number)

    def before_each(self, baskets: Baskets) -> list[History | None]:
        """For each basket the shopper's history at that time; None without one."""
        if baskets.shoppers is None or baskets.timestamps is None:
            return [None] * len(baskets)
        moments = zip(baskets.shoppers.tolist(), baskets.timestamps, strict=True)
        return [self.before(shopper, time) for shopper, time in moments]

    def before(self, shopper: int, time: np.datetime64) -> History | None:
        """What the shopper bought before `time`; None if that is nothing."""
        listed, times = self._of_shopper.get(shopper, []), self._known.timestamps
        if not listed or times is None:
            return None
        earlier = [number for number in listed if times[number] < time][-MOST_BASKETS:]
        ages = [float((time - times[number]) / _DAY) for number in earlier]
        return History.of([self._known[number] for number in earlier], ages)

    def usual_gap(self) -> float:
        """The median time in days between two baskets of a shopper; 7 if no shopper has two."""
        times = self._known.timestamps
        if times is None:
            return 7.0
        gaps = [np.diff(times[listed]) / _DAY for listed in self._of_shopper.values() if len(listed) > 1]
        return max(float(np.median(np.concatenate(gaps))), 1.0) if gaps else 7.0


def has_histories(baskets: Baskets) -> bool:
    """Whether the baskets say who bought them and when."""
    return baskets.shoppers is not None and baskets.timestamps is not None
