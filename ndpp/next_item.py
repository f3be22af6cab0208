"""P(next item | cart, history): the scoring used by serving, tuning, evaluation and the publication gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.basket_index import BasketIndex
from ndpp.batch import condition_many
from ndpp.conditional import Conditional, condition
from ndpp.dense_kernel import DenseKernel
from ndpp.history import Evidence, History
from ndpp.kernel import FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.mixture import Mixture, Own, at
from ndpp.relevance import Relevance
from ndpp.sparse import Sparse, find, nothing

NO_VOTE = 1e-9  # the votes of an item without votes; a basket of the highest similarity votes with 1
TOGETHER, BASKETS, HABIT, OWN = EXPERTS = range(4)
_OWN_SCALE = 0.15  # of s_i in `Own`
_LEAST = 1e-300  # probability, for logarithms
_NUMBERS_AT_ONCE = 4_000_000  # gains of a batch of carts: 16 MB in float32


@dataclass(frozen=True, eq=False)
class NextItem:
    """A model that predicts the next item of a cart."""

    kernel: Kernel
    mixture: Mixture
    relevance: Relevance | None = None
    baskets: BasketIndex | None = None
    dense: DenseKernel | None = field(default=None, repr=False)  # faster gains in a small catalogue

    @cached_property
    def log_usual(self) -> Vector:
        """log P(i | ∅): the next item of an empty cart."""
        with np.errstate(divide="ignore"):
            return np.log(self.given([]).probabilities)

    def given(self, cart: ArrayLike | Sequence[int], history: History | None = None) -> Prediction:
        """The prediction for one cart, of a shopper with this history."""
        conditional = condition(self.kernel, cart, decoupling=self.mixture.decoupling)
        return self._prediction(conditional, None, history)

    def given_each(
        self, carts: Sequence[ArrayLike], histories: Sequence[History | None] | None = None
    ) -> Iterator[Prediction]:
        """The predictions for many carts; batches of them share one pass over F."""
        past = iter(histories if histories is not None else [None] * len(carts))
        at_once = max(1, _NUMBERS_AT_ONCE // self.kernel.size)
        for start in range(0, len(carts), at_once):
            batch = condition_many(
                self.kernel, carts[start : start + at_once], decoupling=self.mixture.decoupling
            )
            for conditional, gains in zip(batch.conditionals, batch.all_fast_gains(), strict=True):
                yield self._prediction(conditional, gains, next(past))

    def probabilities(
        self, carts: Sequence[ArrayLike], histories: Sequence[History | None] | None = None
    ) -> Matrix:
        """P(i | cart) of every cart and item, (n, M)."""
        found = np.empty((len(carts), self.kernel.size))
        for row, prediction in zip(found, self.given_each(carts, histories), strict=True):
            row[:] = prediction.probabilities
        return found

    def all_gains(self, conditional: Conditional) -> FloatArray:
        """The gains of all items in the precision of F; rounding can make them negative."""
        if self.dense is not None and self.dense.suits(len(conditional.used)):
            return self.dense.gains(conditional)
        return conditional.all_fast_gains()

    def _prediction(
        self, conditional: Conditional, gains: FloatArray | None, history: History | None
    ) -> Prediction:
        relevance = votes = nothing()
        if len(conditional.cart):
            relevance = self.log_relevance(conditional.cart)
            if self.baskets is not None and self.mixture.baskets is not None:
                votes = self.baskets.votes(conditional.cart)
        if self.mixture.own is None or self.baskets is None:
            history = None
        return Prediction(self, conditional, relevance, votes, history, gains)

    def own_without_history(self, log_others: Vector, size: int, rows: slice | Indices) -> Vector:
        """The log-scores of `own` for `rows` that no history concerns, given log Σ w_e P_e of the others."""
        own = self.mixture.own_at(size)
        assert own is not None
        assert self.baskets is not None
        scores: Vector = at(own.cart, size) * log_others
        scores += at(own.popularity, size) * self.kernel.log_weights[rows]
        scores += at(own.first, size) * self.baskets.log_first[rows]
        return scores

    def log_relevance(self, items: Indices) -> Sparse:
        """log(r_i / floor) of the items that are relevant to these."""
        if self.relevance is None:
            return nothing()
        rows, values = self.relevance.above_floor(items)
        return rows, np.log(values / self.relevance.floor)

    def evidence(self, history: History, own: Own) -> Evidence:
        """What a history says about its items and others, computed once for each history."""
        key = self, own.days
        found = history.evidence.get(key)
        if found is None:
            recent, often = self.own_counts(history, own.days, own.longest_gap)
            found = Evidence(recent, often, self.log_relevance(history.main_items))
            history.evidence[key] = found
        return found

    def own_counts(self, history: History, days: float, longest_gap: float = np.inf) -> tuple[Vector, Vector]:
        """log(1 + recent_i / s_i) and log(1 + count_i / s_i) of the history's items, see `Own`."""
        assert self.baskets is not None
        scale = _OWN_SCALE * np.exp(-0.5 * self.baskets.rarity[history.items].astype(np.float64))
        recent = history.decayed_counts(days, longest_gap)
        return np.log1p(recent / scale), np.log1p(history.counts / scale)

    def log_gains(self, gains: FloatArray, rows: slice | Indices) -> Vector:
        """log max(Δ_i, least_gain · L_ii) of `rows` in float64; −∞ where that is 0."""
        logs = gains.astype(np.float64)
        np.maximum(logs, self.mixture.least_gain * self.kernel.weights[rows], out=logs)
        with np.errstate(divide="ignore"):
            return np.log(logs, out=logs)


