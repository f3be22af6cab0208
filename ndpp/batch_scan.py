"""The bounded scan for many carts: each block of F is multiplied once for all carts that still need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ndpp.gains import GainForm
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel
from ndpp.scan import Candidates, Pool, Ranking, Scoring, is_among, settle
from ndpp.tilt import Tilt


@dataclass(frozen=True, eq=False)
class BatchForm:
    """The gain forms of many carts with their columns side by side, in the precision of F."""

    kernel: Kernel
    left: FloatArray  # (R, N), N the sum of the carts' sizes
    right: FloatArray  # (R, N)
    starts: Indices  # (carts,): where each cart's columns begin

    @classmethod
    def of(cls, kernel: Kernel, forms: Sequence[GainForm]) -> BatchForm:
        """Stack the carts' columns; an empty cart gets one column of zeros, so that each has its own."""
        nothing = np.zeros((kernel.rank, 1), dtype=kernel.factors.dtype)
        sides = [form.sides if len(form.right) else (nothing, nothing) for form in forms]
        widths = np.array([left.shape[1] for left, _ in sides], dtype=np.intp)
        if not sides:
            return cls(kernel, nothing[:, :0], nothing[:, :0], widths)
        left, right = (np.hstack([pair[side] for pair in sides]) for side in (0, 1))
        return cls(kernel, left, right, np.cumsum(widths) - widths)

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains (rows, carts)."""
        weights = self.kernel.weights[rows].astype(factors.dtype)[:, None]
        if not len(self.starts):
            return weights[:, :0]
        terms = factors @ self.left
        terms *= factors @ self.right
        gains: FloatArray = weights - np.add.reduceat(terms, self.starts, axis=1)
        return gains

    def only(self, carts: Indices) -> BatchForm:
        """The form of some of the carts."""
        ends = np.append(self.starts[1:], self.left.shape[1])
        columns = np.concatenate([np.arange(self.starts[cart], ends[cart]) for cart in carts])
        widths = ends[carts] - self.starts[carts]
        return BatchForm(
            self.kernel, self.left[:, columns], self.right[:, columns], np.cumsum(widths) - widths
        )


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
    _score_first_rows(form, searches)
    _scan_blocks(form, searches)
    return [settle(search.pool, search.scoring, search.tilt) for search in searches]


@dataclass(frozen=True, eq=False)
class _Search:
    """One cart's part in the common scan."""

    pool: Pool
    scoring: Scoring
    tilt: Tilt
    candidates: Candidates

    def offer(self, rows: Indices, scores: FloatArray) -> None:
        factor = self.tilt.at(rows)
        errors = factor * self.scoring.rounding(rows, scores.dtype)
        self.pool.offer(rows, factor * scores.astype(np.float64), errors)


def _score_first_rows(form: BatchForm, searches: Sequence[_Search]) -> None:
    """The strongest rows for all carts in one product, then each tilt's own list."""
    strongest = form.kernel.strongest
    gains = form.scan(form.kernel.factors[strongest], strongest)
    for search, own_gains in zip(searches, gains.T, strict=True):
        first = search.candidates.first()
        common = is_among(strongest, first)
        search.offer(strongest[common], own_gains[common])
        rest = first[~is_among(first, strongest)]
        for start in range(0, len(rest), BLOCK):
            rows = rest[start : start + BLOCK]
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
        rows = slice(number * BLOCK, min((number + 1) * BLOCK, form.kernel.size))
        gains = part.scan(form.kernel.factors[rows], rows)
        for cart, own_gains in zip(active.tolist(), gains.T, strict=True):
            _offer_block(searches[cart], rows, own_gains)
            thresholds[cart] = searches[cart].pool.threshold


def _offer_block(search: _Search, rows: slice, gains: FloatArray) -> None:
    base = search.tilt.base
    scores = gains if base is None else gains * base[rows]
    error = search.scoring.rounding(rows, gains.dtype) * (1.0 if base is None else base[rows])
    hopeful = np.flatnonzero(np.maximum(scores, 0.0) + error >= search.pool.threshold)
    if base is not None:
        hopeful = hopeful[base[rows][hopeful] > 0]
    if len(hopeful):
        hopeful = hopeful[~is_among(hopeful + rows.start, search.candidates.apart)]
        search.offer(hopeful + rows.start, gains[hopeful])
