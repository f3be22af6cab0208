"""Compute the metrics of several models on the same queries and baskets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from training.baskets import ItemRows
from training.evaluation.metrics import (
    NLL,
    SET_METRICS,
    UNITS,
    Estimate,
    Interval,
    Resampling,
    Vector,
    auc_with_replicates,
    estimate,
    interval,
    mean_with_replicates,
    rank_metrics,
)
from training.evaluation.next_basket import NextBasketEvaluation
from training.evaluation.queries import Protocol, Queries
from training.evaluation.ranks import rank_targets
from training.evaluation.sets import random_twins
from training.recommender import Recommender

# Basket sizes, with the held-out item: 1, 2, 3, 4–5, 6–9, 10–17, … (carts of 1, 2, 3–4, 5–8, 9–16, …).
_SIZE_EDGES = np.array([1, 2, 3, 4, 6, 10, 18, 34])

PAIRED = ("hit@10", "ndcg@10")  # the metrics of paired differences

Parts = Sequence[NDArray[np.bool_]]
Figure = tuple[float, Vector]  # a metric's value, and its value in every resample


@dataclass(frozen=True)
class Metrics:
    """A model's metrics on a group of queries and baskets; None if a metric does not apply to the model."""

    values: dict[str, float | None]
    intervals: dict[str, Interval] = field(default_factory=dict)
    queries: int = 0
    baskets: int = 0

    def as_json(self) -> dict[str, object]:
        """Values at the top level, next to the intervals."""
        return {**self.values, "queries": self.queries, "baskets": self.baskets, "intervals": self.intervals}


@dataclass(frozen=True)
class Evaluation:
    """All models' metrics, overall and by basket size, and the skipped models with the reason."""

    protocol: Protocol
    seed: int
    models: dict[str, Metrics]
    by_size: dict[str, dict[str, Metrics]]  # model → "2", "3", "4-5" … → metrics
    skipped: dict[str, str]
    paired: dict[str, dict[str, Estimate]] = field(default_factory=dict)  # model → metric: first minus model
    next_basket: NextBasketEvaluation | None = None

    def as_json(self) -> dict[str, object]:
        """The form of `evaluate --json`."""
        models = {
            name: metrics.as_json()
            | {"by_size": {size: m.as_json() for size, m in self.by_size[name].items()}}
            for name, metrics in self.models.items()
        }
        document: dict[str, object] = {
            "protocol": str(self.protocol),
            "seed": self.seed,
            "units": UNITS,
            "models": models,
            "skipped": self.skipped,
        }
        if self.paired:
            document["paired"] = {
                name: {metric: asdict(found) for metric, found in differences.items()}
                for name, differences in self.paired.items()
            }
        if self.next_basket is not None:
            document["next_basket"] = self.next_basket.as_json()
        return document


