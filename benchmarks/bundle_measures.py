"""Measures of whole bundles on unseen baskets: a bundle counts only if the basket holds all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bundle_peers import ADDED, Choose, Trained
from benchmarks.quality_sets import auc, pair_scores, popular_twins
from ndpp import BasketIndex, RelatedItems
from ndpp.kernel import Indices, Vector
from ndpp.sets import Constraints, best_set
from training.baskets import Baskets, ItemRows
from training.evaluation.sets import log_likelihoods
from training.next_item.basket_index import index_baskets
from training.statistics.lifts import count_lifts
from training.statistics.pair_counts import PairCounts

POPULAR_SEEDS = 200
RARE_SEEDS, RARE = 400, (15, 60)  # seeds, and the fewest and most training baskets with such a seed
CART_SIZES, CARTS = (3, 5), 1_000
CLAIM_SIZES, CLAIMS = (1, 2, 3, 5), 1_500
COMPARED = 2_000  # baskets for the AUC
BINS = 5
Z95 = 1.96
Figures = dict[str, Any]


def seed_rows(counts: NDArray[np.int64], rng: np.random.Generator) -> dict[str, Indices]:
    """The most bought items, and random ones that were bought rarely."""
    rare = np.flatnonzero((counts >= RARE[0]) & (counts <= RARE[1]))
    return {
        "popular": np.argsort(-counts, kind="stable")[:POPULAR_SEEDS],
        "rare": np.sort(rng.permutation(rare)[:RARE_SEEDS]),
    }


def measure_seeds(ways: dict[str, Choose], seeds: Indices, test: Baskets) -> Figures:
    """The share of unseen baskets with a seed that also hold the two items chosen for it."""
    index, counts = index_baskets(test, most=len(test) + 1), test.counts
    bought = seeds[counts[seeds] > 0]
    totals = counts[bought].astype(np.float64)
    hits = {
        name: np.array([held(index, seed, choose(np.array([seed], dtype=np.int32))) for seed in bought])
        for name, choose in ways.items()
    }
    return {"baskets": int(totals.sum()), "seeds": len(bought), "ways": shares(hits, totals)}


def held(index: BasketIndex, seed: int, chosen: Indices) -> int:
    """Baskets that hold the seed and all chosen items."""
    return len(index.holding([seed, *chosen])[0]) if len(chosen) == ADDED else 0


def measure_carts(ways: dict[str, Choose], size: int, test: Baskets, rng: np.random.Generator) -> Figures:
    """The share of unseen baskets that hold the two items chosen for a random cart drawn from them."""
    large = rng.permutation(np.flatnonzero(test.sizes >= size + ADDED))[:CARTS]
    carts = [rng.permutation(test[number])[:size] for number in large]
    hits = {
        name: np.array([_holds(test[n], choose(cart)) for n, cart in zip(large, carts, strict=True)])
        for name, choose in ways.items()
    }
    return {"baskets": len(large), "ways": shares(hits, np.ones(len(large)))}


def _holds(basket: ItemRows, chosen: Indices) -> bool:
    return len(chosen) == ADDED and bool(np.isin(chosen, basket).all())


def shares(hits: dict[str, NDArray[Any]], totals: Vector) -> dict[str, dict[str, float]]:
    """Σ hits / Σ totals in percent, Tripod's lead over it, and half of the lead's 95 % interval.

    Baskets of one seed are not independent, so the interval is that of a ratio of sums over seeds:
    variance = S / (S − 1) · Σ_s (D_s − lead · n_s)² / (Σ n_s)², D_s = difference in hits.
    """
    found, everything, clusters = {}, float(totals.sum()), len(totals)
    for name, own in hits.items():
        if clusters < 2:
            continue
        ahead = (hits["tripod"] - own.astype(np.float64)).astype(np.float64)
        lead = float(ahead.sum()) / everything
        variance = clusters / (clusters - 1) * float(((ahead - lead * totals) ** 2).sum()) / everything**2
        found[name] = {
            "share": 100 * float(own.sum()) / everything,
            "lead": 100 * lead,
            "half": 100 * Z95 * variance**0.5,
        }
    return found


def measure_auc(trained: Trained, rng: np.random.Generator) -> Figures:
    """How often an unseen basket scores above a random one of its size, drawn by popularity.

    Tripod's score of a basket is chosen on the validation baskets, with lifts of the training baskets alone.
    """
    parts, kernel = trained.parts, trained.kernel
    lifts = count_lifts(PairCounts(parts.train), kernel, trained.statistics.lifts.prior)
    chosen = _real_and_twins(parts.validation, parts.train.counts, rng)
    validation = {
        "log_lift": auc(*(mean_log_lifts(RelatedItems(kernel, lifts), sets) for sets in chosen)),
        "determinant": auc(*(log_likelihoods(kernel, sets) for sets in chosen)),
    }
    pair = _real_and_twins(parts.test, trained.known.counts, rng)
    wins = {
        "log_lift": _wins(*(mean_log_lifts(trained.predictor.relations, sets) for sets in pair)),
        "determinant": _wins(*(log_likelihoods(kernel, sets) for sets in pair)),
        **{name: _wins(*(pair_scores(peer, sets) for sets in pair)) for name, peer in trained.linear.items()},
    }
    best = max(validation, key=lambda name: validation[name])
    wins = {"tripod": wins[best], **wins}
    del wins["log_lift"]
    return {
        "baskets": len(pair[0]),
        "chosen": best,
        "validation": validation,
        "ways": shares(wins, np.ones(len(pair[0]))),
    }


def _real_and_twins(
    baskets: Baskets, counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[list[ItemRows], list[ItemRows]]:
    real = [baskets[number] for number in rng.permutation(np.flatnonzero(baskets.sizes > 1))[:COMPARED]]
    return real, popular_twins(real, counts, rng)


def _wins(real: Vector, twins: Vector) -> Vector:
    """1 for a real basket above its twin, 0.5 for a tie; the mean is the AUC."""
    above: Vector = (np.sign(real - twins) + 1) / 2
    return above


def mean_log_lifts(relations: RelatedItems, sets: Sequence[ItemRows]) -> Vector:
    """The mean log lift of all pairs of each set."""
    means = []
    for rows in sets:
        one, other = np.triu_indices(len(rows), 1)
        means.append(float(np.log(relations.between(rows[one], rows[other]).lift).mean()))
    return np.array(means)


def measure_claims(trained: Trained, size: int, rng: np.random.Generator) -> Figures:
    """The claimed probability of the best pair for random carts, and how often it came true."""
    everything = Constraints(np.ones(trained.kernel.size))
    claimed, counted, true = [], [], []
    for cart, basket in claim_queries(trained.parts.test, size, rng):
        prediction = trained.predictor.given(cart)
        chosen = best_set(prediction, ADDED, everything)
        if len(chosen) == ADDED:
            places = np.searchsorted(prediction.candidates, chosen).tolist()
            claimed.append(prediction.probability_of_best(places))
            counted.append(_by_counts(trained, cart, chosen))
            true.append(_holds(basket, chosen))
    return claims(np.array(claimed), np.array(counted), np.array(true, dtype=np.float64))


def claim_queries(test: Baskets, size: int, rng: np.random.Generator) -> list[tuple[ItemRows, ItemRows]]:
    """Carts and their baskets: random items of all baskets, or one cart of each basket of at least `size`."""
    if size == 1:
        owners = np.repeat(np.arange(len(test)), test.sizes)
        entries = rng.permutation(len(owners))[:CLAIMS]
        return [(test.items[entry : entry + 1], test[owners[entry]]) for entry in entries]
    large = rng.permutation(np.flatnonzero(test.sizes >= size))[:CLAIMS]
    return [(rng.permutation(test[number])[:size], test[number]) for number in large]


def _by_counts(trained: Trained, cart: ItemRows, chosen: Indices) -> float:
    """(c + 0.5) / (n + 1): n known baskets hold the cart, and c of them hold the chosen items too."""
    index = trained.index
    # The index has no baskets of one item.
    n = int(trained.known.counts[cart[0]]) if len(cart) == 1 else len(index.holding(cart)[0])
    return (len(index.holding([*cart, *chosen])[0]) + 0.5) / (n + 1)


def claims(claimed: Vector, counted: Vector, true: Vector) -> Figures:
    """Means, log-losses in nats, and a reliability table with bins of equal size."""
    if len(true) < BINS:
        return {"carts": len(true)}
    constant = np.full(len(true), np.clip(true.mean(), 1e-6, 1 - 1e-6))
    losses = {
        name: log_loss(chance, true)
        for name, chance in (("tripod", claimed), ("counts", counted), ("constant", constant))
    }
    order = np.array_split(np.argsort(claimed, kind="stable"), BINS)
    return {
        "carts": len(true),
        "claimed": float(claimed.mean()),
        "true": float(true.mean()),
        "half": Z95 * float(np.std(true - claimed)) / len(true) ** 0.5,
        "log_loss": {
            name: {
                "mean": float(loss.mean()),
                "lead": float((loss - losses["tripod"]).mean()),
                "half": Z95 * float(np.std(loss - losses["tripod"])) / len(true) ** 0.5,
            }
            for name, loss in losses.items()
        },
        "bins": [
            {"claimed": float(claimed[own].mean()), "true": float(true[own].mean()), "carts": len(own)}
            for own in order
        ],
    }


def log_loss(chance: Vector, true: Vector) -> Vector:
    """−log P of what happened."""
    loss: Vector = -np.where(true > 0, np.log(chance), np.log1p(-chance))
    return loss
