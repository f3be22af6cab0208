"""Metrics compared with the definition, over all orders of tied items."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from training.baskets import UNKNOWN
from training.evaluation.metrics import (
    Resampling,
    auc_with_replicates,
    interval,
    mean_with_replicates,
    rank_metrics,
)
from training.evaluation.queries import Queries
from training.evaluation.ranks import Ranks, rank_targets

from .conftest import FixedScores


def slow_metrics(scores: np.ndarray, cart: list[int], target: int) -> dict[str, float]:
    """The mean over every order in which sorting could leave the tied items."""
    candidates = [row for row in range(len(scores)) if row not in cart]
    totals: dict[str, list[float]] = {}
    for order in permutations(candidates):
        if any(scores[a] < scores[b] for a, b in pairwise(order)):
            continue
        rank = order.index(target) + 1
        below = len(candidates) - rank
        figures = {"mpr": (below + 1) / len(candidates), "mrr": 1 / rank}
        figures |= {f"hit@{k}": float(rank <= k) for k in (1, 5, 10, 100)}
        figures["ndcg@10"] = 1 / np.log2(rank + 1) if rank <= 10 else 0.0
        for name, value in figures.items():
            totals.setdefault(name, []).append(100 * value)
    return {name: float(np.mean(values)) for name, values in totals.items()}


def ask(scores: list[float], cart: list[int], target: int) -> Ranks:
    rows = np.array(cart, dtype=np.int32)
    return rank_targets(FixedScores(scores), Queries([rows], np.array([target]), np.array([len(cart)])))


@pytest.mark.parametrize("target", [0, 2, 4, 6])
@pytest.mark.parametrize(
    "scores",
    [[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3], [1, 1, 1, 0, 0, 0, 0], [0] * 7, [3, 1, 2, 2, 2, 5, 2]],
    ids=["distinct", "two levels", "all tied", "mixed"],
)
def test_metrics_are_mean_over_orders_of_tied_items(scores: list[float], target: int) -> None:
    cart = [1, 5]
    values = rank_metrics(ask(scores, cart, target))
    expected = slow_metrics(np.array(scores), cart, target)
    assert {name: value[0] for name, value in values.items()} == pytest.approx(expected)


def test_metrics_of_many_ranks_match_definition() -> None:
    ranks = Ranks(np.array([0, 9, 10, 99, 250]), np.zeros(5, int), np.full(5, 300), np.ones(5, bool))
    values = rank_metrics(ranks)
    np.testing.assert_allclose(values["mrr"], 100 / np.array([1, 10, 11, 100, 251]))
    np.testing.assert_allclose(values["hit@10"], [100, 100, 0, 0, 0])
    np.testing.assert_allclose(values["hit@100"], [100, 100, 100, 100, 0])
    np.testing.assert_allclose(values["ndcg@10"], [100, 100 / np.log2(11), 0, 0, 0])
    np.testing.assert_allclose(values["mpr"], 100 * (300 - np.array([0, 9, 10, 99, 250])) / 300)


def test_unknown_target_has_worst_metrics() -> None:
    values = rank_metrics(ask([3, 2, 1], [0], UNKNOWN))
    assert all(value[0] == 0 for value in values.values())


def test_cart_items_are_not_candidates() -> None:
    ranks = ask([9, 8, 7, 6], [0, 1, 0], 3)
    assert (ranks.better[0], ranks.tied[0], ranks.candidates[0]) == (1, 0, 2)


def test_auc_counts_ties_half() -> None:
    rng = np.random.default_rng(0)
    real, random = rng.integers(6, size=40).astype(float), rng.integers(5, size=40).astype(float)
    slow = np.mean([(a > b) + 0.5 * (a == b) for a in real for b in random])
    value, replicates = auc_with_replicates(real, random, Resampling(np.ones((1, 40))))
    assert value == pytest.approx(slow)
    assert replicates == pytest.approx([slow])


def test_auc_resample_is_auc_of_resampled_sets() -> None:
    rng = np.random.default_rng(1)
    real, random = rng.normal(1, 1, size=12), rng.normal(size=12)
    draws = rng.multinomial(12, np.full(12, 1 / 12), size=5).astype(float)
    _, replicates = auc_with_replicates(real, random, Resampling(draws))
    for draw, replicate in zip(draws.astype(int), replicates, strict=True):
        repeated = [(a > b) for a in np.repeat(real, draw) for b in np.repeat(random, draw)]
        assert replicate == pytest.approx(np.mean(repeated))


def test_bootstrap_interval_of_mean_matches_normal_approximation() -> None:
    values = np.random.default_rng(2).normal(10, 3, size=2000)
    mean, replicates = mean_with_replicates(values, Resampling.of(2000, seed=0))
    low, high = interval(replicates)
    assert low < mean < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(2000), rel=0.1)


def test_bootstrap_intervals_depend_on_seed_only() -> None:
    assert (Resampling.of(50, seed=4).draws == Resampling.of(50, seed=4).draws).all()
    assert (Resampling.of(50, seed=4).draws != Resampling.of(50, seed=5).draws).any()
