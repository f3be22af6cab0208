"""The k best items for a cart: probabilities under filters and boosts, another order, and limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.limits import Flags, Limit
from ndpp.next_item import EXPERTS

# Gains in the precision of F are not exact: items this close below the last candidate are computed exactly.
_MARGIN = 0.99


class Shares(Protocol):
    """P(i | cart) of some items of a catalogue."""

    def expert_shares(self, rows: Indices) -> Matrix:
        """The share of each expert in P(i | cart) of some rows, from gains in float64, (4, n)."""


class Scored(Shares, Protocol):
    """P(i | cart) of all items of a catalogue."""

    @property
    def probabilities(self) -> Vector:
        """P(i | cart), (size,), not necessarily normalised."""

    @property
    def log_usual(self) -> Vector:
        """log P(i | empty cart), (size,)."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows from best to worst, the share of each expert in P(row | cart), and the displayed probability.

    The displayed probability is over the items that the filters leave, with boosts multiplying the odds.
    """

    rows: Indices
    shares: Matrix  # (4, n): they add up to P(row | cart)
    probabilities: Vector  # (n,)
    exact: bool = True  # false: another order cannot be ruled out
    error: float = 0.0  # the standard error of the probabilities, as a share of them


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
    # A row and its position from 1. The first ones go first: a later one gets the next position that is free.
    # Left out are those with factor 0, over a limit for pins, or beyond the end of the list.
    pins: Sequence[tuple[int, int]] = ()


NO_LIMITS = Limits()


def best_items(
    prediction: Scored, k: int, factors: Vector, order: Order, limits: Limits | None = None
) -> Ranked:
    """The k items with the highest P(i | cart) · factor, or the first k of `order`; never items with P = 0.

    Pinned items are at their positions. The others are taken in order as long as no limit is reached. P of
    the whole catalogue comes from gains in the precision of F, P of the candidates from float64.
    """
    weights = prediction.probabilities * factors
    marks = weights if order.prediction is None else order.prediction.probabilities * factors
    multipliers = _multipliers(prediction, order)
    if multipliers is not None:
        marks = marks * multipliers
    listed = Listed(np.arange(len(marks)), marks, factors, multipliers, float(weights.sum()))
    return choose(prediction, k, listed, order.prediction, limits or NO_LIMITS)


@dataclass(frozen=True, slots=True)
class Listed:
    """The rows among which a list is chosen, ascending, each with its place in the order."""

    rows: Indices
    marks: Vector  # what orders the rows, from gains in the precision of F
    factors: Vector
    multipliers: Vector | None  # what the order multiplies P · factor by
    total: float  # Σ P · factor over all items that may appear


def choose(
    prediction: Shares, k: int, listed: Listed, ordering: Shares | None, limits: Limits, *, spare: int = 0
) -> Ranked:
    """The first k of the listed rows, and `spare` more that would be next.

    `ordering` is the prediction that orders them, if it is another.
    """
    rows, factors, marks = listed.rows, listed.factors, np.array(listed.marks)
    pins = _pinned(k, listed, limits)
    pinned = np.array(sorted(pins.values()), dtype=np.intp)
    k += spare
    place_of_pins = np.searchsorted(rows, pinned)
    room = Room(limits.groups, list(pins.values()))
    found = [_Part.of(prediction, pinned, factors[place_of_pins])]
    marks[place_of_pins] = 0.0
    while len(room.taken) < k:
        first = _first(marks, k)
        if not len(first):
            break
        part = _Part.of(prediction, rows[first], factors[first])
        exact = part.finished
        if ordering is not None:
            exact = _Part.of(ordering, rows[first], factors[first]).finished
        if listed.multipliers is not None:
            exact = exact * listed.multipliers[first]
        best = np.lexsort((first, -exact))
        best = best[exact[best] > 0][:k]  # later ones may be behind rows that are not among these
        room.take(rows[first[best]].tolist(), k)
        found.append(part)
        marks[first[best] if len(best) else first] = 0.0
        marks[room.full(rows)] = 0.0
    chosen = np.array(_placed(room.taken[len(pins) :], pins), dtype=np.intp)
    known, parts = np.unique(np.concatenate([part.rows for part in found]), return_index=True)
    where = parts[np.searchsorted(known, chosen)]
    shares = np.concatenate([part.shares for part in found], axis=1)[:, where]
    finished = np.concatenate([part.finished for part in found])[where]
    total = listed.total
    probabilities = np.minimum(finished / total, 1.0) if total > 0 else np.zeros(len(chosen))
    return Ranked(chosen, shares, probabilities)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows whose probabilities are computed in float64."""

    rows: Indices
    shares: Matrix
    finished: Vector  # P · factor

    @classmethod
    def of(cls, prediction: Shares, rows: Indices, factors: Vector) -> _Part:
        shares = prediction.expert_shares(rows) if len(rows) else np.zeros((len(EXPERTS), 0))
        return cls(rows, shares, shares.sum(axis=0) * factors)


class Room:
    """A list that is filled as far as limits allow; the first rows are in it whatever the limits."""

    def __init__(self, limits: Sequence[Limit], first: Sequence[int]) -> None:
        self.taken = list(first)
        self._limits = limits
        self._counts = [Counter(limit.groups[self.taken].tolist()) for limit in limits]

    def fits(self, row: int) -> bool:
        """Whether no limit is reached for a row."""
        counted = zip(self._limits, self._counts, strict=True)
        return all(
            limit.groups[row] < 0 or count[int(limit.groups[row])] < limit.most for limit, count in counted
        )

    def take(self, rows: Iterable[int], most: int) -> None:
        """Take rows in order until there are `most`."""
        for row in rows:
            if len(self.taken) >= most:
                return
            if self.fits(row):
                self.taken.append(row)
                for limit, count in zip(self._limits, self._counts, strict=True):
                    count[int(limit.groups[row])] += 1

    def full(self, rows: Indices) -> Flags | slice:
        """Which of these rows no longer fit."""
        if not self._limits:
            return slice(0)
        full = np.zeros(len(rows), dtype=np.bool_)
        for count, limit in zip(self._counts, self._limits, strict=True):
            numbers = [number for number, held in count.items() if number >= 0 and held >= limit.most]
            full |= np.isin(limit.groups[rows], numbers)
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


def _pinned(k: int, listed: Listed, limits: Limits) -> dict[int, int]:
    """The pinned rows by their places from 0, of k."""
    found, room = dict[int, int](), Room([limit for limit in limits.groups if limit.for_pins], [])
    for row, position in limits.pins:
        place = next((place for place in range(position - 1, k) if place not in found), None)
        shown = listed.factors[np.searchsorted(listed.rows, row)] > 0 and row not in room.taken
        if place is not None and shown and room.fits(row):
            found[place] = row
            room.take([row], k)
    return found


def _placed(rows: list[int], pins: Mapping[int, int]) -> list[int]:
    """The rows with the pinned ones at their places, or at the end if there are too few before."""
    placed = list(rows)
    for place, row in sorted(pins.items()):
        placed.insert(place, row)
    return placed
