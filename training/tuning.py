"""Choosing the relevance prior and the decoupling ω by the likelihood of the validation baskets.

A trial is a prior and an ω, with the mixture of experts fitted to them; its merit is the mean negative
log-likelihood of the next item (see `mixture`). The search changes one choice at a time, by a step up or
down, and ends where no step helps: no choice lies at the edge of what was tried, but for natural ends. Then
it is judged again with candidate items of its own, and the search goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from ndpp import Kernel, condition
from ndpp.basket_index import BasketIndex
from ndpp.mixture import Mixture
from ndpp.next_item import NextItem
from training.basket_index import index_baskets
from training.baskets import Baskets
from training.evaluation.queries import Queries, random_prefixes
from training.mixture import START, Array, Features, Fitted, fit_mixture, gather
from training.neighbours import CoPurchases, NeighbourOptions, strongest_neighbours
from training.recency import recency_weights

Effort = Literal["quick", "thorough"]
Tune = Literal["none", Effort]

_MOST_QUERIES: dict[Effort, int] = {"quick": 1_200, "thorough": 4_000}  # of the search
_MOST_FINAL_QUERIES = 4_000  # of the fit of the chosen one
_PREFIXES = 2  # of each validation basket
_ROUNDS = 3  # searches at most, each with candidate items that suit the best choice of the one before
_SMALL_CATALOGUE = 6_000  # up to here another regression costs seconds
_ENDS = (1e-4, 1e2)  # a share beyond these changes nothing any more: natural ends of the search
_DECOUPLING = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)  # ω, from exact conditioning to independent cart items


class Choice(NamedTuple):
    """What a trial tries."""

    neighbours: NeighbourOptions = NeighbourOptions(similarity=0.15, support=0.2, floor=0.001)
    decoupling: float = 0.9


@dataclass(frozen=True, slots=True)
class Trial:
    """A choice, and the mean negative log-likelihood of the next item with it, in nats."""

    choice: Choice
    negative_log_likelihood: float

    def as_dict(self) -> dict[str, Any]:
        """For `tuning.json` and the manifest."""
        return {
            "relevance_prior": asdict(self.choice.neighbours),
            "decoupling": self.choice.decoupling,
            "negative_log_likelihood": round(self.negative_log_likelihood, 4),
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """All trials, the best first, and the mixture that was fitted for the best."""

    trials: list[Trial]
    queries: int
    mixture: Mixture
    negative_log_likelihood: float  # of that mixture, on all queries
    without_determinant: float  # the same of the best mixture whose experts know no gains
    interrupted: bool = False  # the search had not ended

    @property
    def choice(self) -> Choice:
        """The best one."""
        return self.trials[0].choice

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "queries": self.queries,
            **self.trials[0].as_dict(),
            "negative_log_likelihood": round(self.negative_log_likelihood, 4),
            "without_determinant": round(self.without_determinant, 4),
        }


def tune(
    kernel: Kernel,
    train: Baskets,
    validation: Baskets,
    *,
    effort: Effort,
    half_life_days: float | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Tuning | None:
    """Search, learning from `train` and judging on prefixes of `validation`; None if that is empty.

    `should_stop` is asked after every trial; the mixture of the best so far is fitted all the same.
    """
    if not len(validation) or not len(train):
        return None
    queries, owners = random_prefixes(validation, _PREFIXES, np.random.default_rng(seed))
    recency = recency_weights(validation, half_life_days)
    weights = np.ones(len(queries)) if recency is None else recency[owners]
    workbench = Workbench(kernel, train, half_life_days, seed)
    most = _MOST_QUERIES[effort]
    asked, steps = (queries.first(most), weights[:most]), _steps(effort, kernel.size)
    search, stopped = _Search(workbench, *asked, Choice()), False
    for _ in range(_ROUNDS):
        stopped = _climb(search, steps, progress, should_stop)
        if stopped or search.best == search.begin:
            break
        again = _Search(workbench, *asked, search.best, search)
        if again.loss_at_begin >= search.loss_at_begin:  # the candidates had suited another choice
            search.best = search.begin
            break
        search = again
    most = _MOST_FINAL_QUERIES
    final = workbench.features(search.best, queries.first(most), weights[:most])
    fitted = fit_mixture(final, search.tried[search.best])
    least = search.tried[search.best].loss
    trials = [Trial(choice, fit.loss) for choice, fit in search.tried.items() if fit.loss >= least]
    return Tuning(
        trials=sorted(trials, key=lambda trial: trial.negative_log_likelihood),
        queries=len(final),
        mixture=fitted.mixture(search.best.decoupling),
        negative_log_likelihood=fitted.loss,
        without_determinant=fit_mixture(final, fitted, determinant=False).loss,
        interrupted=stopped,
    )


Step = Callable[[Choice, bool], Choice | None]  # one step up or down; None at a natural end


def _climb(
    search: _Search,
    steps: Sequence[Step],
    progress: Callable[[int, int], None],
    should_stop: Callable[[], bool],
) -> bool:
    """Take steps while they help; True if it was told to stop before the end."""
    begun: Choice | None = None
    while begun != search.best:
        begun = search.best
        for step, up in product(steps, (True, False)):
            while (candidate := step(search.best, up)) is not None and candidate not in search.tried:
                if should_stop():
                    return True
                progress(search.count, search.count + len(steps))
                if not search.improves(candidate):
                    break
    progress(search.count, search.count)
    return False


def _steps(effort: Effort, items: int) -> list[Step]:
    """What is tried, each in both directions."""

    def decoupling(choice: Choice, up: bool) -> Choice | None:
        place = _DECOUPLING.index(choice.decoupling) + (1 if up else -1)
        return choice._replace(decoupling=_DECOUPLING[place]) if 0 <= place < len(_DECOUPLING) else None

    def scaled(name: str, factor: float) -> Step:
        def step(choice: Choice, up: bool) -> Choice | None:
            value = getattr(choice.neighbours, name) * (factor if up else 1 / factor)
            if not _ENDS[0] <= value <= _ENDS[1]:
                return None
            changed = replace(choice.neighbours, **{name: float(f"{value:.3g}")})
            return choice._replace(neighbours=changed)

        return step

    def similarity(choice: Choice, up: bool) -> Choice | None:
        found = scaled("similarity", 3)(choice, up)
        if found is None:
            return None
        support = min(max(1.3 * found.neighbours.similarity, 0.1), 1.0)  # the second opinion goes with it
        return found._replace(neighbours=replace(found.neighbours, support=float(f"{support:.3g}")))

    steps: list[Step] = []
    if items <= _SMALL_CATALOGUE:
        steps.append(scaled("ridge", 2.5))
        if effort == "thorough":
            steps.append(scaled("dropout", 2))
    return [*steps, decoupling, similarity, scaled("floor", 3)]


class Workbench:
    """What every trial shares: the kernel, and what was counted in the training baskets."""

    def __init__(self, kernel: Kernel, train: Baskets, half_life_days: float | None, seed: int) -> None:
        self.kernel, self.seed = kernel, seed
        self.index: BasketIndex = index_baskets(train)
        bought = CoPurchases(train, half_life_days)
        self.similarities = bought.similarities()
        self.regression = lru_cache(maxsize=3)(bought.regression)

    def features(self, choice: Choice, queries: Queries, weights: Array) -> Features:
        """The features of the queries as the choice would be served."""
        options = choice.neighbours
        regression = self.regression(options.ridge, options.dropout)
        relevance = strongest_neighbours(regression, self.similarities, options)
        mixture = START.mixture(choice.decoupling)
        model = NextItem(self.kernel, mixture, relevance, self.index)
        return gather(model, queries, weights, self.seed)


class _Search:
    """Trials on the same queries and candidate items; only what a choice changes is computed again.

    The candidates are those that matter to the choice it begins at, whose loss is exact. The further a trial
    is from there, the more of what matters to it is only sampled.
    """

    def __init__(
        self,
        workbench: Workbench,
        queries: Queries,
        weights: Array,
        begin: Choice,
        before: _Search | None = None,
    ) -> None:
        self._workbench, self._carts = workbench, queries.carts
        self._earlier = 0 if before is None else before.count
        self.begin = self.best = begin
        self._features = workbench.features(self.best, queries, weights)
        self._rows = np.column_stack([self._features.rows, queries.targets])
        self._gains = lru_cache(maxsize=None)(self._gains_at)
        self._votes = lru_cache(maxsize=4)(self._regression_votes_at)
        start = START if before is None else before.tried[begin]
        self.tried: dict[Choice, Fitted] = {begin: fit_mixture(self._features, start)}

    @property
    def loss_at_begin(self) -> float:
        """The loss of the choice that the candidates were taken for."""
        return self.tried[self.begin].loss

    @property
    def count(self) -> int:
        """Trials so far, with those of earlier rounds."""
        return self._earlier + len(self.tried)

    def improves(self, candidate: Choice) -> bool:
        """Try a choice, and keep it if it is better than the best so far."""
        features = replace(
            self._features,
            gain=self._gains(candidate.decoupling),
            relevance=self._log_relevance(candidate.neighbours),
        )
        before = self.tried[self.best]
        self.tried[candidate] = fit_mixture(features, before, quick=True)
        better = self.tried[candidate].loss < before.loss
        if better:
            self.best = candidate
        return better

    def _gains_at(self, decoupling: float) -> Array:
        """log Δ of the candidates."""
        model = NextItem(self._workbench.kernel, START.mixture(decoupling))
        states = (condition(model.kernel, cart, decoupling=decoupling) for cart in self._carts)
        return np.stack(
            [model.logs(state.form.exact(rows), rows) for state, rows in zip(states, self._rows, strict=True)]
        )

    def _log_relevance(self, options: NeighbourOptions) -> Array:
        """log(r / floor) of the candidates, from all neighbours instead of the strongest."""
        inside, outside = self._similarity_votes
        weights = self._votes(options.ridge, options.dropout) + options.similarity * inside + outside
        r = np.maximum(weights, options.support * (inside + outside))
        return np.log(np.maximum(r, options.floor) / options.floor)

    def _regression_votes_at(self, ridge: float, dropout: float) -> Array:
        """Σ_{y ∈ cart} B_yi of the candidates."""
        regression = self._workbench.regression(ridge, dropout)
        head, votes = len(regression), np.zeros(self._rows.shape)
        for number, (cart, rows) in enumerate(zip(self._carts, self._rows, strict=True)):
            known = np.flatnonzero(rows < head)
            votes[number, known] = regression[np.ix_(cart[cart < head], rows[known])].sum(axis=0)
        return votes

    @cached_property
    def _similarity_votes(self) -> tuple[Array, Array]:
        """Σ_{y ∈ cart} S_yi of the candidates, where both items take part in the regression and elsewhere."""
        size, head = self._workbench.kernel.size, len(self._workbench.regression(*_penalties(Choice())))
        similarities = self._workbench.similarities
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


def _penalties(choice: Choice) -> tuple[float, float]:
    return choice.neighbours.ridge, choice.neighbours.dropout
