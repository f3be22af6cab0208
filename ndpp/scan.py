"""The bounded scan: find the best row exactly, without touching rows that cannot be it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Vector
from ndpp.tilt import Tilt

BoolVector = NDArray[np.bool_]

SLACK = 1 + 1e-9  # the bounds themselves are rounded
_GATHER_BELOW = 0.25  # pick single rows out of a block when fewer than this share of it can matter


@dataclass(frozen=True, eq=False)
class Scoring:
    """What is scanned: fast scores with a known error, exact ones for the finalists, and a bound on both."""

    kernel: Kernel
    scan: Callable[[FloatArray, slice | Indices], FloatArray]
    rounding: Callable[[slice | Indices, np.dtype[np.floating[Any]]], Vector]
    exact: Callable[[Indices], Vector]
    find_slope: Callable[[], tuple[float, float]]

    @cached_property
    def slope(self) -> tuple[float, float]:
        """score_i ≤ slope[0] · L_ii + slope[1] · ‖f_i‖²; found only when a scan is long enough to need it."""
        return self.find_slope()

    def bound(self, weights: Vector, squared_norms: Vector) -> Vector:
        """The upper bound on scores of items with these weights and norms."""
        return (self.slope[0] * weights + self.slope[1] * squared_norms) * SLACK


class Pool:
    """The rows that may still be the best, and a threshold that the best score reaches."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rows: list[Indices] = []
        self._upper: list[Vector] = []

    def offer(self, rows: Indices, scores: Vector, errors: Vector) -> None:
        """Rows with scores known up to `errors`; true scores are never negative."""
        upper = np.maximum(scores, 0.0) + errors
        hopeful = np.flatnonzero(upper >= self.threshold)
        if len(hopeful):
            self._rows.append(rows[hopeful])
            self._upper.append(upper[hopeful])
            self.threshold = max(self.threshold, float((scores[hopeful] - errors[hopeful]).max()))

    def finalists(self) -> Indices:
        """Every row that may be the best."""
        if not self._rows:
            return np.empty(0, dtype=np.intp)
        return np.concatenate(self._rows)[np.concatenate(self._upper) >= self.threshold]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Which rows may be answered: those with τ² > 0 that are not banned (the cart)."""

    kernel: Kernel
    tilt: Tilt
    banned: Indices

    def allows(self, rows: Indices) -> BoolVector:
        """Which of the rows may be answered."""
        return ~is_among(rows, self._banned) & (self.tilt.at(rows) > 0)

    @cached_property
    def _banned(self) -> Indices:
        return np.sort(self.banned)

    def first(self) -> Indices:
        """The rows to score before the scan: those the tilt lists, and the kernel's strongest."""
        strongest = self.kernel.strongest
        rows = np.union1d(self.tilt.rows, strongest) if len(self.tilt.rows) else strongest
        return rows[self.allows(rows)]

    @cached_property
    def apart(self) -> Indices:
        """The rows the scan passes over, ascending: banned, or scored before it."""
        return np.sort(np.concatenate([self.tilt.rows, self.kernel.strongest, self.banned]))

    def block_peaks(self, scoring: Scoring) -> Vector:
        """For each block the highest score its rows can have under the tilt's base; −∞ where it has none."""
        kernel, base = self.kernel, self.tilt.base
        if base is None:
            return scoring.bound(*kernel.block_peaks)
        bounds = base * scoring.bound(kernel.weights, kernel.squared_norms)
        bounds[base == 0] = -np.inf
        return np.maximum.reduceat(bounds, np.arange(0, kernel.size, BLOCK))


def best_row(scoring: Scoring, tilt: Tilt, banned: Indices, *, above: float) -> int | None:
    """The row with the highest τ_i² · score_i, `banned` rows left out; None if no score is above `above`.

    Rows the tilt lists and the strongest rows are scored directly; all others block by block, the highest
    bound first, until the bound falls under the best score. A catalogue of one block is scored whole. Of
    equally good rows the lowest (the most popular) is taken.
    """
    pool, candidates = Pool(above), Candidates(scoring.kernel, tilt, banned)
    if scoring.kernel.size <= BLOCK:
        _offer_everything(pool, scoring, candidates)
    else:
        _offer_by_bound(pool, scoring, candidates)
    rows = np.sort(pool.finalists())
    if not len(rows):
        return None
    scores = tilt.at(rows) * scoring.exact(rows)
    best = int(np.argmax(scores))
    return int(rows[best]) if scores[best] > above else None


def _offer_everything(pool: Pool, scoring: Scoring, candidates: Candidates) -> None:
    kernel, factors = scoring.kernel, candidates.tilt.dense(scoring.kernel.size)
    factors[candidates.banned] = 0.0
    rows = np.flatnonzero(factors)
    factors = factors[rows]
    scores: Vector = factors * scoring.scan(kernel.factors, slice(None))[rows]
    pool.offer(rows, scores, factors * scoring.rounding(rows, kernel.factors.dtype))


def _offer_by_bound(pool: Pool, scoring: Scoring, candidates: Candidates) -> None:
    first = candidates.first()
    for start in range(0, len(first), BLOCK):
        _offer_rows(pool, scoring, candidates.tilt, first[start : start + BLOCK])
    peaks = candidates.block_peaks(scoring)
    for number in np.argsort(-peaks, kind="stable"):
        if peaks[number] < pool.threshold:
            break
        _offer_block(pool, scoring, candidates, int(number) * BLOCK)


def _offer_block(pool: Pool, scoring: Scoring, candidates: Candidates, start: int) -> None:
    """Score the rows of a block whose bound reaches the threshold."""
    kernel, base = scoring.kernel, candidates.tilt.base
    block = slice(start, min(start + BLOCK, kernel.size))
    factor = 1.0 if base is None else base[block]
    bound = factor * scoring.bound(kernel.weights[block], kernel.squared_norms[block])
    hopeful = (bound >= pool.threshold) & (np.asarray(factor) > 0)
    if np.count_nonzero(hopeful) >= _GATHER_BELOW * len(hopeful):
        upper = scoring.rounding(block, kernel.factors.dtype)
        upper += np.maximum(scoring.scan(kernel.factors[block], block), 0.0)
        hopeful &= factor * upper >= pool.threshold
    rows = np.flatnonzero(hopeful) + start
    _offer_rows(pool, scoring, candidates.tilt, rows[~is_among(rows, candidates.apart)])


def is_among(rows: Indices, apart: Indices) -> BoolVector:
    """Which rows occur in the ascending list `apart`."""
    if not len(apart):
        return np.zeros(len(rows), dtype=np.bool_)
    found: BoolVector = apart[np.minimum(np.searchsorted(apart, rows), len(apart) - 1)] == rows
    return found


def _offer_rows(pool: Pool, scoring: Scoring, tilt: Tilt, rows: Indices) -> None:
    if len(rows):
        factors, factor = scoring.kernel.factors[rows], tilt.at(rows)
        errors = scoring.rounding(rows, factors.dtype)
        pool.offer(rows, factor * scoring.scan(factors, rows).astype(np.float64), factor * errors)
