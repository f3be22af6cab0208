"""The rank of the held-out item among all items that are not in the cart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.baskets import UNKNOWN
from training.evaluation.queries import Queries
from training.recommender import Recommender

CARTS_AT_ONCE = 128  # with 40,000 items a batch of scores takes 40 MB


@dataclass(frozen=True, eq=False)
class Ranks:
    """For each query, the number of candidates above the target, of ties, and of all candidates."""

    better: NDArray[np.int64]  # (n,)
    tied: NDArray[np.int64]  # (n,): without the target itself
    candidates: NDArray[np.int64]  # (n,): items not in the cart, including the target
    known: NDArray[np.bool_]  # (n,): False if the target is unknown to the model
    probability: NDArray[np.float64] | None = None  # (n,): P(target), if the model gives probabilities


def rank_targets(model: Recommender, queries: Queries) -> Ranks:
    """Rank each query's target."""
    n = len(queries)
    better, tied, candidates = (np.zeros(n, dtype=np.int64) for _ in range(3))
    probability = np.zeros(n)
    for start in range(0, n, CARTS_AT_ONCE):
        batch = slice(start, start + CARTS_AT_ONCE)
        carts = queries.carts[batch]
        targets = queries.targets[batch]
        histories = None if queries.histories is None else queries.histories[batch]
        scores = np.array(model.scores(carts, histories))  # (b, M), a copy to write to
        owners = np.repeat(np.arange(len(carts)), [len(cart) for cart in carts])
        scores[owners, np.concatenate(carts)] = -np.inf
        wanted = scores[np.arange(len(carts)), targets][:, None]  # arbitrary for UNKNOWN, see `known`
        better[batch] = np.count_nonzero(scores > wanted, axis=1)
        tied[batch] = np.count_nonzero(scores == wanted, axis=1) - 1
        candidates[batch] = np.count_nonzero(scores > -np.inf, axis=1)
        probability[batch] = wanted[:, 0]
    known = queries.targets != UNKNOWN
    given = np.where(known, probability, 0.0) if model.gives_probabilities else None
    return Ranks(better, tied, candidates, known, given)
