"""The base of baselines that look at what shoppers bought before."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.baselines.base import Baseline, BaselineUnavailableError
from training.baskets import NOBODY, Baskets, ItemRows, merge
from training.evaluation.metrics import rank_metrics
from training.evaluation.queries import Protocol, Queries, hold_one_out
from training.evaluation.ranks import rank_targets
from training.histories import Histories, has_histories
from training.recommender import Pasts, Scores

_QUERIES = 1_000
_ROUNDS = 3  # of tuning each parameter in turn

Matrix = NDArray[np.float64]


class Purchases(NamedTuple):
    """The purchases of n shoppers: who, what, and in which basket, counted from the newest one."""

    shopper: NDArray[np.intp]  # (total,)
    item: NDArray[np.intp]  # (total,)
    basket: NDArray[np.intp]  # (total,): 0 for the shopper's newest basket
    baskets: NDArray[np.intp]  # (n,): how many baskets each shopper has

    @classmethod
    def of(cls, histories: Pasts) -> Purchases:
        """The purchases of each history; baskets of the same moment are one, which suits the peers better."""
        shoppers, items, baskets, counts = [], [], [], np.zeros(len(histories), np.intp)
        for number, history in enumerate(histories):
            if history is None:
                continue
            ages, place = np.unique(history.ages, return_inverse=True)
            pairs = np.unique(np.column_stack([place[history.visits], history.rows]), axis=0)
            shoppers.append(np.full(len(pairs), number))
            items.append(pairs[:, 1])
            baskets.append(pairs[:, 0])
            counts[number] = len(ages)
        nothing = np.empty(0, np.intp)
        return cls(
            np.concatenate([nothing, *shoppers]),
            np.concatenate([nothing, *items]),
            np.concatenate([nothing, *baskets]),
            counts,
        )

    def matrix(self, weights: NDArray[np.floating[Any]], size: int) -> sparse.csr_array:
        """The sum of the purchases' weights for each shopper and item, sparse (n, M)."""
        places = self.shopper, self.item
        return sparse.coo_array((weights, places), shape=(len(self.baskets), size)).tocsr()


class PersonalBaseline(Baseline):
    """Learns from the shoppers of the training baskets, and scores by the history given with a cart.

    Where nothing is known about an item, or about the shopper, it is ranked by popularity, after the others.
    """

    grid: ClassVar[Mapping[str, Sequence[float]]] = {}  # the values to try for each parameter

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:
        """Learn from what each shopper bought, and tune by NDCG@10 on validation baskets with histories."""
        if not has_histories(baskets):
            raise BaselineUnavailableError("the training baskets do not say who bought them and when")
        assert baskets.shoppers is not None
        assert baskets.timestamps is not None
        shoppers = np.unique(baskets.shoppers[baskets.shoppers != NOBODY])
        if not len(shoppers):
            raise BaselineUnavailableError("no training basket says who bought it")
        known, end = Histories(baskets), baskets.timestamps.max() + np.timedelta64(1, "s")
        self.shares = baskets.counts / max(len(baskets), 1)
        self.known = Purchases.of([known.before(int(shopper), end) for shopper in shoppers])
        self.learn()
        if self.grid and validation is not None and (queries := _queries(baskets, validation)) is not None:
            self._tune(queries)
        return self

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:
        """The scores of the shoppers' histories, whatever is in the carts; popularity without a score."""
        past = Purchases.of(histories if histories is not None else [None] * len(carts))
        scores = self.personal_scores(past)
        scores[past.baskets == 0] = 0
        return np.where(scores > 0, scores, self.shares - 2)  # below all others

    def learn(self) -> None:
        """Compute what `personal_scores` needs from `known` and the parameters."""

    @abstractmethod
    def personal_scores(self, past: Purchases) -> Matrix:
        """The score of every item for each shopper, (n, M); 0 if nothing speaks for an item."""

    def _tune(self, queries: Queries) -> None:
        """Change one parameter after the other for as long as that helps."""

        def quality() -> float:
            self.learn()
            return float(rank_metrics(rank_targets(self, queries))["ndcg@10"].mean())

        best, improved, rounds = quality(), True, 0
        while improved and rounds < _ROUNDS:
            improved, rounds = False, rounds + 1
            for name, values in self.grid.items():
                chosen = getattr(self, name)
                for value in values:
                    setattr(self, name, value)
                    if value != chosen and (found := quality()) > best:
                        best, chosen, improved = found, value, True
                setattr(self, name, chosen)
        self.learn()


def _queries(train: Baskets, validation: Baskets) -> Queries | None:
    """Queries of validation baskets whose shoppers have a history; None if there are none."""
    if not has_histories(validation):
        return None
    histories = Histories(merge(train, validation)).before_each(validation)
    asked = [n for n, history in enumerate(histories) if history is not None and validation.sizes[n] > 1]
    if not asked:
        return None
    chosen = validation.select(np.array(asked, dtype=np.int64))
    rng = np.random.default_rng(0)
    return hold_one_out(chosen, Protocol.TEMPORAL, rng, [histories[n] for n in asked]).first(_QUERIES)


def keep_largest(values: Matrix, most: int) -> sparse.csr_array:
    """The `most` largest values of each row, sparse."""
    n, size = values.shape
    most = min(most, size)
    chosen = np.argpartition(-values, most - 1, axis=1)[:, :most]
    kept = np.take_along_axis(values, chosen, axis=1)
    rows = np.repeat(np.arange(n), most)
    return sparse.csr_array((kept.ravel(), (rows, chosen.ravel())), shape=values.shape)
