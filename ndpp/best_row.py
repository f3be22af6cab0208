"""Exact search for the row with the highest score; upper bounds exclude most rows without scoring them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Vector
from ndpp.sparse import find
from ndpp.tilt import Tilt

_SLACK = 1 + 1e-9  # for the rounding of the bounds themselves
_GATHER_BELOW = 0.25  # take single rows out of a block if fewer than this share of it can be the best


@dataclass(frozen=True, eq=False)
class Score:
    """A score of rows: fast with a known rounding error, exact, and an upper bound on both."""

    kernel: Kernel
    fast: Callable[[FloatArray, slice | Indices], FloatArray]
    rounding: Callable[[slice | Indices, np.dtype[np.floating[Any]]], Vector]
    exact: Callable[[Indices], Vector]
    find_slopes: Callable[[], tuple[float, float]]

    @cached_property
    def _slopes(self) -> tuple[float, float]:
        """a and b in the bound; computed only for catalogues that need the bound."""
        return self.find_slopes()

    def bound(self, weights: Vector, squared_norms: Vector) -> Vector:
        """score_i ≤ a · L_ii + b · ‖f_i‖² for items with these weights and norms."""
        a, b = self._slopes
        return (a * weights + b * squared_norms) * _SLACK


class Finalists:
    """The rows that may still be the best, and a threshold that the best score reaches."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rows: list[Indices] = []
        self._upper: list[Vector] = []

    def offer(self, rows: Indices, scores: Vector, errors: Vector) -> None:
        """Take in rows with scores known up to `errors`; true scores are never negative."""
        upper = np.maximum(scores, 0.0) + errors
        hopeful = np.flatnonzero(upper >= self.threshold)
        if len(hopeful):
            self._rows.append(rows[hopeful])
            self._upper.append(upper[hopeful])
            self.threshold = max(self.threshold, float((scores[hopeful] - errors[hopeful]).max()))

    def rows(self) -> Indices:
        """Every row that may be the best, ascending."""
        if not self._rows:
            return np.empty(0, dtype=np.intp)
        return np.sort(np.concatenate(self._rows)[np.concatenate(self._upper) >= self.threshold])


@dataclass(frozen=True, eq=False)
class Candidates:
    """The rows to choose from: those with τ² > 0 that are not banned."""

    kernel: Kernel
    tilt: Tilt
    banned: Indices

    def first(self) -> Indices:
        """The rows to score before the blocks: those the tilt lists, and the kernel's strongest."""
        strongest = self.kernel.strongest
        rows = np.union1d(self.tilt.rows, strongest) if len(self.tilt.rows) else strongest
        return rows[~find(rows, np.sort(self.banned))[1] & (self.tilt.at(rows) > 0)]

    @cached_property
    def skipped(self) -> Indices:
        """The rows to skip in the blocks, ascending: banned, or scored before."""
        return np.sort(np.concatenate([self.tilt.rows, self.kernel.strongest, self.banned]))

    def block_bounds(self, score: Score) -> Vector:
        """An upper bound on the scores of each block under the tilt's base; −∞ for a block without rows."""
        kernel, base = self.kernel, self.tilt.base
        if base is None:
            return score.bound(*kernel.block_peaks)
        bounds = base * score.bound(kernel.weights, kernel.squared_norms)
        bounds[base == 0] = -np.inf
        return np.maximum.reduceat(bounds, np.arange(0, kernel.size, BLOCK))


def best_row(score: Score, tilt: Tilt, banned: Indices, *, above: float) -> int | None:
    """The row with the highest τ_i² · score_i except `banned` rows; None if no score is above `above`.

    Rows listed by the tilt and the strongest rows are scored first, the others block by block in descending
    order of their bound, until the bound falls below the best score. A catalogue of one block is scored as a
    whole. Ties go to the lowest (the most popular) row.
    """
    finalists, candidates = Finalists(above), Candidates(score.kernel, tilt, banned)
    if score.kernel.size <= BLOCK:
        _score_all(finalists, score, candidates)
    else:
        _score_by_bound(finalists, score, candidates)
    rows = finalists.rows()
    if not len(rows):
        return None
    scores = tilt.at(rows) * score.exact(rows)
    best = int(np.argmax(scores))
    return int(rows[best]) if scores[best] > above else None


def _score_all(finalists: Finalists, score: Score, candidates: Candidates) -> None:
    kernel, factors = score.kernel, candidates.tilt.dense(score.kernel.size)
    factors[candidates.banned] = 0.0
    rows = np.flatnonzero(factors)
    factors = factors[rows]
    scores: Vector = factors * score.fast(kernel.factors, slice(None))[rows]
    finalists.offer(rows, scores, factors * score.rounding(rows, kernel.factors.dtype))


def _score_by_bound(finalists: Finalists, score: Score, candidates: Candidates) -> None:
    first = candidates.first()
    for start in range(0, len(first), BLOCK):
        _score_rows(finalists, score, candidates.tilt, first[start : start + BLOCK])
    bounds = candidates.block_bounds(score)
    for number in np.argsort(-bounds, kind="stable"):
        if bounds[number] < finalists.threshold:
            break
        _score_block(finalists, score, candidates, int(number) * BLOCK)


def _score_block(finalists: Finalists, score: Score, candidates: Candidates, start: int) -> None:
    """Score the rows of a block whose bound reaches the threshold."""
    kernel, base = score.kernel, candidates.tilt.base
    block = slice(start, min(start + BLOCK, kernel.size))
    factor = 1.0 if base is None else base[block]
    bound = factor * score.bound(kernel.weights[block], kernel.squared_norms[block])
    hopeful = (bound >= finalists.threshold) & (np.asarray(factor) > 0)
    if np.count_nonzero(hopeful) >= _GATHER_BELOW * len(hopeful):
        upper = score.rounding(block, kernel.factors.dtype)
        upper += np.maximum(score.fast(kernel.factors[block], block), 0.0)
        hopeful &= factor * upper >= finalists.threshold
    rows = np.flatnonzero(hopeful) + start
    _score_rows(finalists, score, candidates.tilt, rows[~find(rows, candidates.skipped)[1]])


def _score_rows(finalists: Finalists, score: Score, tilt: Tilt, rows: Indices) -> None:
    if len(rows):
        factors, factor = score.kernel.factors[rows], tilt.at(rows)
        errors = score.rounding(rows, factors.dtype)
        finalists.offer(rows, factor * score.fast(factors, rows).astype(np.float64), factor * errors)
