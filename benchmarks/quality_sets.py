"""Quality of sets: AUC of real against random baskets, completion of half baskets, and redundancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model_store import Knobs
from ndpp import Kernel, Relevance, Tilt, map_greedy
from training.baselines import LinearBaseline
from training.basket_matrix import basket_matrix
from training.baskets import Baskets, ItemRows
from training.evaluation.tripod import TripodModel
from training.recommender import Recommender
from training.splitting import Split

_COMPLETED = 500  # baskets to complete
_SMALLEST = 4  # items in the smallest basket to complete
_RARELY = 0.5  # substitutes are in fewer joint baskets than this share of the number expected by chance
_EXPECTED = 5  # fewest expected joint baskets to call a pair substitutes

Pairs = NDArray[np.bool_]  # (M, M)


def measure_sets(
    tripod: TripodModel, knobs: Knobs, others: Sequence[Recommender], parts: Split, seed: int
) -> dict[str, Any]:
    """The set metrics of Tripod and the baselines."""
    rng, train, test = np.random.default_rng(seed), parts.train, parts.test
    real = [basket for basket in test if len(basket) > 1]
    twins = popular_twins(real, train.counts, rng)
    likelihood = tripod.log_likelihoods(real)
    return {
        "baskets": len(real),
        "log_likelihood": float(likelihood.mean()),
        "log_likelihood_of_twins": float(tripod.log_likelihoods(twins).mean()),
        "auc": {
            "tripod": auc(likelihood, tripod.log_likelihoods(twins)),
            **{
                peer.name: auc(pair_scores(peer, real), pair_scores(peer, twins))
                for peer in others
                if isinstance(peer, LinearBaseline)
            },
        },
        "completion": _completion(tripod, knobs, others, parts, rng),
    }


def popular_twins(
    sets: Sequence[ItemRows], counts: NDArray[np.int64], rng: np.random.Generator
) -> list[ItemRows]:
    """For each set, a random one of the same size with items drawn independently by popularity."""
    chances = np.log(np.maximum(counts, 0.5))
    # The largest values of log p plus Gumbel noise are a draw without replacement.
    return [
        np.argpartition(-(chances + rng.gumbel(size=len(chances))), len(rows))[: len(rows)].astype(np.int32)
        for rows in sets
    ]


def pair_scores(peer: LinearBaseline, sets: Sequence[ItemRows]) -> NDArray[np.float64]:
    """The mean weight between the items of each set, over all pairs."""
    weights = peer.weights
    return np.array([float(weights[rows][:, rows].sum()) / (len(rows) * (len(rows) - 1)) for rows in sets])


def auc(real: NDArray[np.float64], made_up: NDArray[np.float64]) -> float:
    """How often a real set scores above its random twin of the same size; ties count half."""
    return float((np.sign(real - made_up) + 1).mean() / 2)


def _completion(
    tripod: TripodModel,
    knobs: Knobs,
    others: Sequence[Recommender],
    parts: Split,
    rng: np.random.Generator,
) -> dict[str, dict[str, float]]:
    """Recall of the other half of a basket given one half, and the share of substitutes in the answer."""
    shuffled = [rng.permutation(basket) for basket in parts.test if len(basket) >= _SMALLEST]
    shuffled = shuffled[:_COMPLETED]
    shown = [basket[: (len(basket) + 1) // 2] for basket in shuffled]
    hidden = [basket[(len(basket) + 1) // 2 :] for basket in shuffled]
    apart, kernel, relevance = substitutes(parts.train), tripod.kernel, tripod.model.relevance
    answers = {
        name: [
            _bundle(kernel, prior, served, cart, len(rest)) for cart, rest in zip(shown, hidden, strict=True)
        ]
        for name, prior, served in (("bundle", relevance, knobs), ("plain bundle", None, Knobs()))
    }
    for model in (tripod, *(other for other in others if not isinstance(other, TripodModel))):
        answers[model.name] = _top_lists(model, shown, [len(rest) for rest in hidden])
    return {
        name: {
            "recall": 100
            * float(np.mean([np.isin(r, a).mean() for a, r in zip(found, hidden, strict=True)])),
            "substitutes": _share_of_pairs(found, apart),
            "baskets": len(hidden),
        }
        for name, found in answers.items()
    }


def _bundle(
    kernel: Kernel, relevance: Relevance | None, knobs: Knobs, cart: ItemRows, k: int
) -> NDArray[np.intp]:
    """The greedy MAP completion, as in serving."""
    tilt = Tilt.popularity(kernel, knobs.popularity)
    if relevance is not None:
        tilt = tilt * Tilt.relevance(relevance, cart, knobs.relevance)
    bundle = map_greedy(kernel, k, cart=cart, tilt=tilt, decoupling=knobs.decoupling)
    return np.asarray(bundle.items, dtype=np.intp)


def _top_lists(
    model: Recommender, carts: Sequence[ItemRows], lengths: Sequence[int]
) -> list[NDArray[np.intp]]:
    lists = []
    for cart, length in zip(carts, lengths, strict=True):
        scores = np.array(model.scores([cart])[0])
        scores[cart] = -np.inf
        lists.append(np.argpartition(-scores, length)[:length])
    return lists


def substitutes(train: Baskets) -> Pairs:
    """Pairs with fewer than half of the joint baskets expected by chance."""
    X = basket_matrix(train).astype(np.float64)
    together = (X.T @ X).toarray()
    expected = np.outer(train.counts, train.counts) / len(train)
    rare: Pairs = (together < _RARELY * expected) & (expected >= _EXPECTED)
    np.fill_diagonal(rare, False)
    return rare


def _share_of_pairs(sets: Sequence[NDArray[np.intp]], apart: Pairs) -> float:
    """The share of these pairs among all pairs inside the sets, in percent."""
    inside = sum(int(apart[np.ix_(rows, rows)].sum()) for rows in sets)
    pairs = sum(len(rows) * (len(rows) - 1) for rows in sets)
    return 100 * inside / max(pairs, 1)
