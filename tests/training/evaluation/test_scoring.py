from __future__ import annotations

import json

import numpy as np
import pytest

from ndpp import Kernel, Mixture, NextItem, condition
from training.baselines import ItemKNN, Popularity
from training.baskets import Baskets
from training.evaluation.queries import Protocol, Queries, hold_one_out
from training.evaluation.scoring import evaluate_models, size_groups
from training.evaluation.sets import EPSILON, log_likelihoods, random_twins
from training.evaluation.tripod import TripodModel

from .conftest import FixedScores


def test_set_log_likelihood_matches_dense_determinants(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    sets = [rng.choice(9, size, replace=False).astype(np.int32) for size in (1, 3, 3, 9, 2, 6, 1)]
    L = kernel.submatrix(np.arange(9))
    normaliser = np.linalg.slogdet(np.eye(9) + L)[1]
    expected = [
        np.linalg.slogdet(L[np.ix_(rows, rows)] + EPSILON * np.eye(len(rows)))[1] - normaliser
        for rows in sets
    ]
    np.testing.assert_allclose(log_likelihoods(kernel, sets), expected)


def test_random_twins_have_same_sizes_without_duplicates(baskets: Baskets) -> None:
    twins = random_twins(list(baskets), 60, np.random.default_rng(0))
    assert [len(twin) for twin in twins] == baskets.sizes.tolist()
    assert all(len(np.unique(twin)) == len(twin) for twin in twins)
    np.testing.assert_allclose(
        np.bincount(np.concatenate(twins), minlength=60) / len(baskets.items), 1 / 60, atol=0.01
    )


def test_tripod_scores_are_conditional_gains(kernel: Kernel) -> None:
    carts = [np.array([0, 4], np.int32), np.array([], np.int32), np.array([7], np.int32)]
    scores = TripodModel.of_kernel(kernel).scores(carts)
    for row, cart in zip(scores, carts, strict=True):
        gains = condition(kernel, cart).gains()
        np.testing.assert_allclose(row, gains / gains.sum(), rtol=1e-9, atol=1e-12)


def test_popularity_exponent_divides_by_diagonal(kernel: Kernel) -> None:
    cart = [np.array([2], np.int32)]
    own = np.diag(kernel.submatrix(np.arange(9)))
    plain = TripodModel.of_kernel(kernel).scores(cart)[0]
    tilted = TripodModel(NextItem(kernel, Mixture.plain(popularity=0.5))).scores(cart)[0]
    np.testing.assert_allclose(tilted, plain / np.sqrt(own) / (plain / np.sqrt(own)).sum())


def test_nll_is_that_of_target_probability(kernel: Kernel) -> None:
    queries = Queries(
        [np.array([0, 4], np.int32), np.array([7], np.int32)], np.array([2, -1]), np.array([2, 1])
    )
    model = TripodModel.of_kernel(kernel)
    assert evaluate_models([model], queries, queries.sets, 9).models["tripod"].values["nll"] is None
    model.gives_probabilities = True
    found = evaluate_models([model], queries, queries.sets, 9).models["tripod"].values["nll"]
    expected = [-np.log(model.scores(queries.carts)[0, 2]), -np.log(1e-9)]  # it does not know the second
    assert found == pytest.approx(np.mean(expected))


def test_paper_protocol_is_mean_over_queries(baskets: Baskets) -> None:
    queries = hold_one_out(baskets, Protocol.PAPER, np.random.default_rng(0))
    model = Popularity().fit(baskets)
    evaluation = evaluate_models([model], queries, list(baskets), 60)
    shares = []
    for cart, target in zip(queries.carts, queries.targets, strict=True):
        others = np.delete(model.shares, cart)
        beaten = np.sum(others < model.shares[target]) + (np.sum(others == model.shares[target]) - 1) / 2 + 1
        shares.append(100 * beaten / len(others))
    assert evaluation.models["popularity"].values["mpr"] == pytest.approx(np.mean(shares))


def test_published_protocol_averages_three_size_buckets() -> None:
    """Carts of 1, 5 and 50 items: 100 ** (1/3) = 4.6 and 100 ** (2/3) = 21.5 are the edges."""
    sizes = [1, 1, 1, 5, 50]
    carts = [np.arange(size, dtype=np.int32) for size in sizes]
    targets = np.array([101, 101, 101, 102, 103])
    sets = [np.arange(100, dtype=np.int32)]
    scores = np.zeros(104)
    scores[[101, 102, 103]] = [3, 2, 1]
    queries = Queries(carts, targets, np.array(sizes))
    evaluation = evaluate_models([FixedScores(scores)], queries, sets, 104, protocol=Protocol.PUBLISHED)
    assert evaluation.models["fixed"].values["mrr"] == pytest.approx(100 * np.mean([1, 1 / 2, 1 / 3]))
    micro = evaluate_models([FixedScores(scores)], queries, sets, 104)
    assert micro.models["fixed"].values["mrr"] == pytest.approx(100 * np.mean([1, 1, 1, 1 / 2, 1 / 3]))


def test_size_groups_cover_each_size_once() -> None:
    for largest in range(1, 120):
        groups = size_groups(largest)
        covered = [size for _, low, high in groups for size in range(low, high)]
        assert covered == list(range(1, largest + 1))
    assert [label for label, _, _ in size_groups(20)] == ["1", "2", "3", "4-5", "6-9", "10-17", "18-20"]


def test_size_groups_add_up_to_overall_metrics(baskets: Baskets) -> None:
    queries = hold_one_out(baskets, Protocol.PAPER, np.random.default_rng(0))
    evaluation = evaluate_models([ItemKNN().fit(baskets)], queries, list(baskets), 60)
    whole, parts = evaluation.models["item_knn"], evaluation.by_size["item_knn"].values()
    assert sum(part.queries for part in parts) == whole.queries == len(queries)
    assert sum(part.baskets for part in parts) == whole.baskets == len(baskets)
    weighted = sum(part.queries * part.values["hit@10"] for part in parts if part.queries)
    assert weighted / whole.queries == pytest.approx(whole.values["hit@10"])


def test_metrics_are_reproducible_and_independent_of_other_models(baskets: Baskets) -> None:
    def figures() -> dict[str, object]:
        queries = hold_one_out(baskets, Protocol.PAPER, np.random.default_rng(9))
        models = [Popularity().fit(baskets), ItemKNN().fit(baskets)]
        return evaluate_models(models, queries, list(baskets), 60, seed=9).as_json()

    first, second = figures(), figures()
    assert json.dumps(first) == json.dumps(second)


def test_json_has_each_metric_with_interval(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    sets = [rng.choice(9, int(size), replace=False).astype(np.int32) for size in rng.integers(2, 6, size=80)]
    queries = Queries(
        [rows[1:] for rows in sets],
        np.array([rows[0] for rows in sets]),
        np.array([len(r) - 1 for r in sets]),
    )
    evaluation = evaluate_models(
        [TripodModel.of_kernel(kernel)], queries, sets, 9, skipped={"ease": "too large"}
    )
    document = json.loads(json.dumps(evaluation.as_json(), allow_nan=False))
    tripod = document["models"]["tripod"]
    names = ["mpr", "hit@1", "hit@5", "hit@10", "hit@100", "ndcg@10", "mrr", "auc", "log_likelihood"]
    for name in names:
        low, high = tripod["intervals"][name]
        assert low <= tripod[name] <= high
        assert name in document["units"]
    assert document["skipped"] == {"ease": "too large"}
    assert set(tripod["by_size"]) == {"2", "3", "4-5"}


def test_unknown_targets_score_zero(kernel: Kernel) -> None:
    queries = Queries([np.array([], np.int32)] * 3, np.full(3, -1), np.array([2, 1, 0]))
    metrics = evaluate_models([TripodModel.of_kernel(kernel)], queries, queries.sets, 9).models["tripod"]
    assert metrics.values["mpr"] == 0
    assert metrics.values["hit@100"] == 0
    assert metrics.values["auc"] is None
    assert metrics.values["log_likelihood"] is None
