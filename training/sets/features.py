"""Features of single items and of sets for carts drawn from baskets, and whether the basket holds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Indices, Vector
from ndpp.sets.prediction import SetPrediction
from ndpp.sets.probability import MOST_MISSING
from training.sets.queries import Query

_PROMISING, _SAMPLED = 40, 20  # sets of each size per query


@dataclass(frozen=True)
class SetFeatures:
    """n sets of one size, and the features of their queries."""

    places: Indices  # (n, m): the items' rows in the features of single items
    log_size: Vector  # (n,): log |Y|
    log_spread: Vector
    mean_lift: Vector  # mean log lift of the pairs
    counts: NDArray[np.float64]  # (n, 3): baskets that hold S, by missing items of the cart
    totals: NDArray[np.float64]  # (n, 3): all baskets
    held: Vector  # 1 if the basket holds S


@dataclass(frozen=True)
class ItemFeatures:
    """All candidates of all queries."""

    log_size: Vector
    log_further: Vector
    log_next: Vector
    log_common: Vector
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    held: Vector


Features = TypeVar("Features", ItemFeatures, SetFeatures)


def joined(parts: list[Features]) -> Features:
    """The rows of all parts."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return type(parts[0])(*(np.concatenate(column) for column in columns))


class CountedQuery:
    """The candidates of a query, counted in baskets by the number of cart items that they miss."""

    def __init__(self, prediction: SetPrediction, query: Query) -> None:
        self.prediction = prediction
        self.inside = np.isin(prediction.candidates, query.basket)
        levels = prediction.model.levels(len(query.cart))
        self._by_level = np.zeros((len(prediction.missing), MOST_MISSING + 1))
        weights = prediction.weights / levels[prediction.missing]
        self._by_level[np.arange(len(weights)), prediction.missing] = weights
        self._totals = self._by_level.sum(axis=0) + np.array([prediction.alone, 0.0, 0.0])
        self._members = np.ascontiguousarray(prediction.members.T.astype(np.bool_))  # (C, baskets)
        self._pairs = (prediction.members * prediction.weights[:, None]).T @ prediction.members  # (C, C)
        self._log_size = float(np.log(len(query.cart)))

    def items(self) -> ItemFeatures:
        """All candidates."""
        prediction, n = self.prediction, len(self.inside)
        return ItemFeatures(
            log_size=np.full(n, self._log_size),
            log_further=np.full(n, prediction.log_further),
            log_next=prediction.log_next,
            log_common=prediction.log_common,
            counts=self._members.astype(np.float64) @ self._by_level,
            totals=np.tile(self._totals, (n, 1)),
            held=self.inside.astype(np.float64),
        )

    def sets(self, size: int, first: int, rng: np.random.Generator) -> SetFeatures:
        """Some sets of `size` candidates, whose features as single items begin at row `first`."""
        prediction, sets = self.prediction, _all_sets(len(self.inside), size)
        pairs = list(combinations(range(size), 2))
        lifts: Vector = np.mean([prediction.log_lifts[sets[:, a], sets[:, b]] for a, b in pairs], axis=0)
        together: Vector = np.sum([self._pairs[sets[:, a], sets[:, b]] for a, b in pairs], axis=0)
        likely = prediction.log_next[sets].sum(axis=1) + (size - 1) * lifts
        sets_chosen = _chosen(likely, together, rng)
        sets, n = sets[sets_chosen], len(sets_chosen)
        return SetFeatures(
            places=sets + first,
            log_size=np.full(n, self._log_size),
            log_spread=np.full(n, prediction.log_spread),
            mean_lift=lifts[sets_chosen],
            counts=self._members[sets].all(axis=1).astype(np.float64) @ self._by_level,
            totals=np.tile(self._totals, (n, 1)),
            held=np.asarray(self.inside[sets].all(axis=1), dtype=np.float64),
        )


def _chosen(likely: Vector, together: Vector, rng: np.random.Generator) -> Indices:
    """The sets that are most promising by the model and by the counts, and a sample of the others."""
    best = np.union1d(
        np.argsort(-likely, kind="stable")[:_PROMISING], np.argsort(-together, kind="stable")[:_PROMISING]
    )
    others = np.setdiff1d(np.arange(len(likely)), best)
    return np.concatenate([best, rng.choice(others, min(_SAMPLED, len(others)), replace=False)])


@lru_cache(maxsize=256)
def _all_sets(candidates: int, size: int) -> Indices:
    """All sets of `size` of the candidates, (sets, size)."""
    return np.array(list(combinations(range(candidates), size)), dtype=np.intp).reshape(-1, size)
