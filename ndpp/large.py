"""The k best items of a large catalogue without a pass over all rows.

Rows with evidence, the most popular ones, and those of which a request says something are listed: they are
scored. Of the others only a bound of P(i | cart) is computed, for blocks of rows. Blocks whose bound reaches
the last item of the list are scored too. The normalisers are estimated, see `ndpp.normalisers`.

If that does not settle the list, there is none, and `ndpp.ranking` must pass over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.arrivals import Arrivals
from ndpp.bounds import BLOCK, CERTAIN, Bounds
from ndpp.kernel import FloatArray, Indices, Matrix, Vector
from ndpp.next_item import NextItem, Prediction
from ndpp.normalisers import Normalisers, Sample, estimate, total_of
from ndpp.ranking import Limits, Listed, Order, Ranked, choose
from ndpp.selection import Selection
from ndpp.sparse import find
from ndpp.with_arrivals import shares_with_arrivals

LARGE = 20_000  # items: in smaller catalogues a pass over all rows is faster
_MOST_SCORED = 30_000  # rows of blocks that are not ruled out: for more, a pass over all rows is not slower
_MOST_ARRIVALS = 128
_COMMON_SIZES = 10  # items of the carts for which the sums over the catalogue are prepared
_DRAWN, _TIMES = 4_096, (1, 8, 32)  # rows of the samples


@dataclass(frozen=True, slots=True)
class Wanted:
    """A list that is asked for: the k items with the highest P · factor, in some order, within limits."""

    k: int
    selection: Selection
    order: Order
    limits: Limits


@dataclass(frozen=True, eq=False)
class Estimated:
    """P(i | cart) of some rows, with estimated normalisers."""

    prediction: Prediction
    norms: Normalisers
    arrivals: Arrivals | None

    def expert_shares(self, rows: Indices) -> Matrix:
        """The share of each expert in P(i | cart) of some rows, from gains in float64, (4, n)."""
        if self.arrivals is None:
            return self._of_known(rows)
        return shares_with_arrivals(self.prediction, self._of_known, self.arrivals, rows)

    def _of_known(self, rows: Indices) -> Matrix:
        return self.prediction.shares_under(self.norms.logs, rows)


@dataclass(frozen=True, eq=False)
class LargeCatalogue:
    """A model with what the search needs, computed once."""

    model: NextItem

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds of all rows."""
        return Bounds.of(self.model)

    @cached_property
    def samples(self) -> list[Sample]:
        """Samples of all rows, each for lists that the one before leaves in doubt."""
        counts = [_DRAWN * times for times in _TIMES if _DRAWN * times * 4 <= self.model.kernel.size]
        return [Sample.of(self.model, count=count) for count in counts or [_DRAWN]]

    def prepare(self) -> None:
        """Compute what every search needs."""
        smallest = self.samples[0]
        for found in (self.bounds, smallest.factors, smallest.moments):
            assert found is not None
        for size in range(1, _COMMON_SIZES + 1):
            smallest.totals(size)

    def best_items(
        self, prediction: Prediction, wanted: Wanted, arrivals: Arrivals | None = None, *, settle: bool = True
    ) -> Ranked | None:
        """The list for a cart; None if a pass over all rows is needed.

        That is also so if the order of two items remains in doubt, unless `settle` is false.
        """
        order = wanted.order
        if order.prediction is not None or order.popularity or not len(prediction.cart):
            return None
        if arrivals is not None and len(arrivals) > _MOST_ARRIVALS:
            return None
        search = _Search(self, prediction, wanted, arrivals)
        for sample in self.samples:
            ranked = search.ranked(sample)
            if ranked is None or ranked.exact or not settle:
                return ranked
        return None


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for one list."""

    catalogue: LargeCatalogue
    prediction: Prediction
    wanted: Wanted
    arrivals: Arrivals | None

    def ranked(self, sample: Sample) -> Ranked | None:
        """The list, given a sample for the normalisers; None if a pass over all rows is needed."""
        rows = self._rows
        norms = estimate(self.prediction, rows, self._gains, sample, self._gains_of_sample(sample))
        bounds = self.catalogue.bounds.of_probabilities(self.prediction, norms)
        if bounds is None:
            return None
        known, (total, error) = norms.listed, self._total(norms)
        shares = Estimated(self.prediction, norms, self.arrivals)
        while True:
            listed = self._listed(rows, known, total)
            # One more item than asked for shows how close the next one is.
            ranked = choose(shares, self.wanted.k, listed, None, self.wanted.limits, spare=1)
            others = self._not_ruled_out(bounds, rows, ranked, listed)
            if others is None:
                return None
            if not len(others):
                return self._judged(ranked, norms, error / total if total > 0 else 0.0)
            gains = self.prediction.model.log_gains(self._gains_of(others), others)
            probabilities = norms.probabilities(self.prediction, others, gains)
            rows, known = _merged(rows, known, others, probabilities)

    @cached_property
    def _own_sample(self) -> Sample | None:
        """A sample of the rows that may appear, if their factors are not those of nearly all rows."""
        pool = self.wanted.selection.pool
        return None if pool.is_plain else pool.sample(self.prediction.model)

    @cached_property
    def _rows(self) -> Indices:
        """The rows of the model's items that are listed from the beginning, ascending."""
        parts = [self.prediction.listed, self.catalogue.samples[0].popular, self.wanted.selection.rows]
        parts.append(np.array([row for row, _ in self.wanted.limits.pins], dtype=np.intp))
        if self._own_sample is not None:
            parts.append(self._own_sample.popular)
            if self._own_sample.is_whole:
                parts.append(self._own_sample.drawn)
        if self.arrivals is not None:
            parts.append(self.arrivals.neighbours.ravel())
        found: Indices = np.sort(np.concatenate(parts))
        found = found[np.append(True, found[1:] != found[:-1])]  # faster than np.unique
        return found[: np.searchsorted(found, self.prediction.model.kernel.size)]

    @cached_property
    def _gains(self) -> FloatArray:
        popular = self.catalogue.samples[0].popular  # the first rows
        factors = self.prediction.model.kernel.factors[: len(popular)]
        first = self.prediction.conditional.fast_gains(factors, popular)
        return np.concatenate([first, self._gains_of(self._rows[len(popular) :])])

    def _gains_of(self, rows: Indices) -> FloatArray:
        kernel, conditional = self.prediction.model.kernel, self.prediction.conditional
        parts = [rows[start : start + BLOCK] for start in range(0, max(len(rows), 1), BLOCK)]
        return np.concatenate(
            [conditional.fast_gains(kernel.factors.take(part, axis=0), part) for part in parts]
        )

    def _gains_of_sample(self, sample: Sample) -> FloatArray:
        if len(sample.drawn) > _DRAWN:  # too many rows to keep a copy of
            return self._gains_of(sample.drawn)
        return self.prediction.conditional.fast_gains(sample.factors, sample.drawn)

    def _total(self, norms: Normalisers) -> tuple[float, float]:
        """Σ P · factor over all items, and its standard error."""
        rows, known = self._with_arrivals(self._rows, norms.listed)
        listed = float(known @ self.wanted.selection.at(rows))
        if self._own_sample is None:  # the factors of the other rows are 1, and all probabilities add up to 1
            return listed + max(1.0 - float(norms.listed.sum()), 0.0), 0.0
        drawn = self._gains_of_sample(self._own_sample)
        rest, error = total_of(self.prediction, norms, self._rows, self._own_sample, drawn)
        return listed + rest, error

    def _listed(self, rows: Indices, known: Vector, total: float) -> Listed:
        """The listed rows and all arrivals, given P(i | cart) of the rows."""
        rows, known = self._with_arrivals(rows, known)
        factors = self.wanted.selection.at(rows)
        multipliers = None if self.wanted.order.factors is None else self.wanted.order.factors[rows]
        marks = known * factors
        return Listed(
            rows, marks if multipliers is None else marks * multipliers, factors, multipliers, total
        )

    def _with_arrivals(self, rows: Indices, known: Vector) -> tuple[Indices, Vector]:
        if self.arrivals is None:
            return rows, known
        size, places = self.prediction.model.kernel.size, np.searchsorted(rows, self.arrivals.neighbours)
        cold = np.einsum("an,an->a", self.arrivals.weights, known[places])
        return np.concatenate([rows, np.arange(size, size + len(cold))]), np.concatenate([known, cold])

    def _not_ruled_out(self, bounds: Vector, rows: Indices, ranked: Ranked, listed: Listed) -> Indices | None:
        """The rows that may belong to the list but are not listed; None if they are very many."""
        if self._own_sample is not None and self._own_sample.is_whole:
            return rows[:0]  # all that may appear are listed
        pinned = [row for row, _ in self.wanted.limits.pins]
        chosen = ranked.rows[: self.wanted.k]
        marks = listed.marks[np.searchsorted(listed.rows, chosen[~np.isin(chosen, pinned)])]
        last = float(marks.min(initial=np.inf)) if len(ranked.rows) >= self.wanted.k else 0.0
        highest = self.wanted.selection.pool.highest
        if self.wanted.order.factors is not None:
            highest *= max(float(self.wanted.order.factors.max()), 1.0)
        blocks = np.flatnonzero(bounds * highest >= last)
        if len(blocks) * BLOCK > 2 * _MOST_SCORED:
            return None
        found = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        found = found[found < self.prediction.model.kernel.size]
        found = found[(self.wanted.selection.pool.factors[found] > 0) & ~find(found, rows)[1]]
        return found if len(found) <= _MOST_SCORED else None

    def _judged(self, ranked: Ranked, norms: Normalisers, total_error: float) -> Ranked:
        """The first k, with the errors that the estimates leave."""
        errors = norms.errors[:, None] * ranked.shares  # (4, k + 1)
        totals = ranked.shares.sum(axis=0)
        relative = np.linalg.norm(errors, axis=0) / np.where(totals > 0, totals, 1.0)
        free = ~np.isin(ranked.rows, [row for row, _ in self.wanted.limits.pins])
        factors = self.wanted.selection.at(ranked.rows[free])
        if self.wanted.order.factors is not None:
            factors = factors * self.wanted.order.factors[ranked.rows[free]]
        gaps = -np.diff(totals[free] * factors)
        doubts = np.linalg.norm(np.diff(errors[:, free] * factors, axis=1), axis=0)
        first = slice(0, self.wanted.k)
        return Ranked(
            ranked.rows[first],
            ranked.shares[:, first],
            ranked.probabilities[first],
            exact=bool((gaps >= CERTAIN * doubts).all()),
            error=float(np.hypot(relative[first].max(initial=0.0), total_error)),
        )


def _merged(rows: Indices, values: Vector, more: Indices, others: Vector) -> tuple[Indices, Vector]:
    """Two lists of rows and their values as one, ascending."""
    joined = np.concatenate([rows, more])
    order = np.argsort(joined, kind="stable")
    return joined[order], np.concatenate([values, others])[order]
