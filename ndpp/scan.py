"""The bounded scan: find the best k rows exactly, without touching rows that cannot be among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Vector
from ndpp.tilt import Tilt

_SLACK = 1 + 1e-9  # the bounds themselves are rounded
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
    slope: tuple[float, float]  # score_i ≤ slope[0] · L_ii + slope[1] · ‖f_i‖²

    def bound(self, weights: Vector, squared_norms: Vector) -> Vector:
        """The upper bound on scores of items with these weights and norms."""
        return (self.slope[0] * weights + self.slope[1] * squared_norms) * _SLACK


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
        hopeful = upper >= self.threshold
        if not hopeful.any():
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


def rank(rows: Indices, scores: Vector, k: int) -> Ranking:
    """The k best of the given rows, best first, ties in catalogue order."""
    order = np.lexsort((rows, -scores))[:k]
    return Ranking(rows[order], scores[order])


def best_rows(scoring: Scoring, k: int, tilt: Tilt, banned: Indices, *, above: float = -np.inf) -> Ranking:
    """The k rows with the highest τ_i² · score_i, leaving out `banned` rows and those with τ_i² = 0.

    Rows the tilt lists are scored directly; all others block by block, the highest bound first, until the
    bound falls under the k-th best. Only scores above `above` count.
    """
    if k <= 0:
        return Ranking(np.empty(0, dtype=np.intp), np.empty(0))
    pool, kernel = Pool(k, above), scoring.kernel
    listed = listed_candidates(tilt, banned)
    for start in range(0, len(listed), BLOCK):
        _offer(pool, scoring, listed[start : start + BLOCK], tilt.at(listed[start : start + BLOCK]))
    apart = np.union1d(tilt.rows, banned)
    peaks = block_peaks(scoring, tilt)
    for number in np.argsort(-peaks, kind="stable"):
        if peaks[number] < pool.threshold or peaks[number] == -np.inf:
            break
        rows = slice(int(number) * BLOCK, min((int(number) + 1) * BLOCK, kernel.size))
        _offer_block(pool, scoring, rows, tilt, apart)
    finalists = pool.finalists()
    scores = tilt.at(finalists) * scoring.exact(finalists)
    good = scores > above
    return rank(finalists[good], scores[good], k)


def listed_candidates(tilt: Tilt, banned: Indices) -> Indices:
    """The rows a tilt lists that may appear in an answer."""
    listed = tilt.rows[tilt.at(tilt.rows) > 0]
    return listed[~np.isin(listed, banned)]


def block_peaks(scoring: Scoring, tilt: Tilt) -> Vector:
    """For each block the highest score its rows can have under the tilt's base; −∞ where all are excluded."""
    kernel = scoring.kernel
    if tilt.base is None:
        return scoring.bound(*kernel.block_peaks)
    bounds = tilt.base * scoring.bound(kernel.weights, kernel.squared_norms)
    bounds[tilt.base == 0] = -np.inf
    return np.maximum.reduceat(bounds, np.arange(0, kernel.size, BLOCK))


def _offer_block(pool: Pool, scoring: Scoring, rows: slice, tilt: Tilt, apart: Indices) -> None:
    kernel = scoring.kernel
    factor = np.ones(rows.stop - rows.start) if tilt.base is None else tilt.base[rows]
    possible = factor > 0
    first, last = np.searchsorted(apart, (rows.start, rows.stop))
    possible[apart[first:last] - rows.start] = False
    if pool.threshold > -np.inf:
        bound = factor * scoring.bound(kernel.weights[rows], kernel.squared_norms[rows])
        possible &= bound >= pool.threshold
    chosen = np.flatnonzero(possible)
    if len(chosen) < _GATHER_BELOW * len(possible):
        _offer(pool, scoring, chosen + rows.start, factor[chosen])
        return
    scores: Vector = factor * scoring.scan(kernel.factors[rows], rows).astype(np.float64)
    errors = factor * scoring.rounding(rows, kernel.factors.dtype)
    pool.offer(chosen + rows.start, scores[chosen], errors[chosen])


def _offer(pool: Pool, scoring: Scoring, rows: Indices, factor: Vector) -> None:
    if len(rows):
        factors = scoring.kernel.factors[rows]
        errors = scoring.rounding(rows, factors.dtype)
        pool.offer(rows, factor * scoring.scan(factors, rows).astype(np.float64), factor * errors)
