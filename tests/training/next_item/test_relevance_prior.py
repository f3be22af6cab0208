from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from training.baskets import Baskets, merge
from training.next_item import relevance_prior
from training.next_item.relevance_prior import (
    CoPurchases,
    RelevanceOptions,
    learn_relevance_prior,
    strongest_neighbours,
)


def dense(baskets: Baskets) -> NDArray[np.float64]:
    """The baskets of two items and more as rows of 0 and 1."""
    matrix = np.zeros((len(baskets), len(baskets.catalogue)))
    for row, basket in zip(matrix, baskets, strict=True):
        row[basket] = 1
    return matrix[matrix.sum(axis=1) > 1]


def regressed(
    baskets: Baskets, ridge: float, dropout: float, recency: float | NDArray[np.float64] = 1.0
) -> NDArray[np.float64]:
    """Each item's weighted ridge regression on all others, solved one by one."""
    X = dense(baskets)
    weights = recency * X.sum(axis=1) ** -0.5
    votes = np.zeros((X.shape[1], X.shape[1]))
    for item in range(X.shape[1]):
        others = np.delete(np.arange(X.shape[1]), item)
        A = X[:, others]
        gram = A.T @ (weights[:, None] * A)
        penalty = ridge * weights.mean() + dropout * np.diag(gram)
        votes[others, item] = np.linalg.solve(gram + np.diag(penalty), A.T @ (weights * X[:, item]))
    return votes


def similar(baskets: Baskets) -> NDArray[np.float64]:
    X = dense(baskets)
    weights = 1 / (X.sum(axis=1) - 1)
    together = X.T @ (weights[:, None] * X)
    scale = weights @ X + 10 * weights.mean()
    found = together / (scale[:, None] ** 0.75 * scale**0.25)
    np.fill_diagonal(found, 0)
    return found


def evidence(baskets: Baskets, options: RelevanceOptions, cart: list[int]) -> NDArray[np.float64]:
    relevance = learn_relevance_prior(baskets, options)
    found = np.full(len(baskets.catalogue), relevance.floor)
    rows, values = relevance.above_floor(cart)
    found[rows] = values
    return found


@pytest.mark.parametrize(("ridge", "dropout"), [(20.0, 0.5), (5.0, 0.0), (150.0, 1.0)])
def test_regression_matches_ridge_regression_per_item(planted: Baskets, ridge: float, dropout: float) -> None:
    found = CoPurchases(planted).regression(ridge, dropout)
    np.testing.assert_allclose(found, regressed(planted, ridge, dropout), atol=1e-10)


def test_regression_of_large_catalogue_in_float32(planted: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance_prior, "_DOUBLE_ITEMS", 10)
    found = CoPurchases(planted).regression(20, 0.5)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, regressed(planted, 20, 0.5), atol=1e-5)


def test_similarities_are_between_cosine_and_confidence(planted: Baskets) -> None:
    np.testing.assert_allclose(CoPurchases(planted).similarities().toarray(), similar(planted), rtol=1e-5)


def test_strips_of_rows_give_the_whole_matrices(planted: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance_prior, "_ROWS_AT_ONCE", 7)
    bought = CoPurchases(planted)
    np.testing.assert_allclose(bought.regression(20, 0.5), regressed(planted, 20, 0.5), atol=1e-10)
    np.testing.assert_allclose(bought.similarities().toarray(), similar(planted), rtol=1e-5)


@pytest.mark.parametrize("head", [40, 25])
def test_lists_of_some_items_are_those_of_all(
    planted: Baskets, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance_prior, "DENSE_ITEMS", head)
    monkeypatch.setattr(relevance_prior, "_ROWS_AT_ONCE", 7)
    bought, options = CoPurchases(planted), RelevanceOptions()
    learned = bought.regression(20, 0.5), bought.similarities(), options
    every, some = strongest_neighbours(*learned), strongest_neighbours(*learned, np.array([30, 3, 17, 3]))
    for item in (3, 17, 30):
        for found, wanted in zip(some.above_floor([item]), every.above_floor([item]), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert set(np.flatnonzero(np.diff(some.offsets))) == {3, 17, 30}


def test_relevance_is_maximum_of_weight_and_support(planted: Baskets) -> None:
    options = RelevanceOptions(ridge=20, dropout=0.5, similarity=0.1, support=0.4, floor=0.001)
    cart = [3, 17, 8]
    weights = regressed(planted, 20, 0.5) + 0.1 * similar(planted)
    votes, support = weights[cart].sum(axis=0), 0.4 * similar(planted)[cart].sum(axis=0)
    wanted = np.maximum(0.001, np.maximum(votes, support))
    np.testing.assert_allclose(evidence(planted, options, cart), wanted, rtol=1e-4)
    assert (votes < support).any()
    assert (votes > support).any()


def test_complements_are_strong_neighbours_and_substitutes_are_not(planted: Baskets) -> None:
    row = planted.catalogue.index
    found = evidence(planted, RelevanceOptions(), [row("a2"), row("c2")])
    assert found[row("b2")] == found.max()
    assert found[row("d2")] < np.median(found)


def test_items_beyond_the_regression_have_similarities(
    planted: Baskets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance_prior, "DENSE_ITEMS", 25)
    options = RelevanceOptions(floor=1e-9, support=0.0)
    similarity = similar(planted)
    np.testing.assert_allclose(evidence(planted, options, [30])[:25], similarity[30, :25], rtol=1e-4)
    np.testing.assert_allclose(evidence(planted, options, [3])[25:], similarity[3, 25:], rtol=1e-4)
    assert not np.allclose(evidence(planted, options, [3])[:25], similarity[3, :25], rtol=0.1)


def test_strongest_neighbours_are_kept(planted: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    every = learn_relevance_prior(planted, RelevanceOptions())
    monkeypatch.setattr(relevance_prior, "_ENTRIES", 40 * 6)
    few = learn_relevance_prior(planted, RelevanceOptions())
    assert np.diff(few.offsets).max() == 6
    for item in range(40):
        all_of_it, some = (slice(*relevance.offsets[item : item + 2]) for relevance in (every, few))
        kept = np.isin(every.neighbours[all_of_it], few.neighbours[some])
        assert every.support is not None
        strength = np.maximum(np.abs(every.weights[all_of_it]), every.support[all_of_it])
        assert strength[kept].min() >= strength[~kept].max()


def test_relevance_prior_weights_baskets_by_recency(planted: Baskets) -> None:
    days = np.arange(len(planted)) % 2 * 30
    dated = replace(planted, timestamps=np.datetime64("2026-01-01") + days.astype("timedelta64[D]"))
    several = planted.sizes > 1
    recency = np.where(days == 0, 0.5, 1.0)[several]
    found = CoPurchases(dated, half_life_days=30).regression(20, 0.5)
    np.testing.assert_allclose(found, regressed(planted, 20, 0.5, recency), atol=1e-10)


def test_relevance_prior_ignores_baskets_of_one_item(planted: Baskets) -> None:
    single = replace(planted, items=planted.items[:5], offsets=np.arange(6))
    assert learn_relevance_prior(single, RelevanceOptions()).above_floor([0, 1])[0].size == 0


def test_merge_concatenates_baskets(planted: Baskets) -> None:
    first, second = planted.select(np.arange(0, 700)), planted.select(np.arange(700, len(planted)))
    assert merge(first, second).fingerprint() == planted.fingerprint()