def evaluate_models(
    models: Iterable[Recommender],
    queries: Queries,
    sets: Sequence[ItemRows],
    items: int,
    *,
    protocol: Protocol = Protocol.PAPER,
    seed: int = 0,
    skipped: dict[str, str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Rank the queries' targets, and compare the sets with uniformly random ones over `items` items.

    If the queries have histories, the first model is also compared with each other one, query by query.
    """
    twins = random_twins(sets, items, np.random.default_rng(seed))
    evaluator = _Evaluator(queries, sets, twins, protocol, seed)
    overall, by_size, paired = {}, {}, {}
    first: dict[str, Vector] = {}
    for model in models:
        progress(model.name)
        ranked = rank_metrics(rank_targets(model, queries))
        overall[model.name], by_size[model.name] = evaluator.evaluate(model, ranked)
        if queries.histories is not None and first:
            paired[model.name] = {
                name: estimate(first[name] - ranked[name], evaluator.query_draws) for name in PAIRED
            }
        first = first or ranked
    return Evaluation(protocol, seed, overall, by_size, skipped or {}, paired)


class _Evaluator:
    """Evaluates each model on the same queries, random sets and bootstrap resamples."""

    def __init__(
        self,
        queries: Queries,
        sets: Sequence[ItemRows],
        twins: Sequence[ItemRows],
        protocol: Protocol,
        seed: int,
    ) -> None:
        self.sets, self.twins = sets, twins
        self.query_draws = Resampling.of(len(queries), seed)
        self.set_draws = Resampling.of(len(sets), seed)
        self.basket_sizes = queries.cart_sizes + 1
        self.set_sizes = np.array([len(rows) for rows in sets], dtype=np.int64)
        # As in the released code, buckets are by cart size for queries, but by basket size for sets.
        bucketed = protocol is Protocol.PUBLISHED
        largest = int(max(self.basket_sizes.max(initial=1), self.set_sizes.max(initial=1)))
        self.query_parts = _thirds(queries.cart_sizes, largest) if bucketed else _whole(len(queries))
        self.set_parts = _thirds(self.set_sizes, largest) if bucketed else _whole(len(sets))

    def evaluate(self, model: Recommender, ranked: dict[str, Vector]) -> tuple[Metrics, dict[str, Metrics]]:
        """The model's metrics, overall and by basket size."""
        real, random = model.log_likelihoods(self.sets), model.log_likelihoods(self.twins)
        scores = None if real is None or random is None else (real, random)
        overall = self._metrics(ranked, scores, self.query_parts, self.set_parts)
        by_size = {}
        for label, low, high in size_groups(int(self.basket_sizes.max(initial=1))):
            chosen = (self.basket_sizes >= low) & (self.basket_sizes < high)
            chosen_sets = (self.set_sizes >= low) & (self.set_sizes < high)
            if chosen.any() or chosen_sets.any():
                by_size[label] = self._metrics(ranked, scores, [chosen], [chosen_sets])
        return overall, by_size

    def _metrics(
        self,
        ranked: dict[str, Vector],
        scores: tuple[Vector, Vector] | None,
        query_parts: Parts,
        set_parts: Parts,
    ) -> Metrics:
        figures: dict[str, Figure | None] = {
            name: _mean_of_parts(
                [mean_with_replicates(values[p], self.query_draws.select(p)) for p in query_parts if p.any()]
            )
            for name, values in ranked.items()
        }
        figures |= dict.fromkeys((*({NLL} - ranked.keys()), *SET_METRICS))
        everything = np.logical_or.reduce(set_parts)
        if scores is not None and everything.any():
            real, random = scores
            figures["auc"] = _mean_of_parts(
                [
                    auc_with_replicates(real[p], random[p], self.set_draws.select(p))
                    for p in set_parts
                    if p.any()
                ]
            )
            figures["log_likelihood"] = mean_with_replicates(
                real[everything], self.set_draws.select(everything)
            )
        return Metrics(
            values={name: figure and figure[0] for name, figure in figures.items()},
            intervals={name: interval(figure[1]) for name, figure in figures.items() if figure},
            queries=int(sum(part.sum() for part in query_parts)),
            baskets=int(sum(part.sum() for part in set_parts)),
        )


def size_groups(largest: int) -> list[tuple[str, int, int]]:
    """Label, first size and last size + 1 of each group, for basket sizes up to `largest`."""
    edges = [int(edge) for edge in _SIZE_EDGES if edge <= largest]
    ends = [*(int(edge) for edge in _SIZE_EDGES[1 : len(edges)]), largest + 1]
    return [
        (str(low) if high - low <= 1 else f"{low}-{high - 1}", low, high)
        for low, high in zip(edges, ends, strict=True)
    ]


def _whole(n: int) -> Parts:
    return [np.ones(n, dtype=np.bool_)]


def _thirds(sizes: NDArray[np.int64], largest: int) -> Parts:
    """Three buckets of equal width in log10(size), from 1 to the largest basket."""
    width = max(np.log10(largest), 1e-9) / 3
    # The small shift keeps a size exactly on an edge in the upper bucket despite rounding.
    bucket = np.minimum((np.log10(sizes) / width + 1e-9).astype(np.int64), 2)
    return [bucket == third for third in range(3)]


def _mean_of_parts(figures: Sequence[Figure]) -> Figure | None:
    """The unweighted mean over the parts, None if there are none."""
    if not figures:
        return None
    values, replicates = zip(*figures, strict=True)
    return float(np.mean(values)), np.asarray(replicates).mean(axis=0)
