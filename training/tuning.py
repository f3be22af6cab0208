"""Choosing the relevance prior and the knobs ω, β, γ on held-out items of the validation baskets.

Everything that is tried is scored from the same matrices: the log-gains of all items for all queries (one for
each ω) and the evidence of each prior. A trial is then one weighted sum and a count of who beats the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from model_store import Knobs
from ndpp import Kernel, Relevance, condition_many
from training.baselines.base import indicators
from training.baskets import Baskets, ItemRows
from training.evaluation.metrics import rank_metrics
from training.evaluation.ranks import Ranks
from training.neighbours import CoPurchases, NeighbourOptions, strongest_neighbours
from training.recency import recency_weights

Effort = Literal["quick", "thorough"]
Tune = Literal["none", Effort]

_MOST_QUERIES = 4_000
_MOST_SCORES = 40_000_000  # queries × items: 160 MB for each matrix
_CARTS_AT_ONCE = 128
_SMALL_CATALOGUE = 6_000  # up to here another regression costs seconds

_DECOUPLING = {"quick": (0.0, 0.5, 0.9, 1.0), "thorough": (0.0, 0.3, 0.5, 0.8, 0.9, 1.0)}  # ω
_STRENGTH = {"quick": (1.0, 2.0, 4.0, 8.0), "thorough": (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)}  # β
_POPULARITY = (-0.6, -0.4, -0.2, 0.0, 0.2, 0.4)  # γ
_FLOORS = (0.0003, 0.001, 0.003, 0.01)
_Choices = tuple[tuple[float, float], ...]
_SIMILARITY: _Choices = ((0.0, 0.1), (0.05, 0.1), (0.2, 0.3), (0.5, 0.5), (1.5, 1.0))  # added, and as support
# (ridge, dropout): the middle one comes first, for it is all that large catalogues try.
_PENALTIES: dict[Effort, _Choices] = {
    "quick": ((20.0, 0.5), (10.0, 0.25), (50.0, 0.5), (150.0, 0.5)),
    "thorough": tuple(product((20.0, 5.0, 10.0, 50.0, 150.0), (0.5, 0.25, 1.0))),
}

_TINY = np.finfo(np.float32).tiny
_NOTHING = -1e30  # the log of no gain: so low that no evidence and no popularity can be seen beside it

Scores = NDArray[np.float32]  # (n, M)


@dataclass(frozen=True, slots=True)
class Trial:
    """One prior (None: without) and its knobs, and how they did on the queries, in percent."""

    neighbours: NeighbourOptions | None
    knobs: Knobs
    hit10: float
    ndcg10: float
    mpr: float

    @property
    def merit(self) -> float:
        """What is maximised: the head of the list and all of it count."""
        return self.hit10 + self.ndcg10 + self.mpr

    def as_dict(self) -> dict[str, Any]:
        """For `tuning.json` and the manifest."""
        return {
            "knobs": asdict(self.knobs),
            "relevance_prior": None if self.neighbours is None else asdict(self.neighbours),
            "hit@10": round(self.hit10, 2),
            "ndcg@10": round(self.ndcg10, 2),
            "mpr": round(self.mpr, 2),
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """All trials, the best first."""

    trials: list[Trial]
    queries: int
    interrupted: bool = False  # there was more to try

    @property
    def best(self) -> Trial:
        """The choice."""
        return self.trials[0]


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
    """Try priors learned from `train`, and knobs, on queries from `validation`; None if it has no query.

    `should_stop` is asked after every prior.
    """
    exam = Exam(kernel, validation, seed, half_life_days)
    if not exam.carts:
        return None
    penalties, similarity = _PENALTIES[effort], _SIMILARITY
    if kernel.size > _SMALL_CATALOGUE:
        penalties, similarity = penalties[:1], similarity[::2]
    in_all = len(penalties) * len(similarity) + 1
    trials = [exam.trial(Knobs(decoupling=omega)) for omega in _DECOUPLING[effort]]
    kept: dict[NeighbourOptions, Relevance] = {}
    for number, (options, relevance) in enumerate(
        _priors(CoPurchases(train, half_life_days), penalties, similarity)
    ):
        progress(number, in_all)
        evidence = exam.log_evidence(relevance)
        tried = [
            exam.trial(Knobs(omega, beta), options, evidence)
            for omega, beta in product(_DECOUPLING[effort], _STRENGTH[effort])
        ]
        if not kept or max(tried, key=_merit).merit > max(trials, key=_merit).merit:
            kept = {options: relevance}
        trials += tried
        if stopped := should_stop():
            break
    else:
        progress(in_all - 1, in_all)
        trials += _refine(exam, max(trials, key=_merit), kept)
        progress(in_all, in_all)
    return Tuning(sorted(trials, key=_merit, reverse=True), len(exam.carts), stopped)


def _merit(trial: Trial) -> float:
    return trial.merit


def _priors(
    bought: CoPurchases, penalties: _Choices, shares: _Choices
) -> Iterator[tuple[NeighbourOptions, Relevance]]:
    similarities = bought.similarities()
    for ridge, dropout in penalties:
        regression = bought.regression(ridge, dropout)
        for similarity, support in shares:
            options = NeighbourOptions(ridge, dropout, similarity, support)
            yield options, strongest_neighbours(regression, similarities, options)


def _refine(exam: Exam, best: Trial, priors: dict[NeighbourOptions, Relevance]) -> Iterator[Trial]:
    """Around the best trial: the popularity knob, and the floor of its prior if it has one."""
    if best.neighbours is None:
        yield from (exam.trial(replace(best.knobs, popularity=gamma)) for gamma in _POPULARITY if gamma)
        return
    for floor in _FLOORS:
        options = replace(best.neighbours, floor=floor)
        evidence = exam.log_evidence(replace(priors[best.neighbours], floor=floor))
        for gamma in _POPULARITY:
            if gamma or options != best.neighbours:
                yield exam.trial(replace(best.knobs, popularity=gamma), options, evidence)


class Exam:
    """Queries, and all that trials share."""

    def __init__(
        self, kernel: Kernel, baskets: Baskets, seed: int, half_life_days: float | None = None
    ) -> None:
        several = baskets.select(np.flatnonzero(baskets.sizes > 1))
        most = min(_MOST_QUERIES, max(1, _MOST_SCORES // kernel.size))
        self.carts, self.targets, owners = _leave_one_out(several, most, np.random.default_rng(seed))
        self.weights = 1 / np.bincount(owners)[owners]  # every basket counts the same, or by its age
        recency = recency_weights(several, half_life_days) if len(several) else None
        if recency is not None:
            self.weights = self.weights * recency[owners]
        self._kernel = kernel
        self._popularity = np.log(np.maximum(kernel.weights, _TINY)).astype(np.float32)
        self._log_gains = cache(self._log_gains_uncached)

    def trial(
        self, knobs: Knobs, neighbours: NeighbourOptions | None = None, evidence: Scores | None = None
    ) -> Trial:
        """Rank every target among the items that are not in its cart."""
        gains = self._log_gains(knobs.decoupling)
        better, tied = (np.zeros(len(self.carts), dtype=np.int64) for _ in range(2))
        for batch in self._batches():
            scores = gains[batch] - np.float32(knobs.popularity) * self._popularity
            if evidence is not None:
                scores += np.float32(knobs.relevance) * evidence[batch]
            wanted = scores[np.arange(len(scores)), self.targets[batch]][:, None]
            better[batch] = np.count_nonzero(scores > wanted, axis=1)
            tied[batch] = np.count_nonzero(scores == wanted, axis=1) - 1
        candidates = self._kernel.size - np.array([len(cart) for cart in self.carts])
        marks = rank_metrics(Ranks(better, tied, candidates, np.ones(len(self.carts), dtype=bool)))
        hit10, ndcg10, mpr = (
            float(np.average(marks[name], weights=self.weights)) for name in ("hit@10", "ndcg@10", "mpr")
        )
        return Trial(neighbours, knobs, hit10, ndcg10, mpr)

    def log_evidence(self, relevance: Relevance) -> Scores:
        """log r_i(Y) of every item, for all queries."""
        size = self._kernel.size
        votes = [
            sparse.csr_array((weights, relevance.neighbours, relevance.offsets), (size, size))
            for weights in (relevance.weights, relevance.support)
            if weights is not None
        ]
        evidence = np.empty((len(self.carts), size), dtype=np.float32)
        for batch in self._batches():
            carts = indicators(self.carts[batch], size)
            largest = np.maximum.reduce([(carts @ each).toarray() for each in votes])
            np.log(np.maximum(largest, relevance.floor), out=evidence[batch])
        return evidence

    def _log_gains_uncached(self, decoupling: float) -> Scores:
        """log Δ_i of every item, for all queries; −∞ for what is in the cart."""
        logs = np.empty((len(self.carts), self._kernel.size), dtype=np.float32)
        for batch in self._batches():
            carts = self.carts[batch]
            gains = condition_many(self._kernel, carts, decoupling=decoupling).gains()
            logs[batch] = np.where(gains > 0, np.log(np.maximum(gains, _TINY)), _NOTHING)
            owners = np.repeat(np.arange(len(carts)), [len(cart) for cart in carts])
            logs[batch][owners, np.concatenate(carts)] = -np.inf
        return logs

    def _batches(self) -> Iterator[slice]:
        return (slice(at, at + _CARTS_AT_ONCE) for at in range(0, len(self.carts), _CARTS_AT_ONCE))


def _leave_one_out(
    baskets: Baskets, most: int, rng: np.random.Generator
) -> tuple[list[ItemRows], NDArray[np.int64], NDArray[np.int64]]:
    """Carts, the item taken out of each, and the number of the basket it comes from.

    Round by round, so that every basket gives one query before any gives a second.
    """
    shuffled = [rng.permutation(basket) for basket in baskets]
    rounds = (
        (number, turn)
        for turn in range(max(map(len, shuffled), default=0))
        for number, basket in enumerate(shuffled)
        if turn < len(basket)
    )
    chosen = [where for where, _ in zip(rounds, range(most), strict=False)]
    owners = np.array([number for number, _ in chosen], dtype=np.int64)
    carts = [np.sort(np.delete(shuffled[number], turn)) for number, turn in chosen]
    targets = np.array([shuffled[number][turn] for number, turn in chosen], dtype=np.int64)
    return carts, targets, owners
