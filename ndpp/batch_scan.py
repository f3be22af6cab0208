"""The bounded scan for many carts: each block of F is multiplied once for all carts that still need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.gains import GainForm, balanced, limits, row_norms
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.scan import SLACK, Candidates, Pool, Ranking, Scoring, is_among, settle
from ndpp.tilt import Tilt

_GATHER_BELOW = 0.5  # pick single rows out of a block when fewer than this share of it can matter


@dataclass(frozen=True, eq=False)
class BatchForm:
    """The gain forms of many carts with their columns side by side, in the precision of F."""

    kernel: Kernel
    forms: tuple[GainForm, ...]

    @cached_property
    def _widths(self) -> Indices:
        """Columns of each cart; an empty cart has one of zeros, so that each has its own."""
        return np.array([max(len(form.right), 1) for form in self.forms], dtype=np.intp)

    @cached_property
    def _starts(self) -> Indices:
        starts: Indices = np.cumsum(self._widths) - self._widths
        return starts

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """left and rightᵀ of all carts, (R, N) with N the sum of the widths, balanced as `GainForm.sides`."""
        nothing = np.zeros((1, self.kernel.rank))
        left = np.vstack([form.left.T if len(form.right) else nothing for form in self.forms])  # (N, R)
        right = np.vstack([form.right if len(form.right) else nothing for form in self.forms])
        balance = balanced(row_norms(left), row_norms(right))[:, None]
        dtype = self.kernel.factors.dtype
        return (left * balance).astype(dtype).T, (right / balance).astype(dtype).T

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains (rows, carts)."""
        left, right = self._columns
        terms = factors @ left
        terms *= factors @ right
        weights = self.kernel.weights[rows].astype(factors.dtype)[:, None]
        gains: FloatArray = weights - np.add.reduceat(terms, self._starts, axis=1)
        return gains

    @cached_property
    def _spreads(self) -> tuple[Vector, Vector]:
        return np.array([form.spread for form in self.forms]), np.array([form.steps for form in self.forms])

    def most_rounding(self, rows: Indices) -> Vector:
        """How far rounding can move the gains of `scan` in any of the rows, (carts,)."""
        spreads, steps = self._spreads
        eps, tiny = limits(self.kernel.factors.dtype)
        scale = self.kernel.diagonal[rows].max() + self.kernel.squared_norms[rows].max() * spreads
        return np.asarray(steps * (eps * scale + tiny))

    def only(self, carts: Indices) -> BatchForm:
        """The form of some of the carts."""
        return BatchForm(self.kernel, tuple(self.forms[cart] for cart in carts.tolist()))


@dataclass(frozen=True, eq=False)
class _Search:
    """One cart's part in the common scan."""

    pool: Pool
    scoring: Scoring
    tilt: Tilt
    candidates: Candidates

    def offer(self, rows: Indices, gains: FloatArray) -> None:
        factor, errors = self.tilt.at(rows), self.scoring.rounding(rows, gains.dtype)
        self.pool.offer(rows, factor * gains.astype(np.float64), factor * errors)


def best_rows_of_each(
    form: BatchForm, scorings: Sequence[Scoring], k: int, tilts: Sequence[Tilt], banned: Sequence[Indices]
) -> list[Ranking]:
    """`best_rows` for every cart, sharing the products with F."""
    if k <= 0 or not scorings:
        return [Ranking(np.empty(0, dtype=np.intp), np.empty(0)) for _ in scorings]
    searches = [
        _Search(Pool(k), scoring, tilt, Candidates(form.kernel, tilt, rows))
        for scoring, tilt, rows in zip(scorings, tilts, banned, strict=True)
    ]
    if form.kernel.size <= BLOCK:
        _score_together(form, searches, np.arange(form.kernel.size), form.kernel.factors)
    else:
        strongest = form.kernel.strongest
        _score_together(form, searches, strongest, form.kernel.factors[strongest])
        _score_listed(form, searches)
        _scan_blocks(form, searches)
    return [settle(search.pool, search.scoring, search.tilt) for search in searches]


