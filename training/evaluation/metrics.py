"""Metrics from ranks and set scores, with bootstrap intervals.

Ties count half: a target that ties with others takes each of the tied places with equal probability, and a
metric is the expectation over these places. Percentages are 0 to 100. Higher is better, except for the
negative log-likelihood of the held-out item, which only models with probabilities have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.evaluation.ranks import Ranks

Vector = NDArray[np.float64]
Interval = tuple[float, float]

HIT_AT = (1, 5, 10, 100)
RANK_METRICS = ("mpr", *(f"hit@{k}" for k in HIT_AT), "ndcg@10", "mrr")
NLL = "nll"
QUERY_METRICS = (*RANK_METRICS, NLL)
SET_METRICS = ("auc", "log_likelihood")
UNITS = {
    **dict.fromkeys(RANK_METRICS, "percent"),
    NLL: "nats per query",
    "auc": "fraction",
    "log_likelihood": "nats per basket",
}


_LEAST_PROBABILITY = 1e-9  # probability of an unknown item

RESAMPLES = 1000
_NDCG_CUT = 10


def decimal_places(metric: str) -> int:
    """The number of decimals to show."""
    return 3 if metric == "auc" else 2 if metric in (NLL, "log_likelihood") else 1


def rank_metrics(ranks: Ranks) -> dict[str, Vector]:
    """Each metric's value for every query; a target that is unknown to the model scores 0 percent."""
    first, places = ranks.better, ranks.tied + 1
    largest = int((first + places).max(initial=1))
    discount = 1 / np.log2(np.arange(1, largest + 1) + 1)
    discount[_NDCG_CUT:] = 0
    values = {"mpr": _percentile(ranks)}
    for k in HIT_AT:
        values[f"hit@{k}"] = np.clip((k - first) / places, 0, 1)
    values["ndcg@10"] = _mean_over_places(discount, first, places)
    values["mrr"] = _mean_over_places(1 / np.arange(1, largest + 1), first, places)
    percentages = {name: 100 * np.where(ranks.known, value, 0) for name, value in values.items()}
    if ranks.probability is None:
        return percentages
    return {**percentages, NLL: -np.log(np.maximum(ranks.probability, _LEAST_PROBABILITY))}


def _percentile(ranks: Ranks) -> Vector:
    """Percentile rank (the paper's appendix A): share of candidates ranked at or below the target."""
    worse = ranks.candidates - ranks.better - ranks.tied - 1
    share: Vector = (worse + 1 + ranks.tied / 2) / ranks.candidates
    return share


def _mean_over_places(gain: Vector, first: NDArray[np.int64], places: NDArray[np.int64]) -> Vector:
    """The mean of gain[first : first + places]."""
    running = np.concatenate([[0.0], np.cumsum(gain)])
    mean: Vector = (running[first + places] - running[first]) / places
    return mean


@dataclass(frozen=True, eq=False)
class Resampling:
    """How often each of n queries or baskets is drawn in each bootstrap resample; shared by all models."""

    draws: Vector  # (RESAMPLES, n)

    @classmethod
    def of(cls, n: int, seed: int) -> Resampling:
        """Seeded draws with replacement."""
        if n == 0:
            return cls(np.zeros((RESAMPLES, 0)))
        draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
        return cls(draws.astype(np.float64))

    def select(self, chosen: NDArray[np.bool_]) -> Resampling:
        """The resampling of a subset."""
        return Resampling(self.draws[:, chosen])


def interval(replicates: Vector) -> Interval:
    """The 95 % percentile interval."""
    low, high = np.nanpercentile(replicates, [2.5, 97.5])
    return float(low), float(high)


def mean_with_replicates(values: Vector, resampling: Resampling) -> tuple[float, Vector]:
    """The mean, and the mean in every resample; NaN for a resample without any of the values."""
    totals = resampling.draws.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return float(values.mean()), resampling.draws @ values / totals


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % bootstrap interval."""

    value: float
    interval: Interval


def estimate(values: Vector, resampling: Resampling) -> Estimate:
    """The mean of values; of the differences of two models it is a paired comparison."""
    mean, replicates = mean_with_replicates(values, resampling)
    return Estimate(mean, interval(replicates))


def auc_with_replicates(real: Vector, random: Vector, resampling: Resampling) -> tuple[float, Vector]:
    """P(real set scores above random one), ties half; a basket and its random set are resampled together."""
    order = np.argsort(random)
    below = np.searchsorted(random[order], real, side="left")
    up_to = np.searchsorted(random[order], real, side="right")

    def auc(draws: Vector) -> Vector:
        running = np.concatenate([np.zeros((len(draws), 1)), np.cumsum(draws[:, order], axis=1)], axis=1)
        wins = (running[:, below] + running[:, up_to]) / 2  # (resamples, n)
        with np.errstate(invalid="ignore"):
            share: Vector = (draws * wins).sum(axis=1) / draws.sum(axis=1) ** 2
        return share

    return float(auc(np.ones((1, len(real))))[0]), auc(resampling.draws)
