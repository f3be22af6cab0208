"""Estimates of each expert's normaliser from few rows of a large catalogue.

    Z_e = Σ_i exp(s_e(i)) ≈ Σ_{i listed} exp(s_e(i)) + an estimate of the sum over the other rows

s_e is the expert's log-score. The estimate comes from a sample of rows, with two control variates, whose sums
over the catalogue are known: exp(b_e), where b_e is s_e with Δ_i = L_ii and without evidence, and
exp(b_e) (Δ_i / L_ii − 1), which is linear in the gain: its sum is a product of the cart's matrices with the
R×R matrix Σ_i exp(b_e(i)) / L_ii f_i f_iᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.kernel import BLOCK, FloatArray, Indices, Matrix, Vector
from ndpp.mixture import at
from ndpp.next_item import BASKETS, EXPERTS, HABIT, NO_VOTE, OWN, TOGETHER, NextItem, Prediction
from ndpp.sparse import find

POPULAR = 1_024  # rows that are always listed: those of the first block of `ndpp.bounds`
_MOMENT_ROWS = 100_000  # rows from which the R×R matrices are computed
_SIZE = 4  # items of the carts for which the probabilities of the sample are best
_SEED = 20_201  # of every sample: the same question gets the same answer in every process


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a catalogue that stand for the others: Σ_i weight_i x_i ≈ Σ_drawn worth · x.

    The sums leave out the most popular rows, which are always listed.
    """

    model: NextItem
    weights: Vector | None  # (M,), ≥ 0: of each row in the sums; None stands for ones
    popular: Indices  # the first rows with a weight, ascending
    drawn: Indices  # ascending, may repeat; none of the popular rows
    worth: Vector  # weight / (number of rows drawn · probability)
    is_whole: bool  # whether it holds every row with a weight, so that the sums are exact

    @classmethod
    def of(cls, model: NextItem, weights: Vector | None = None, *, count: int) -> Sample:
        """Draw `count` rows, evenly in the order of popularity."""
        allowed = np.arange(model.kernel.size) if weights is None else np.flatnonzero(weights > 0)
        popular, others = allowed[:POPULAR], allowed[POPULAR:]
        own = np.ones(len(others)) if weights is None else weights[others]
        if len(others) <= count:
            return cls(model, weights, popular, others, own, is_whole=True)
        probabilities = np.zeros(len(others))
        for expert in _gaining(model):
            shares = own * np.exp(base_scores(model, expert, _SIZE, others))
            probabilities += shares / shares.sum()
        borders = np.cumsum(probabilities)
        steps = (np.arange(count) + np.random.default_rng(_SEED).random(count)) * (borders[-1] / count)
        places = np.minimum(np.searchsorted(borders, steps, side="right"), len(others) - 1)
        worth = own[places] * borders[-1] / (count * probabilities[places])
        return cls(model, weights, popular, others[places], worth, is_whole=False)

    @cached_property
    def factors(self) -> FloatArray:
        """The rows of F that were drawn."""
        return self.model.kernel.factors[self.drawn]

    @cached_property
    def moments(self) -> dict[int, Matrix]:
        """Σ weight · exp(b_e) / L_ii f_i f_iᵀ for carts of `_SIZE` items, without popular rows, by expert."""
        kernel = self.model.kernel
        sample = self if self.is_whole else Sample.of(self.model, self.weights, count=_MOMENT_ROWS)
        found = {expert: np.zeros((kernel.rank, kernel.rank)) for expert in _gaining(self.model)}
        for start in range(0, len(sample.drawn), BLOCK):
            rows, worth = sample.drawn[start : start + BLOCK], sample.worth[start : start + BLOCK]
            factors = kernel.factors[rows]
            for expert in found:
                shares = worth * np.exp(
                    base_scores(self.model, expert, _SIZE, rows) - kernel.log_weights[rows]
                )
                found[expert] += (factors * shares[:, None].astype(factors.dtype)).T @ factors
        return found

    @cached_property
    def _totals(self) -> dict[int, Vector]:
        return {}

    def totals(self, size: int) -> Vector:
        """Σ weight · exp(b_e) of each expert for carts of `size` items, without the popular rows, (4,)."""
        found = self._totals.get(size)
        if found is None:
            found = np.zeros(len(EXPERTS))
            first = int(self.popular[-1]) + 1 if len(self.popular) else 0
            for start in range(first, self.model.kernel.size, 16 * BLOCK):
                rows = slice(start, min(start + 16 * BLOCK, self.model.kernel.size))
                for expert in _experts(self.model, size):
                    terms = np.exp(base_scores(self.model, expert, size, rows))
                    found[expert] += terms.sum() if self.weights is None else terms @ self.weights[rows]
            self._totals[size] = found
        return found