def _score_together(form: BatchForm, searches: Sequence[_Search], rows: Indices, factors: FloatArray) -> None:
    """The same rows for all carts, in one product."""
    gains = np.ascontiguousarray(form.scan(factors, rows).T)
    for search, own_gains in zip(searches, gains, strict=True):
        allowed = search.candidates.allows(rows)
        search.offer(rows[allowed], own_gains[allowed])


def _score_listed(form: BatchForm, searches: Sequence[_Search]) -> None:
    """The rows each cart's own tilt lists, but for the strongest."""
    for search in searches:
        if not len(search.tilt.rows):
            continue
        listed = search.tilt.rows[~is_among(search.tilt.rows, form.kernel.strongest)]
        listed = listed[search.candidates.allows(listed)]
        for start in range(0, len(listed), BLOCK):
            rows = listed[start : start + BLOCK]
            search.offer(rows, search.scoring.scan(form.kernel.factors[rows], rows))


def _scan_blocks(form: BatchForm, searches: Sequence[_Search]) -> None:
    """Blocks in the order of the highest bound any cart has for them; each cart leaves when it is done."""
    peaks = np.array([search.candidates.block_peaks(search.scoring) for search in searches])
    order = np.argsort(-peaks.max(axis=0), kind="stable")
    peaks = peaks[:, order]  # (carts, blocks)
    ahead = np.maximum.accumulate(peaks[:, ::-1], axis=1)[:, ::-1]  # the highest bound from here on
    thresholds = np.array([search.pool.threshold for search in searches])
    active, part = np.arange(len(searches)), form
    for place, number in enumerate(order.tolist()):
        if (ahead[:, place] < thresholds).all():
            break
        wanted = np.flatnonzero((peaks[:, place] >= thresholds) & (peaks[:, place] > -np.inf))
        if not len(wanted):
            continue
        if not np.array_equal(wanted, active):
            active, part = wanted, form.only(wanted)
        searching = [searches[cart] for cart in active.tolist()]
        _offer_block(part, searching, slice(number * BLOCK, min((number + 1) * BLOCK, form.kernel.size)))
        thresholds[active] = [search.pool.threshold for search in searching]


def _offer_block(form: BatchForm, searches: Sequence[_Search], block: slice) -> None:
    """Score the rows of a block that at least one of the carts can still want."""
    kernel, base = form.kernel, _bases(searches, block)
    thresholds = np.array([search.pool.threshold for search in searches])
    slopes = np.array([search.scoring.slope for search in searches])
    strength = np.column_stack([kernel.weights[block], kernel.squared_norms[block]])
    hopeful = (base * (strength @ slopes.T) * SLACK >= thresholds) & (base > 0)  # (rows, carts)
    needed = np.flatnonzero(hopeful.any(axis=1))
    if not len(needed):
        return
    rows = needed + block.start
    if len(needed) < _GATHER_BELOW * len(hopeful):
        gains = form.scan(kernel.factors[rows], rows)
    else:
        gains = form.scan(kernel.factors[block], block)[needed]
    part = base if len(base) == 1 else base[needed]
    hits = hopeful[needed] & (part * (np.maximum(gains, 0) + form.most_rounding(rows)) >= thresholds)
    for cart in np.flatnonzero(hits.any(axis=0)).tolist():
        hit = np.flatnonzero(hits[:, cart])
        hit = hit[~is_among(rows[hit], searches[cart].candidates.apart)]
        searches[cart].offer(rows[hit], gains[hit, cart])


def _bases(searches: Sequence[_Search], block: slice) -> Matrix:
    """The carts' dense τ² over a block, (rows, carts), or one row of ones when no tilt has any."""
    if all(search.tilt.base is None for search in searches):
        return np.ones((1, len(searches)))
    ones = np.ones(block.stop - block.start)
    columns = [ones if search.tilt.base is None else search.tilt.base[block] for search in searches]
    return np.column_stack(columns)
