"""The k best items for a cart: probabilities under filters and boosts, another order, and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.limits import Flags, Limit
from ndpp.next_item import EXPERTS

# Gains in the precision of F are not exact: items this close below the last candidate are computed exactly.
_MARGIN = 0.99


class Scored(Protocol):
    """A prediction of all items of a catalogue."""

    @property
    def probabilities(self) -> Vector:
        """P(i | cart), (size,), not necessarily normalised."""

    @property
    def log_usual(self) -> Vector:
        """log P(i | empty cart), (size,)."""

    def expert_shares(self, rows: Indices) -> Matrix:
        """The share of each expert in P(i | cart) of some rows, from gains in float64, (4, n)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows from best to worst, the share of each expert in P(row | cart), and the displayed probability.

    The displayed probability is over the items that the filters leave, with boosts multiplying the odds.
    """

    rows: Indices
    shares: Matrix  # (4, n): they add up to P(row | cart)
    probabilities: Vector  # (n,)


@dataclass(frozen=True, slots=True)
class Order:
    """Rank by another prediction's probability, divided by P(i | empty cart)^γ, times factors."""

    prediction: Scored | None = None
    popularity: float = 0.0  # γ
    factors: Vector | None = None  # (size,)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a list must fulfil."""

    groups: Sequence[Limit] = ()
    pins: Sequence[tuple[int, int]] = ()  # a row and its position from 1


_NO_LIMITS = Limits()


def best_items(
    prediction: Scored, k: int, factors: Vector, order: Order, limits: Limits | None = None
) -> Ranked:
    """The k items with the highest P(i | cart) · factor, or the first k of `order`; never items with P = 0.

    Pinned items are at their positions, unless their factor is 0. The others are taken in order as long as no
    limit is reached. P of the whole catalogue comes from gains in the precision of F, P of the candidates
    from float64.
    """
    limits, ranking = limits or _NO_LIMITS, order.prediction or prediction
    weights = prediction.probabilities * factors
    total = float(weights.sum())
    marks = weights if ranking is prediction else ranking.probabilities * factors
    multipliers = _multipliers(prediction, order)
    if multipliers is not None:
        marks = marks * multipliers
    pins = [(row, position) for row, position in limits.pins if factors[row] > 0][:k]
    room = Room(limits.groups, [row for row, _ in pins])
    found = [_Part.of(prediction, np.array(sorted(room.taken), dtype=np.intp), factors)]
    marks = np.array(marks)
    marks[room.taken] = 0.0
    while len(room.taken) < k:
        rows = _first(marks, k)
        if not len(rows):
            break
        part = _Part.of(prediction, rows, factors)
        exact = part.finished if ranking is prediction else _Part.of(ranking, rows, factors).finished
        if multipliers is not None:
            exact = exact * multipliers[rows]
        best = np.lexsort((rows, -exact))
        best = best[exact[best] > 0][:k]  # later ones may be behind rows that are not among these
        room.take(rows[best].tolist(), k)
        found.append(part)
        marks[rows[best] if len(best) else rows] = 0.0
        marks[room.full()] = 0.0
    chosen = np.array(_placed(room.taken[len(pins) :], pins), dtype=np.intp)
    rows, places = np.unique(np.concatenate([part.rows for part in found]), return_index=True)
    shares = np.concatenate([part.shares for part in found], axis=1)[:, places[np.searchsorted(rows, chosen)]]
    finished = shares.sum(axis=0) * factors[chosen]
    probabilities = np.minimum(finished / total, 1.0) if total > 0 else np.zeros(len(chosen))
    return Ranked(chosen, shares, probabilities)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows whose probabilities are computed in float64."""

    rows: Indices
    shares: Matrix
    finished: Vector  # P · factor

    @classmethod
    def of(cls, prediction: Scored, rows: Indices, factors: Vector) -> _Part:
        shares = prediction.expert_shares(rows) if len(rows) else np.zeros((len(EXPERTS), 0))
        return cls(rows, shares, shares.sum(axis=0) * factors[rows])


class Room:
    """A list that is filled as far as limits allow; the first rows are in it whatever the limits."""

    def __init__(self, limits: Sequence[Limit], first: Sequence[int]) -> None:
        self.taken = list(first)
        self._limits = limits
        self._counts = [Counter(limit.groups[self.taken].tolist()) for limit in limits]

    def take(self, rows: Iterable[int], most: int) -> None:
        """Take rows in order until there are `most`."""
        for row in rows:
            if len(self.taken) >= most:
                return
            numbers = [int(limit.groups[row]) for limit in self._limits]
            each = zip(numbers, self._counts, self._limits, strict=True)
            if any(number >= 0 and count[number] >= limit.most for number, count, limit in each):
                continue
            self.taken.append(row)
            for number, count in zip(numbers, self._counts, strict=True):
                count[number] += 1

    def full(self) -> Flags | slice:
        """The rows that no longer fit."""
        if not self._limits:
            return slice(0)
        full = np.zeros(len(self._limits[0].groups), dtype=np.bool_)
        for count, limit in zip(self._counts, self._limits, strict=True):
            numbers = [number for number, held in count.items() if number >= 0 and held >= limit.most]
            full |= np.isin(limit.groups, numbers)
        return full


def _multipliers(prediction: Scored, order: Order) -> Vector | None:
    """What the order multiplies P · factor by, None if nothing."""
    if not order.popularity:
        return order.factors
    usual = np.exp(-order.popularity * (prediction.log_usual - prediction.log_usual.max()))
    usual = np.where(np.isfinite(usual), usual, 0.0)
    return usual if order.factors is None else usual * order.factors


def _first(marks: Vector, count: int) -> Indices:
    """The rows with the highest marks, at least `count` if there are as many above 0."""
    size = len(marks)
    lowest = np.partition(marks, size - count)[size - count] if count < size else 0.0
    return np.flatnonzero((marks >= _MARGIN * lowest) & (marks > 0))


def _placed(rows: list[int], pins: Sequence[tuple[int, int]]) -> list[int]:
    """The rows with the pinned ones at their positions; of two with the same one, the first gets it."""
    listed = list(rows)
    for row, position in sorted(pins, key=lambda pin: pin[1]):
        place = position - 1
        while place < len(listed) and listed[place] in {pin for pin, at in pins if at == position}:
            place += 1
        listed.insert(place, row)
    return listed