def _gaining(model: NextItem) -> list[int]:
    """The experts whose scores depend on the gain."""
    return [TOGETHER] if model.mixture.habit is None else [TOGETHER, HABIT]


def _experts(model: NextItem, size: int) -> list[int]:
    """The experts of a model that may have a weight."""
    mixture = model.mixture
    has = {TOGETHER: True, BASKETS: mixture.baskets, HABIT: mixture.habit, OWN: mixture.own_at(size)}
    return [expert for expert, exists in has.items() if exists]


def base_scores(model: NextItem, expert: int, size: int, rows: slice | Indices) -> Vector:
    """b_e of `rows` for carts of `size` items."""
    mixture, logs = model.mixture, model.kernel.log_weights[rows]
    if expert == BASKETS:
        assert mixture.baskets is not None
        return np.full(len(logs), at(mixture.baskets.power, size) * np.log(NO_VOTE))
    if expert == HABIT:
        assert mixture.habit is not None
        scores: Vector = (at(mixture.habit.gain, size) + at(mixture.habit.popularity, size)) * logs
        if model.baskets is not None:
            scores += at(mixture.habit.first, size) * model.baskets.log_first[rows]
        return scores
    if expert == OWN:
        return model.own_without_history(model.log_usual[rows], size, rows)
    return (at(mixture.together.gain, size) + at(mixture.together.popularity, size)) * logs


@dataclass(frozen=True, eq=False)
class Normalisers:
    """Estimated normalisers, and what they give for the rows they were computed from."""

    logs: list[float]  # log Z_e, ∞ without scores
    errors: Vector  # (4,): the standard error of Z_e as a share of it
    listed: Vector  # P(i | cart) of the listed rows

    def probabilities(self, prediction: Prediction, rows: Indices, gains: Vector) -> Vector:
        """P(i | cart) of some rows outside the cart, given their log-gains."""
        found = np.zeros(len(rows))
        for expert, weight in enumerate(prediction.weights):
            if weight and self.logs[expert] < np.inf:
                found += weight * np.exp(prediction.scores(expert, gains, found, rows) - self.logs[expert])
        return found


def estimate(
    prediction: Prediction, listed: Indices, gains: FloatArray, sample: Sample, drawn_gains: FloatArray
) -> Normalisers:
    """Estimate the normalisers from listed rows, ascending, with all popular ones, and a sample of all rows.

    Given are the gains of the listed rows and of the sample, from which rounding was not removed.
    """
    parts = _Parts.of(listed, gains, sample, drawn_gains)
    logs, errors = [np.inf] * len(EXPERTS), np.zeros(len(EXPERTS))
    probabilities = np.zeros(len(parts.rows))
    size, count = len(prediction.cart), len(listed)
    totals, in_cart = sample.totals(size), find(listed, np.sort(prediction.cart))[1]
    for expert, weight in enumerate(prediction.weights):
        if weight == 0:
            continue
        scores = prediction.scores(expert, parts.log_gains, probabilities, parts.rows)
        scores[:count][in_cart] = -np.inf
        highest = float(scores.max(initial=-np.inf))
        if highest == -np.inf:
            continue
        terms = np.exp(scores - highest)
        controls = [
            Control(np.exp(base_scores(sample.model, expert, size, parts.rows)), float(totals[expert]))
        ]
        if (moments := sample.moments.get(expert)) is not None:
            controls.append(parts.linear_control(prediction, expert, moments))
        rest, error = parts.rest(terms, controls)
        sum_ = float(terms[:count].sum()) + max(rest, 0.0)
        logs[expert] = highest + float(np.log(sum_))
        errors[expert] = error / sum_
        probabilities += weight / sum_ * terms
    return Normalisers(logs, errors, probabilities[:count])


