"""Where the held-out item lands among all items that are not in the cart: counted, never sorted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.evaluation.queries import UNKNOWN, Queries
from training.recommender import Recommender

CARTS_AT_ONCE = 128  # at 40,000 items one batch of scores takes 40 MB


@dataclass(frozen=True, eq=False)
class Ranks:
    """For each query: how many candidates beat the target, how many tie with it, and how many there are."""

    better: NDArray[np.int64]  # (n,)
    tied: NDArray[np.int64]  # (n,): without the target itself
    candidates: NDArray[np.int64]  # (n,): items not in the cart, the target among them
    known: NDArray[np.bool_]  # (n,): False where the model does not know the target, which then ranks worst
    probability: NDArray[np.float64] | None = None  # (n,): P(target), from models that give probabilities


def rank_targets(model: Recommender, queries: Queries) -> Ranks:
    """Rank each query's target."""
    n = len(queries)
    better, tied, candidates = (np.zeros(n, dtype=np.int64) for _ in range(3))
    probability = np.zeros(n)
    for start in range(0, n, CARTS_AT_ONCE):
        batch = slice(start, start + CARTS_AT_ONCE)
        carts = queries.carts[batch]
        targets = queries.targets[batch]
        scores = np.array(model.scores(carts))  # (b, M), our own copy
        owners = np.repeat(np.arange(len(carts)), [len(cart) for cart in carts])
        scores[owners, np.concatenate(carts)] = -np.inf
        wanted = scores[np.arange(len(carts)), targets][:, None]  # UNKNOWN takes any column: see `known`
        better[batch] = np.count_nonzero(scores > wanted, axis=1)
        tied[batch] = np.count_nonzero(scores == wanted, axis=1) - 1
        candidates[batch] = np.count_nonzero(scores > -np.inf, axis=1)
        probability[batch] = wanted[:, 0]
    known = queries.targets != UNKNOWN
    given = np.where(known, probability, 0.0) if model.gives_probabilities else None
    return Ranks(better, tied, candidates, known, given)
