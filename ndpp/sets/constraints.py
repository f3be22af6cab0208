"""What a set must fulfil: allowed items, a total price, items it must hold, limits on groups of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.limits import Flags, Limit

_CENT = 1e-9  # tolerance of sums of prices


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints of a set, by rows of the catalogue."""

    factors: Vector  # (M,): multiply the worth of a set; 0 excludes an item
    include: Sequence[int] = ()  # rows that the set must hold
    limits: Sequence[Limit] = ()
    prices: Vector | None = None  # (M,), NaN where unknown
    most_price: float = np.inf
    log_factors: Vector = field(init=False)

    def __post_init__(self) -> None:
        allowed = self.factors > 0
        if self.prices is not None and np.isfinite(self.most_price):
            allowed &= self.prices <= self.most_price  # false for an unknown price
        for limit in self.limits:
            if limit.most <= 0:
                allowed &= ~limit.marked
        with np.errstate(divide="ignore"):
            object.__setattr__(self, "log_factors", np.log(np.where(allowed, self.factors, 0.0)))

    @cached_property
    def allowed(self) -> Flags:
        """Items that a set may hold besides those of `include`."""
        return np.isfinite(self.log_factors)

    def allows(self, rows: Sequence[int]) -> bool:
        """Whether the limits and the total price allow these rows in one set."""
        chosen = list(rows)
        if not all(limit.allows(chosen) for limit in self.limits):
            return False
        if self.prices is None or not np.isfinite(self.most_price):
            return True
        return bool(self.prices[chosen].sum() <= self.most_price + _CENT)

    def at(self, rows: Indices) -> CandidateConstraints:
        """The constraints on sets of these rows."""
        limited = np.isfinite(self.most_price) and self.prices is not None
        groups = [(group, limit.most) for limit in self.limits for group in limit.binding(rows)]
        return CandidateConstraints(
            include=[int(place) for place in np.searchsorted(rows, np.asarray(self.include, dtype=np.intp))],
            log_factors=self.log_factors[rows],
            groups=np.array([group for group, _ in groups], dtype=np.bool_).reshape(len(groups), len(rows)),
            most=np.array([most for _, most in groups], dtype=np.intp),
            prices=self.prices[rows] if limited and self.prices is not None else np.zeros(len(rows)),
            most_price=self.most_price if limited else np.inf,
        )


@dataclass(frozen=True, eq=False)
class CandidateConstraints:
    """The constraints by positions in a list of candidates."""

    include: list[int]
    log_factors: Vector  # (C,)
    groups: Flags  # (limits, C)
    most: Indices  # (limits,)
    prices: Vector  # (C,)
    most_price: float

    @cached_property
    def _cheapest(self) -> Vector:
        """The sum of the t cheapest prices, for t = 0, 1, …"""
        usable = self.prices[np.isfinite(self.log_factors) & np.isfinite(self.prices)]
        return np.concatenate([[0.0], np.cumsum(np.sort(usable))])

    @property
    def affordable(self) -> int:
        """How many items the total price allows, if the others are the cheapest."""
        left = self.most_price - self.prices[self.include].sum() + _CENT
        return len(self.include) + int(np.count_nonzero(self._cheapest[1:] <= left))

    def worth_of(self, chosen: Sequence[int]) -> float:
        """Σ log factor of the items that were not required."""
        return float(sum(self.log_factors[place] for place in chosen if place not in self.include))

    def one_more(self, chosen: Sequence[int], size: int) -> Vector:
        """log factor of each candidate, −∞ if it cannot be added to `chosen` in a set of `size` items."""
        logs = self.log_factors.copy()
        used, left = self._used(chosen), self._left(chosen, size - len(chosen) - 1)
        logs[((used[:, None] + self.groups) > self.most[:, None]).any(axis=0)] = -np.inf
        logs[~(self.prices <= left)] = -np.inf
        logs[list(chosen)] = -np.inf
        return logs

    def two_more(self, chosen: Sequence[int], size: int) -> Matrix:
        """The same for two different candidates, (C, C)."""
        one = self.one_more(chosen, size)
        logs: Matrix = one[:, None] + one
        used, left = self._used(chosen), self._left(chosen, size - len(chosen) - 2)
        for group, already, most in zip(self.groups, used, self.most, strict=True):
            logs[np.add.outer(group.astype(np.intp), group.astype(np.intp)) + already > most] = -np.inf
        if np.isfinite(self.most_price):
            logs[~(self.prices[:, None] + self.prices <= left)] = -np.inf
        np.fill_diagonal(logs, -np.inf)
        return logs

    def _used(self, chosen: Sequence[int]) -> Indices:
        used: Indices = self.groups[:, list(chosen)].sum(axis=1)
        return used

    def _left(self, chosen: Sequence[int], further: int) -> float:
        """What the next items may cost, if `further` items come after them."""
        if not np.isfinite(self.most_price):
            return np.inf
        reserve = self._cheapest[min(max(further, 0), len(self._cheapest) - 1)]
        return float(self.most_price - self.prices[list(chosen)].sum() - reserve + _CENT)