def total_of(
    prediction: Prediction, norms: Normalisers, listed: Indices, sample: Sample, drawn_gains: FloatArray
) -> tuple[float, float]:
    """Σ weight · P(i | cart) over the rows of a sample's weights that are not listed, and its standard error.

    The popular rows of the sample are listed.
    """
    parts = _Parts.of(listed, np.zeros(len(listed)), sample, drawn_gains)
    size, drawn = len(prediction.cart), slice(len(listed), None)
    totals, rest = sample.totals(size), 0.0
    probabilities, base = np.zeros(len(parts.rows)), np.zeros(len(parts.rows))
    probabilities[drawn] = norms.probabilities(prediction, parts.rows[drawn], parts.log_gains[drawn])
    for expert, weight in enumerate(prediction.weights):
        if weight and norms.logs[expert] < np.inf:
            base += weight * np.exp(base_scores(sample.model, expert, size, parts.rows) - norms.logs[expert])
            rest += weight * float(totals[expert]) * float(np.exp(-norms.logs[expert]))
    return parts.rest(probabilities, [Control(base, rest)])


@dataclass(frozen=True, slots=True)
class Control:
    """A control variate: its values for the listed rows and those of a sample, and its sum over all rows."""

    values: Vector
    total: float  # Σ weight · value over the rows of the sample's weights, without the popular ones


@dataclass(frozen=True, eq=False)
class _Parts:
    """The listed rows, followed by the rows of a sample that are not listed."""

    sample: Sample
    rows: Indices
    gains: FloatArray
    count: int  # of the listed rows
    counted: Vector  # the weight of each listed row in the totals of the sample
    worth: Vector  # of the others

    @classmethod
    def of(cls, listed: Indices, gains: FloatArray, sample: Sample, drawn_gains: FloatArray) -> _Parts:
        """Join them."""
        new = ~find(sample.drawn, listed)[1]
        rows = np.concatenate([listed, sample.drawn[new]])
        counted = (~find(listed, sample.popular)[1]).astype(np.float64)
        if sample.weights is not None:
            counted *= sample.weights[listed]
        return cls(
            sample, rows, np.concatenate([gains, drawn_gains[new]]), len(listed), counted, sample.worth[new]
        )

    @cached_property
    def log_gains(self) -> Vector:
        """log Δ_i of all rows."""
        return self.sample.model.log_gains(self.gains, self.rows)

    @cached_property
    def _relative_losses(self) -> Vector:
        """1 − Δ_i / L_ii."""
        return 1 - self.gains / self.sample.model.kernel.weights[self.rows]

    def linear_control(self, prediction: Prediction, expert: int, moments: Matrix) -> Control:
        """exp(b_e) (1 − Δ_i / L_ii) at the size of carts for which the moments are known."""
        base = np.exp(base_scores(self.sample.model, expert, _SIZE, self.rows))
        left, right = prediction.conditional.left, prediction.conditional.right
        return Control(base * self._relative_losses, float(np.einsum("nr,rn->", right @ moments, left)))

    def rest(self, terms: Vector, controls: list[Control]) -> tuple[float, float]:
        """Σ weight · term over the rows that are not listed, and its standard error."""
        found = terms[self.count :] * self.worth
        known = [control.values[self.count :] * self.worth for control in controls]
        misses = [
            control.total - float(control.values[: self.count] @ self.counted) - float(values.sum())
            for control, values in zip(controls, known, strict=True)
        ]
        columns = np.array(known)
        # Least squares by the small normal equations: controls may be all 0, or multiples of each other.
        slopes = np.linalg.lstsq(columns @ columns.T, columns @ found, rcond=None)[0]
        errors = found - slopes @ columns
        error = 0.0 if self.sample.is_whole else float(np.sqrt(errors @ errors))
        return float(found.sum() + slopes @ misses), error
