"""The bounded scan for many carts: whatever can be is done for all carts in one array operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ndpp.batch_form import BatchForm
from ndpp.batch_tilt import BatchTilt
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Vector
from ndpp.scan import SLACK, Ranking, is_among
from ndpp.tilt import Tilt

_GATHER_BELOW = 0.5  # pick single rows out of a block when fewer than this share of it can matter
_RESTACK_BELOW = 0.75  # leave carts that are done out of the products when fewer than this share remain


class Pools:
    """For each cart the rows that may still be among its k best, and a threshold no lesser row can pass."""

    def __init__(self, carts: int, k: int) -> None:
        self.thresholds = np.full(carts, -np.inf)
        self._lowest = np.full((carts, k), -np.inf)  # the k best lower bounds seen
        self._found: list[tuple[Indices, Indices, Vector, Vector]] = []

    def offer(self, carts: Indices, rows: Indices, factors: Vector, gains: Vector, errors: Vector) -> None:
        """Pairs of a cart and a row, `carts` ascending: τ², and gains known up to `errors`."""
        upper = factors * (np.maximum(gains, 0.0) + errors)
        hopeful = np.flatnonzero(upper >= self.thresholds[carts])
        carts, factors = carts[hopeful], factors[hopeful]
        lower = factors * np.maximum(gains[hopeful] - errors[hopeful], 0.0)
        places = _places_in_runs(carts)
        k = self._lowest.shape[1]
        bounds = np.full((len(self.thresholds), k + int(places.max(initial=-1)) + 1), -np.inf)
        bounds[:, :k] = self._lowest
        bounds[carts, k + places] = lower
        self._lowest = np.partition(bounds, -k, axis=1)[:, -k:]
        self.thresholds = self._lowest[:, 0]
        self._found.append((carts, rows[hopeful], factors, upper[hopeful]))

    def finalists(self) -> tuple[Indices, Indices, Vector]:
        """Carts (ascending), rows and τ² of every pair that may be among the k best."""
        carts, rows, factors, upper = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        good = np.flatnonzero(upper >= self.thresholds[carts])
        good = good[np.argsort(carts[good], kind="stable")]
        return carts[good], rows[good], factors[good]


@dataclass(frozen=True, eq=False)
class _Search:
    """The scan for all carts together."""

    form: BatchForm
    tilt: BatchTilt
    pools: Pools

    @property
    def _kernel(self) -> Kernel:
        return self.form.kernel

    def score_strongest(self) -> None:
        """The kernel's strongest rows, for all carts in one product."""
        rows = self._kernel.strongest
        factors, gains = self.tilt.among(rows), self.form.scan(self._kernel.factors[rows], rows)
        carts, places = np.divmod(np.flatnonzero(factors), len(rows))  # much faster than np.nonzero
        self._offer(carts, rows[places], factors[carts, places], gains[carts, places])

    def score_listed(self) -> None:
        """The rows each cart's own tilt lists, but for the strongest and those whose bound is too low."""
        kernel, (carts, rows, factors) = self._kernel, self.tilt.listed
        if not len(rows):
            return
        factors = factors * self.tilt.base_at(carts, rows)
        bounds = kernel.weights[rows] + self.form.loose_growths[carts] * kernel.squared_norms[rows]
        hopeful = np.flatnonzero((factors > 0) & (factors * bounds * SLACK >= self.pools.thresholds[carts]))
        hopeful = hopeful[~is_among(rows[hopeful], kernel.strongest)]
        hopeful = hopeful[~self.tilt.is_banned(carts[hopeful], rows[hopeful])]
        carts, rows = carts[hopeful], rows[hopeful]
        self._offer(carts, rows, factors[hopeful], self.form.at(carts, rows, exact=False))

    def scan_blocks(self) -> None:
        """Blocks in the order of the highest bound any cart has for them; a cart that is done leaves."""
        if (self.tilt.block_peaks(self.form.loose_growths) < self.pools.thresholds[:, None]).all():
            return
        peaks = self.tilt.block_peaks(self.form.growths)
        order = np.argsort(-peaks.max(axis=0), kind="stable")
        peaks = peaks[:, order]  # (carts, blocks)
        ahead = np.maximum.accumulate(peaks[:, ::-1], axis=1)[:, ::-1]  # the highest bound from here on
        active, part = np.arange(self.form.size), self.form
        for place, number in enumerate(order.tolist()):
            thresholds = self.pools.thresholds
            if (ahead[:, place] < thresholds).all():
                break
            wanted = np.flatnonzero((peaks[:, place] >= thresholds) & (peaks[:, place] > -np.inf))
            if not len(wanted):
                continue
            if len(wanted) < _RESTACK_BELOW * len(active) or not np.isin(wanted, active).all():
                active, part = wanted, self.form.only(wanted)
            block = slice(number * BLOCK, min((number + 1) * BLOCK, self._kernel.size))
            self._score_block(part, active, block)

    def _score_block(self, form: BatchForm, active: Indices, block: slice) -> None:
        """Score the rows of a block that at least one of the active carts, whose form is given, can want."""
        kernel, thresholds = self._kernel, self.pools.thresholds[active]
        bases = self.tilt.bases(block, active)  # (carts or 1, rows)
        highest, growth = bases.max(axis=0), float(form.growths.max())
        bounds = highest * (kernel.weights[block] + growth * kernel.squared_norms[block]) * SLACK
        needed = np.flatnonzero((bounds >= thresholds.min()) & (highest > 0))
        if not len(needed):
            return
        rows: slice | Indices = block
        if len(needed) < _GATHER_BELOW * len(bounds):
            rows, bases = needed + block.start, bases[:, needed]
        gains = form.scan(kernel.factors[rows], rows)
        np.maximum(gains, 0, out=gains)
        strength = kernel.diagonal[rows].max(), kernel.squared_norms[rows].max()
        errors = form.rounding(slice(None), *strength, exact=False)[:, None]
        if self.tilt.has_bases:
            hits = (bases * (gains + errors) >= thresholds[:, None]) & (bases > 0)
        else:
            hits = gains >= thresholds[:, None] - errors
        carts, places = np.divmod(np.flatnonzero(hits), hits.shape[1])
        hit_rows = places + block.start if isinstance(rows, slice) else rows[places]
        fresh = np.flatnonzero(~self.tilt.is_apart(active[carts], hit_rows))
        carts, places = carts[fresh], places[fresh]
        factors = np.broadcast_to(bases, gains.shape)[carts, places]
        self._offer(active[carts], hit_rows[fresh], factors, gains[carts, places])

    def _offer(self, carts: Indices, rows: Indices, factors: Vector, gains: FloatArray) -> None:
        errors = self._rounding(carts, rows, exact=False)
        self.pools.offer(carts, rows, factors, gains.astype(np.float64), errors)

    def _rounding(self, carts: Indices, rows: Indices, *, exact: bool) -> Vector:
        kernel = self._kernel
        return self.form.rounding(carts, kernel.diagonal[rows], kernel.squared_norms[rows], exact=exact)

    def rankings(self, k: int) -> list[Ranking]:
        """Score the finalists of all carts exactly, and rank them."""
        carts, rows, factors = self.pools.finalists()
        raw = self.form.at(carts, rows, exact=True)
        scores = factors * np.where(raw > self._rounding(carts, rows, exact=True), raw, 0.0)
        order = np.lexsort((rows, -scores, carts))
        order = order[_places_in_runs(carts[order]) < k]
        borders = np.searchsorted(carts[order], np.arange(self.form.size + 1)).tolist()
        rows, scores = rows[order], scores[order]
        return [Ranking(rows[first:last], scores[first:last]) for first, last in pairwise(borders)]


def best_rows_of_each(
    form: BatchForm, k: int, tilts: Sequence[Tilt], banned: Sequence[Indices]
) -> list[Ranking]:
    """`best_rows` of the gains of every cart, sharing the products with F."""
    if k <= 0 or not form.size:
        return [Ranking(np.empty(0, dtype=np.intp), np.empty(0)) for _ in range(form.size)]
    kernel = form.kernel
    search = _Search(form, BatchTilt(kernel, tilts, banned), Pools(form.size, min(k, kernel.size)))
    search.score_strongest()
    search.score_listed()
    search.scan_blocks()
    return search.rankings(k)


def _places_in_runs(carts: Indices) -> Indices:
    """0, 1, 2, … within each run of equal numbers, which are ascending."""
    places: Indices = np.arange(len(carts)) - np.searchsorted(carts, carts)
    return places
