"""The bounded scan: find the best k rows exactly, without touching rows that cannot be among them."""

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
class Ranking:
    """Rows from best to worst with their scores τ_i² Δ_i; ties go to the lower (more popular) row."""

    rows: Indices
    scores: Vector


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
    """The rows that may still be among the k best, and a threshold no lesser row can pass."""

    def __init__(self, k: int, threshold: float = -np.inf) -> None:
        self.k = k
        self.threshold = threshold
        self._lowest = np.empty(0)  # the k best lower bounds seen
        self._rows: list[Indices] = []
        self._upper: list[Vector] = []

    def offer(self, rows: Indices, scores: Vector, errors: Vector) -> None:
        """Rows with scores known up to `errors`; true scores are never negative."""
        upper = np.maximum(scores, 0.0) + errors
        hopeful = np.flatnonzero(upper >= self.threshold)
        if not len(hopeful):
            return
        self._rows.append(rows[hopeful])
        self._upper.append(upper[hopeful])
        lower = np.concatenate([self._lowest, np.maximum(scores[hopeful] - errors[hopeful], 0.0)])
        if len(lower) >= self.k:
            lower = np.partition(lower, len(lower) - self.k)[-self.k :]
            self.threshold = max(self.threshold, float(lower[0]))
        self._lowest = lower

    def finalists(self) -> Indices:
        """Every row that may be among the k best."""
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
        allowed = ~is_among(rows, self._banned)
        if not self.tilt.is_plain:
            allowed &= self.tilt.at(rows) > 0
        return allowed

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


def rank(rows: Indices, scores: Vector, k: int) -> Ranking:
    """The k best of the given rows, best first, ties in catalogue order."""
    order = np.lexsort((rows, -scores))[:k]
    return Ranking(rows[order], scores[order])


def best_rows(scoring: Scoring, k: int, tilt: Tilt, banned: Indices, *, above: float = -np.inf) -> Ranking:
    """The k rows with the highest τ_i² · score_i, leaving out `banned` rows and those with τ_i² = 0.

    Rows the tilt lists and the strongest rows are scored directly; all others block by block, the highest
    bound first, until the bound falls under the k-th best. A catalogue of one block is scored whole. Only
    scores above `above` count.
    """
    if k <= 0:
        return Ranking(np.empty(0, dtype=np.intp), np.empty(0))
    pool, candidates = Pool(k, above), Candidates(scoring.kernel, tilt, banned)
    if scoring.kernel.size <= BLOCK:
        _offer_everything(pool, scoring, candidates)
    else:
        _offer_by_bound(pool, scoring, candidates)
    return settle(pool, scoring, tilt, above)


def settle(pool: Pool, scoring: Scoring, tilt: Tilt, above: float = -np.inf) -> Ranking:
    """Score a pool's finalists exactly and rank them."""
    rows = pool.finalists()
    scores = tilt.at(rows) * scoring.exact(rows)
    good = scores > above
    return rank(rows[good], scores[good], pool.k)


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
        if peaks[number] < pool.threshold or peaks[number] == -np.inf:
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
