"""Choose the relevance prior and the decoupling ω by the likelihood of the validation baskets.

A trial is a choice of both with the mixture of experts fitted to it; its loss is the mean negative
log-likelihood of the next item. The search is a coordinate descent: it changes one hyperparameter at a time,
a step up or down, until no step helps. A new round then selects candidate items for the best choice and
continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ndpp import Kernel, NextItem
from ndpp.mixture import Mixture
from training.baskets import Baskets
from training.evaluation.queries import random_prefixes
from training.next_item.mixture import fit_mixture, gather
from training.next_item.search import Choice, Evidence, Search
from training.options import Effort
from training.recency import recency_weights

_MOST_QUERIES: dict[Effort, int] = {"quick": 1_200, "thorough": 4_000}  # in the search
_MOST_FINAL_QUERIES = 4_000  # in the final fit
_PREFIXES = 2  # per validation basket
_ROUNDS = 3  # most rounds
_SMALL_CATALOGUE = 6_000  # up to this size another regression takes only seconds
_ENDS = (1e-4, 1e2)  # beyond these values a hyperparameter has no further effect
_DECOUPLING = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)  # ω, from exact conditioning to independent cart items


@dataclass(frozen=True, slots=True)
class Trial:
    """A choice and its mean negative log-likelihood of the next item, in nats."""

    choice: Choice
    negative_log_likelihood: float

    def as_dict(self) -> dict[str, Any]:
        """For `tuning.json` and the manifest."""
        return {
            "relevance_prior": asdict(self.choice.prior),
            "decoupling": self.choice.decoupling,
            "negative_log_likelihood": round(self.negative_log_likelihood, 4),
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """All trials, best first, and the model of the best with its fitted mixture."""

    trials: list[Trial]
    queries: int
    trained: NextItem  # the best model, with prior and index of the training baskets only
    negative_log_likelihood: float  # of that mixture, on all queries
    without_determinant: float  # the same for the best mixture with exponents 0 of the gains
    interrupted: bool = False

    @property
    def mixture(self) -> Mixture:
        """The fitted mixture of the best choice."""
        return self.trained.mixture

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
    """Learn from `train`, evaluate trials on prefixes of `validation`; None if either is empty.

    `should_stop` is called before every trial; the mixture of the best choice so far is then still fitted.
    """
    if not len(validation) or not len(train):
        return None
    queries, owners = random_prefixes(validation, _PREFIXES, np.random.default_rng(seed))
    recency = recency_weights(validation, half_life_days)
    weights = np.ones(len(queries)) if recency is None else recency[owners]
    evidence = Evidence(kernel, train, half_life_days, seed)
    most = _MOST_QUERIES[effort]
    asked, steps = (queries.first(most), weights[:most]), _steps(effort, kernel.size)
    search, stopped = Search(evidence, *asked, Choice()), False
    for _ in range(_ROUNDS):
        stopped = _climb(search, steps, progress, should_stop)
        if stopped or search.best == search.begin:
            break
        again = Search(evidence, *asked, search.best, search)
        if again.loss_at_begin >= search.loss_at_begin:  # with its own candidates it is not better
            search.best = search.begin
            break
        search = again
    most = _MOST_FINAL_QUERIES
    model = evidence.model(search.best)
    final = gather(model, queries.first(most), weights[:most], seed)
    fitted = fit_mixture(final, search.tried[search.best])
    least = search.tried[search.best].loss
    trials = [Trial(choice, fit.loss) for choice, fit in search.tried.items() if fit.loss >= least]
    return Tuning(
        trials=sorted(trials, key=lambda trial: (trial.negative_log_likelihood, trial.choice != search.best)),
        queries=len(final),
        trained=replace(model, mixture=fitted.mixture(search.best.decoupling)),
        negative_log_likelihood=fitted.loss,
        without_determinant=fit_mixture(final, fitted, determinant=False).loss,
        interrupted=stopped,
    )


Step = Callable[[Choice, bool], Choice | None]  # one step up or down; None at a natural end


def _climb(
    search: Search,
    steps: Sequence[Step],
    progress: Callable[[int, int], None],
    should_stop: Callable[[], bool],
) -> bool:
    """Take steps while they help; True if `should_stop` ended the search."""
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
    """The steps of the search, each taken in both directions."""

    def decoupling(choice: Choice, up: bool) -> Choice | None:
        place = _DECOUPLING.index(choice.decoupling) + (1 if up else -1)
        return choice._replace(decoupling=_DECOUPLING[place]) if 0 <= place < len(_DECOUPLING) else None

    def scaled(name: str, factor: float) -> Step:
        def step(choice: Choice, up: bool) -> Choice | None:
            value = getattr(choice.prior, name) * (factor if up else 1 / factor)
            if not _ENDS[0] <= value <= _ENDS[1]:
                return None
            changed = replace(choice.prior, **{name: float(f"{value:.3g}")})
            return choice._replace(prior=changed)

        return step

    def similarity(choice: Choice, up: bool) -> Choice | None:
        found = scaled("similarity", 3)(choice, up)
        if found is None:
            return None
        support = min(max(1.3 * found.prior.similarity, 0.1), 1.0)  # support grows with similarity
        return found._replace(prior=replace(found.prior, support=float(f"{support:.3g}")))

    steps: list[Step] = []
    if items <= _SMALL_CATALOGUE:
        steps.append(scaled("ridge", 2.5))
        if effort == "thorough":
            steps.append(scaled("dropout", 2))
    return [*steps, decoupling, similarity, scaled("floor", 3)]