@dataclass(frozen=True, eq=False)
class Prediction:
    """P(i | cart) of all items and the share of each expert in it; 0 for items in the cart.

    Probabilities of the whole catalogue use gains in the precision of F; `expert_shares` uses float64.
    """

    model: NextItem
    conditional: Conditional
    relevance: Sparse  # log(r_i / floor) of the rows with r_i above the floor
    votes: Sparse  # of the most similar training baskets
    history: History | None = None  # None also if the model does not use histories
    gains: FloatArray | None = None  # of all items, if a batch of carts computed them together

    @property
    def cart(self) -> Indices:
        """The cart's rows, each once."""
        return self.conditional.cart

    @property
    def log_usual(self) -> Vector:
        """log P(i | ∅), (M,)."""
        return self.model.log_usual

    @cached_property
    def log_gains(self) -> Vector:
        """log Δ_i of all items, (M,): a pass over the kernel."""
        gains = self.model.all_gains(self.conditional) if self.gains is None else self.gains
        return self.model.log_gains(gains, slice(None))

    @cached_property
    def weights(self) -> tuple[float, float, float, float]:
        """w_e of `together`, `baskets`, `habit` and `own`."""
        mixture, size = self.model.mixture, len(self.cart)
        together, baskets, habit = mixture.weights(size, votes=len(self.votes[0]) > 0)
        own = mixture.own_at(size)
        if self.history is None or own is None:
            return together, baskets, habit, 0.0
        share = own.share(size, self.history.baskets, self.history.holds(self.cart))
        return (1 - share) * together, (1 - share) * baskets, (1 - share) * habit, share

    @cached_property
    def probabilities(self) -> Vector:
        """P(i | cart), (M,): sums to 1 unless no item is possible."""
        return self._total_and_norms[0]

    @cached_property
    def _total_and_norms(self) -> tuple[Vector, list[float]]:
        """Σ_e w_e P_e, and the log of each expert's normaliser (∞ without scores)."""
        total, norms = np.zeros(self.model.kernel.size), [np.inf] * len(EXPERTS)
        for expert, weight in enumerate(self.weights):  # `own` is the last: it uses the sum of the others
            if weight == 0:
                continue
            scores = self.scores(expert, self.log_gains, total, slice(None))
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
        return total, norms

    def scores(self, expert: int, log_gains: Vector, before: Vector, rows: slice | Indices) -> Vector:
        """The log-scores of an expert for `rows`, before normalisation.

        Given are the log-gains of these rows, and Σ w_e P_e over the experts before this one.
        """
        if expert == OWN:
            return self._own_scores(before, rows)
        mixture, size, kernel = self.model.mixture, len(self.cart), self.model.kernel
        if expert == BASKETS:
            assert mixture.baskets is not None
            scores = np.full(len(log_gains), np.log(NO_VOTE))
            places, votes = _restricted(self.votes, rows)
            scores[places] = np.log(votes + NO_VOTE)
            scores *= at(mixture.baskets.power, size)
            return scores
        if expert == HABIT:
            assert mixture.habit is not None
            scores = at(mixture.habit.gain, size) * log_gains
            scores += at(mixture.habit.popularity, size) * kernel.log_weights[rows]
            if self.model.baskets is not None:
                scores += at(mixture.habit.first, size) * self.model.baskets.log_first[rows]
            return scores
        together = mixture.together
        scores = at(together.gain, size) * log_gains
        scores += at(together.popularity, size) * kernel.log_weights[rows]
        places, logs = _restricted(self.relevance, rows)
        scores[places] += at(together.relevance, size) * logs
        return scores

    def _own_scores(self, others: Vector, rows: slice | Indices) -> Vector:
        """The log-scores of `own` for `rows`, given Σ w_e P_e of the other experts."""
        scores = self.model.own_without_history(np.log(np.maximum(others, _LEAST)), len(self.cart), rows)
        for values in self._own_boosts:
            places, logs = _restricted(values, rows)
            scores[places] += logs
        return scores

    @cached_property
    def listed(self) -> Indices:
        """The rows about which there is evidence beyond their gain, and those of the cart; may repeat."""
        boosts = self._own_boosts if self.weights[OWN] else ()
        return np.concatenate([self.cart, self.relevance[0], self.votes[0], *(rows for rows, _ in boosts)])

    @cached_property
    def _own_boosts(self) -> tuple[Sparse, Sparse]:
        """What the history adds to the log-scores of its items, and of items related to them."""
        model, history, size = self.model, self.history, len(self.cart)
        own = model.mixture.own_at(size)
        assert own is not None
        assert model.baskets is not None
        assert history is not None
        found = model.evidence(history, own)
        boosts = at(own.recent, size) * found.recent + at(own.often, size) * found.often
        boosts += at(own.votes, size) * np.log1p(history.votes(self.cart, model.baskets.rarity))
        boosts += at(own.known, size) * model.kernel.log_weights[history.items]
        rows, logs = found.related
        return (history.items, boosts), (rows, at(own.related, size) * logs)

    def expert_shares(self, rows: Indices) -> Matrix:
        """w_e P_e(i | cart) of some rows outside the cart, from gains in float64, (4, n)."""
        return self.shares_under(self._total_and_norms[1], rows)

    def shares_under(self, norms: Sequence[float], rows: Indices) -> Matrix:
        """The same, given the log of each expert's normaliser."""
        logs = self.model.log_gains(self.conditional.gains_of(rows), rows)
        shares = np.zeros((len(EXPERTS), len(rows)))
        for expert, (weight, norm) in enumerate(zip(self.weights, norms, strict=True)):
            if weight and norm < np.inf:
                scores = self.scores(expert, logs, shares.sum(axis=0), rows)
                shares[expert] = weight * np.exp(scores - norm)
        return shares

    def leaving_out(self, rows: Indices) -> Matrix:
        """The drop of the log-score of `together` if one cart item is left out, (cart, n)."""
        together, size, model = self.model.mixture.together, len(self.cart), self.model
        gains = self.conditional.exact_gains(rows)
        without = np.array(
            [gains[column] - self.conditional.contributions(row) for column, row in enumerate(rows)]
        )
        logs = model.log_gains(gains, rows)
        drops: Matrix = np.array(
            [logs - model.log_gains(each, rows) for each in without.reshape(len(rows), size).T]
        )
        drops = np.nan_to_num(drops, nan=0.0, posinf=0.0, neginf=0.0).reshape(size, len(rows))
        drops *= at(together.gain, size)
        if model.relevance is not None:
            drops += at(together.relevance, size) * model.relevance.drops(self.cart, rows)
        return drops


def _restricted(values: Sparse, rows: slice | Indices) -> Sparse:
    """The sparse values of `rows`, by position in `rows`; a slice stands for the whole catalogue."""
    if isinstance(rows, slice):
        return values
    places, found = find(rows, values[0])
    return np.flatnonzero(found), values[1][places[found]]
