"""The k best items for a cart: probabilities under filters and boosts, another order, and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.limits import Limit

# Gains in the precision of F are not exact: items this close below the last candidate are computed exactly.
_MARGIN = 0.99
_MORE = 4  # times as many candidates, if limits leave too few


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
    pins = [(row, position) for row, position in limits.pins if factors[row] > 0 and position <= k][:k]
    pinned, candidates = [row for row, _ in pins], k
    while True:
        rows = np.union1d(_first(marks, candidates), pinned).astype(np.intp)
        shares = prediction.expert_shares(rows)
        finished = shares.sum(axis=0) * factors[rows]
        exact = finished
        if ranking is not prediction:
            exact = ranking.expert_shares(rows).sum(axis=0) * factors[rows]
        if multipliers is not None:
            exact = exact * multipliers[rows]
        best = np.lexsort((rows, -exact))
        ordered = rows[best[exact[best] > 0]].tolist()
        taken = _within(ordered, limits.groups, k, pinned)
        if len(taken) == k or not limits.groups or len(rows) >= np.count_nonzero(marks):
            break
        candidates *= _MORE
    chosen = np.array(_placed(taken[len(pins) :], pins), dtype=np.intp)
    places = np.searchsorted(rows, chosen)
    probabilities = np.minimum(finished[places] / total, 1.0) if total > 0 else np.zeros(len(chosen))
    return Ranked(chosen, shares[:, places], probabilities)


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


def _within(rows: list[int], groups: Sequence[Limit], k: int, pinned: list[int]) -> list[int]:
    """The pinned rows, and the first others that the limits allow beside them: k in all."""
    first = set(pinned)
    others = [row for row in rows if row not in first] if pinned else rows
    if not groups:
        return [*pinned, *others[: k - len(pinned)]]
    taken, counts = list[int](), [dict[int, int]() for _ in groups]
    for row in (*pinned, *others):
        numbers = [int(limit.groups[row]) for limit in groups]
        limited = zip(numbers, counts, groups, strict=True)
        if row not in first and any(n >= 0 and count.get(n, 0) >= limit.most for n, count, limit in limited):
            continue
        taken.append(row)
        if len(taken) == k:
            break
        for number, count in zip(numbers, counts, strict=True):
            count[number] = count.get(number, 0) + 1
    return taken


def _placed(rows: list[int], pins: Sequence[tuple[int, int]]) -> list[int]:
    """The rows with the pinned ones at their positions; of two with the same one, the first gets it."""
    listed = list(rows)
    for row, position in sorted(pins, key=lambda pin: pin[1]):
        place = position - 1
        while place < len(listed) and listed[place] in {pin for pin, at in pins if at == position}:
            place += 1
        listed.insert(place, row)
    return listed
