"""P(next item | cart): the one scoring path of serving, tuning, evaluation and the gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.basket_index import BasketIndex
from ndpp.batch import condition_many
from ndpp.conditional import Conditional, condition
from ndpp.kernel import FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.mixture import Mixture, at
from ndpp.pairs import PairTable
from ndpp.relevance import Relevance

NO_VOTE = 1e-9  # what an item without votes counts as, beside 1 for the most similar basket
TOGETHER, BASKETS, HABIT = range(3)  # the experts
_LEAST = 1e-30  # the logarithm of L_ii needs a number above 0
_NUMBERS_AT_ONCE = 4_000_000  # gains of a batch of carts: 16 MB in float32

Sparse = tuple[Indices, Vector]  # rows, ascending, and a value for each


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about every item as the next one, given a cart: the input of the mixture."""

    state: Conditional
    log_gains: Vector  # (M,)
    relevance: Sparse  # log(r_i / floor) where r_i is above its floor
    votes: Sparse  # of the most similar training baskets


@dataclass(frozen=True, eq=False)
class NextItem:
    """A model that predicts the next item of a cart."""

    kernel: Kernel
    mixture: Mixture
    relevance: Relevance | None = None
    baskets: BasketIndex | None = None
    pairs: PairTable | None = field(default=None, repr=False)  # a faster way to gains in a small catalogue

    @cached_property
    def log_weights(self) -> Vector:
        """log L_ii."""
        return np.log(np.maximum(self.kernel.weights, _LEAST))

    @cached_property
    def log_usual(self) -> Vector:
        """log P(i | ∅): how likely each item is to be a basket's first."""
        with np.errstate(divide="ignore"):
            return np.log(self.given([]).probabilities)

    def given(self, cart: ArrayLike | Sequence[int]) -> Prediction:
        """The prediction for one cart."""
        state = condition(self.kernel, cart, decoupling=self.mixture.decoupling)
        if self.pairs is not None and self.pairs.suits(len(state.used)):
            gains: FloatArray = self.pairs.gains(state)
        else:
            gains = state.form.all_gains()
        return Prediction(self, self._evidence(state, gains))

    def given_each(self, carts: Sequence[ArrayLike]) -> Iterator[Prediction]:
        """The predictions for many carts; some at a time share one pass over F."""
        at_once = max(1, _NUMBERS_AT_ONCE // self.kernel.size)
        for start in range(0, len(carts), at_once):
            batch = condition_many(
                self.kernel, carts[start : start + at_once], decoupling=self.mixture.decoupling
            )
            for state, gains in zip(batch.states, batch.all_gains(), strict=True):
                yield Prediction(self, self._evidence(state, gains))

    def probabilities(self, carts: Sequence[ArrayLike]) -> Matrix:
        """P(i | cart) of every cart and item, (n, M)."""
        found = np.empty((len(carts), self.kernel.size))
        for row, prediction in zip(found, self.given_each(carts), strict=True):
            row[:] = prediction.probabilities
        return found

    def _evidence(self, state: Conditional, gains: FloatArray) -> Evidence:
        nothing: Sparse = (np.empty(0, dtype=np.intp), np.empty(0))
        relevance = votes = nothing
        if len(state.cart):
            if self.relevance is not None:
                rows, values = self.relevance.evidence(state.cart)
                relevance = rows, np.log(values / self.relevance.floor)
            if self.baskets is not None and self.mixture.baskets is not None:
                votes = self.baskets.votes(state.cart)
        return Evidence(state, self.logs(gains, slice(None)), relevance, votes)

    def logs(self, gains: FloatArray, rows: slice | Indices) -> Vector:
        """log max(Δ_i, least · L_ii) in float64; −∞ where that is 0."""
        logs = gains.astype(np.float64)
        np.maximum(logs, self.mixture.least_gain * self.kernel.weights[rows], out=logs)
        with np.errstate(divide="ignore"):
            return np.log(logs, out=logs)


@dataclass(frozen=True, eq=False)
class Prediction:
    """P(i | cart) of all items, and the share of each expert in it; 0 for items in the cart.

    The gains of the whole catalogue are in the precision of F; `exactly` computes those of a few rows in
    float64.
    """

    model: NextItem
    evidence: Evidence

    @property
    def cart(self) -> Indices:
        """The cart's rows, each once."""
        return self.evidence.state.cart

    @cached_property
    def weights(self) -> tuple[float, float, float]:
        """w_e of `together`, `baskets` and `habit`."""
        return self.model.mixture.weights(len(self.cart), votes=len(self.evidence.votes[0]) > 0)

    @cached_property
    def probabilities(self) -> Vector:
        """P(i | cart), (M,): sums to 1 unless no item is possible."""
        total, _ = self._parts
        return total

    @cached_property
    def _parts(self) -> tuple[Vector, tuple[float, float, float]]:
        """Σ_e w_e P_e, and for each expert the logarithm that its scores are normalised by."""
        evidence, everything = self.evidence, slice(None)
        total = np.zeros(self.model.kernel.size)
        norms = [np.inf, np.inf, np.inf]
        for expert, weight in enumerate(self.weights):
            if weight == 0:
                continue
            scores = self._scores(expert, evidence.log_gains, everything)
            scores[self.cart] = -np.inf
            highest = scores.max(initial=-np.inf)
            if highest == -np.inf:
                continue
            scores -= highest
            np.exp(scores, out=scores)
            sum_ = float(scores.sum())
            norms[expert] = float(highest) + float(np.log(sum_))
            scores *= weight / sum_
            total += scores
        return total, (norms[0], norms[1], norms[2])

    def _scores(self, expert: int, log_gains: Vector, rows: slice | Indices) -> Vector:
        """The log-score of an expert before it is normalised; `log_gains` are those of `rows`."""
        mixture, size = self.model.mixture, len(self.cart)
        if expert == BASKETS:
            assert mixture.baskets is not None
            scores = np.full(len(log_gains), np.log(NO_VOTE))
            _put(scores, (self.evidence.votes[0], np.log(self.evidence.votes[1] + NO_VOTE)), rows, add=False)
            scores *= at(mixture.baskets.power, size)
            return scores
        if expert == HABIT:
            assert mixture.habit is not None
            scores = at(mixture.habit.gain, size) * log_gains
            scores += at(mixture.habit.popularity, size) * self.model.log_weights[rows]
            if self.model.baskets is not None:
                scores += at(mixture.habit.first, size) * self.model.baskets.log_first[rows]
            return scores
        together = mixture.together
        scores = at(together.gain, size) * log_gains
        scores += at(together.popularity, size) * self.model.log_weights[rows]
        where, logs = self.evidence.relevance
        _put(scores, (where, at(together.relevance, size) * logs), rows, add=True)
        return scores

    def exactly(self, rows: Indices) -> Matrix:
        """w_e P_e(i | cart) of some rows outside the cart with gains in float64, (3, n)."""
        gains = self.evidence.state.form.gains(rows)  # 0 where a gain is no more than rounding
        logs = self.model.logs(gains, rows)
        shares = np.zeros((3, len(rows)))
        for expert, (weight, norm) in enumerate(zip(self.weights, self._parts[1], strict=True)):
            if weight and norm < np.inf:
                shares[expert] = weight * np.exp(self._scores(expert, logs, rows) - norm)
        return shares

    def leaving_out(self, rows: Indices) -> Matrix:
        """How far leaving each cart item out lowers the log-score of `together`, (cart, n)."""
        together, size = self.model.mixture.together, len(self.cart)
        state, prior = self.evidence.state, self.model.relevance
        gains = state.form.exact(rows)
        without = np.array([gains[column] - state.contributions(row) for column, row in enumerate(rows)])
        logs = self.model.logs(gains, rows)
        drops: Matrix = np.array(
            [logs - self.model.logs(each, rows) for each in without.reshape(len(rows), size).T]
        )
        drops = np.nan_to_num(drops, nan=0.0, posinf=0.0, neginf=0.0).reshape(size, len(rows))
        drops *= at(together.gain, size)
        if prior is not None:
            drops += at(together.relevance, size) * prior.drops(self.cart, rows)
        return drops


def _put(scores: Vector, values: Sparse, rows: slice | Indices, *, add: bool) -> None:
    """Add sparse values to the scores of `rows`, or set them."""
    where, numbers = values
    if isinstance(rows, slice):
        places = where
    else:
        position = np.searchsorted(where, rows)
        position[position == len(where)] = 0
        listed = where[position] == rows if len(where) else np.zeros(len(rows), dtype=np.bool_)
        places, numbers = np.flatnonzero(listed), numbers[position[listed]]
    if add:
        scores[places] += numbers
    else:
        scores[places] = numbers
