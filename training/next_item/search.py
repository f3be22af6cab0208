"""Trials of the relevance prior and ω on one set of queries, for `tuning`."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndpp import Kernel, condition
from ndpp.basket_index import BasketIndex
from ndpp.next_item import NextItem
from training.baskets import Baskets
from training.evaluation.queries import Queries
from training.next_item.basket_index import index_baskets
from training.next_item.mixture import START, Array, Features, Fitted, fit_mixture, gather
from training.next_item.relevance_prior import CoPurchases, RelevanceOptions, strongest_neighbours


class Choice(NamedTuple):
    """The hyperparameters of one trial."""

    prior: RelevanceOptions = RelevanceOptions(similarity=0.15, support=0.2, floor=0.001)
    decoupling: float = 0.9


class Evidence:
    """What all trials share: the kernel, the basket index, and co-purchases of the training baskets."""

    def __init__(self, kernel: Kernel, train: Baskets, half_life_days: float | None, seed: int) -> None:
        self.kernel, self.seed = kernel, seed
        self.index: BasketIndex = index_baskets(train)
        bought = CoPurchases(train, half_life_days)
        self.similarities = bought.similarities()
        self.regression = lru_cache(maxsize=3)(bought.regression)

    def features(self, choice: Choice, queries: Queries, weights: Array) -> Features:
        """The features of the queries under a choice, as in serving."""
        model = self.model(choice, np.unique(np.concatenate(queries.carts)))
        return gather(model, queries, weights, self.seed)

    def model(self, choice: Choice, items: NDArray[np.int64] | None = None) -> NextItem:
        """The next-item model of a choice with a usual mixture, for carts of `items` (all if None)."""
        options = choice.prior
        regression = self.regression(options.ridge, options.dropout)
        relevance = strongest_neighbours(regression, self.similarities, options, items)
        return NextItem(self.kernel, START.mixture(choice.decoupling), relevance, self.index)


class Search:
    """Trials on the same queries and candidate items; only features that a choice changes are recomputed.

    The candidate items are the likely ones under the choice that the search begins with. The further a trial
    is from it, the more its loss depends on sampled candidates.
    """

    def __init__(
        self,
        evidence: Evidence,
        queries: Queries,
        weights: Array,
        begin: Choice,
        before: Search | None = None,
    ) -> None:
        self._evidence, self._carts = evidence, queries.carts
        self._earlier = 0 if before is None else before.count
        self.begin = self.best = begin
        self._features = evidence.features(self.best, queries, weights)
        self._rows = np.column_stack([self._features.rows, queries.targets])
        # Not caches of bound methods, which would keep the search and all its evidence in memory.
        self._gains: dict[float, Array] = {}
        self._votes: dict[tuple[float, float], Array] = {}
        start = START if before is None else before.tried[begin]
        self.tried: dict[Choice, Fitted] = {begin: fit_mixture(self._features, start)}

    @property
    def loss_at_begin(self) -> float:
        """The loss of the choice that the search began with."""
        return self.tried[self.begin].loss

    @property
    def count(self) -> int:
        """Number of trials, including earlier rounds."""
        return self._earlier + len(self.tried)

    def improves(self, candidate: Choice) -> bool:
        """Try a choice; keep it if it is better than the best so far."""
        features = replace(
            self._features,
            gain=self._gains_at(candidate.decoupling),
            relevance=self._log_relevance(candidate.prior),
        )
        before = self.tried[self.best]
        self.tried[candidate] = fit_mixture(features, before, quick=True)
        better = self.tried[candidate].loss < before.loss
        if better:
            self.best = candidate
        return better

    def _gains_at(self, decoupling: float) -> Array:
        """log Δ of the candidates."""
        if decoupling not in self._gains:
            model = NextItem(self._evidence.kernel, START.mixture(decoupling))
            states = (condition(model.kernel, cart, decoupling=decoupling) for cart in self._carts)
            self._gains[decoupling] = np.stack(
                [
                    model.log_gains(state.exact_gains(rows), rows)
                    for state, rows in zip(states, self._rows, strict=True)
                ]
            )
        return self._gains[decoupling]

    def _log_relevance(self, options: RelevanceOptions) -> Array:
        """log(r / floor) of the candidates, from all neighbours instead of only the strongest."""
        inside, outside = self._similarity_votes
        regression = self._regression_votes_at(options.ridge, options.dropout)
        weights = regression + options.similarity * inside + outside
        r = np.maximum(weights, options.support * (inside + outside))
        return np.log(np.maximum(r, options.floor) / options.floor)

    def _regression_votes_at(self, ridge: float, dropout: float) -> Array:
        """Σ_{y ∈ cart} B_yi of the candidates."""
        if (ridge, dropout) not in self._votes:
            regression = self._evidence.regression(ridge, dropout)
            head, votes = len(regression), np.zeros(self._rows.shape)
            for number, (cart, rows) in enumerate(zip(self._carts, self._rows, strict=True)):
                known = np.flatnonzero(rows < head)
                votes[number, known] = regression[np.ix_(cart[cart < head], rows[known])].sum(axis=0)
            self._votes[ridge, dropout] = votes
        return self._votes[ridge, dropout]

    @cached_property
    def _similarity_votes(self) -> tuple[Array, Array]:
        """Σ_{y ∈ cart} S_yi of the candidates, for pairs that the regression covers and for other pairs."""
        prior = Choice().prior
        size, head = self._evidence.kernel.size, len(self._evidence.regression(prior.ridge, prior.dropout))
        similarities = self._evidence.similarities
        inside, outside = np.zeros(self._rows.shape), np.zeros(self._rows.shape)
        for number, (cart, rows) in enumerate(zip(self._carts, self._rows, strict=True)):
            for part, target in ((cart[cart < head], inside), (cart[cart >= head], outside)):
                if len(part):
                    summed = np.asarray(similarities[part].sum(axis=0)).reshape(size)
                    target[number] += summed[rows]
            beyond = rows >= head
            outside[number, beyond] += inside[number, beyond]
            inside[number, beyond] = 0
        return inside, outside
