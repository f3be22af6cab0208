from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from training.baselines import (
    Als,
    BaselineUnavailableError,
    Confidence,
    Ease,
    ItemKNN,
    Popularity,
    fit_baselines,
)
from training.basket_matrix import co_occurrences
from training.baskets import Baskets


def dense(baskets: Baskets) -> np.ndarray:
    X = np.zeros((len(baskets), len(baskets.catalogue)))
    for number, rows in enumerate(baskets):
        X[number, rows] = 1
    return X


def dense_co_counts(baskets: Baskets) -> np.ndarray:
    X = dense(baskets)
    together = X.T @ X
    np.fill_diagonal(together, 0)
    return together


CART = np.array([2, 5, 7], dtype=np.int32)


def test_co_occurrences_match_dense_product(baskets: Baskets) -> None:
    together = co_occurrences(baskets)
    assert sparse.issparse(together)
    np.testing.assert_array_equal(together.toarray(), dense_co_counts(baskets))


def test_popularity_ranks_by_number_of_baskets(baskets: Baskets) -> None:
    scores = Popularity().fit(baskets).scores([CART, CART[:0]])
    np.testing.assert_allclose(scores, [(dense(baskets).sum(axis=0) + 0.5) / (len(baskets) + 1)] * 2)


def test_popularity_set_probabilities_sum_to_one(baskets: Baskets) -> None:
    """The probabilities of all 2^12 sets add up to one."""
    sets = [
        np.flatnonzero([number >> item & 1 for item in range(12)]).astype(np.int32) for number in range(2**12)
    ]
    assert np.exp(Popularity().fit(baskets).log_likelihoods(sets)).sum() == pytest.approx(1)


def test_item_knn_is_shrunk_cosine_summed_over_cart(baskets: Baskets) -> None:
    counts = baskets.counts
    weights = dense_co_counts(baskets) / np.sqrt((counts[:, None] + 10) * (counts[None, :] + 10))
    np.testing.assert_allclose(ItemKNN().fit(baskets).scores([CART])[0], weights[CART].sum(axis=0), rtol=1e-5)


def test_confidence_is_conditional_share(baskets: Baskets) -> None:
    expected = [sum(dense_co_counts(baskets)[i, y] / baskets.counts[y] for y in CART) for i in range(12)]
    np.testing.assert_allclose(Confidence().fit(baskets).scores([CART])[0], expected, rtol=1e-5)


def test_ease_matches_ridge_regression_per_item(baskets: Baskets) -> None:
    X = dense(baskets)
    weights = np.asarray(Ease(regularisation=5).fit(baskets).weights)
    for item in range(12):
        others = np.delete(np.arange(12), item)
        gram = X[:, others].T @ X[:, others] + 5 * np.eye(11)
        np.testing.assert_allclose(
            weights[others, item], np.linalg.solve(gram, X[:, others].T @ X[:, item]), rtol=1e-4, atol=1e-6
        )
        assert weights[item, item] == 0


def test_ease_is_unavailable_beyond_memory_limit(baskets: Baskets) -> None:
    with pytest.raises(BaselineUnavailableError, match="12 items are too many for EASE-R"):
        Ease(memory_limit=1000).fit(baskets)


def test_als_without_implicit_names_the_extra(baskets: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    with pytest.raises(BaselineUnavailableError, match="'als' extra"):
        Als().fit(baskets)


def test_fit_baselines_reports_skipped_baselines(baskets: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    fitted, skipped = fit_baselines(baskets)
    assert [model.name for model in fitted] == ["popularity", "item_knn", "confidence", "ease"]
    assert list(skipped) == ["als"]


def test_baselines_rank_partner_first(baskets: Baskets) -> None:
    """Item 2 nearly always comes with item 3: every model that looks at the cart sees it."""
    makes = [ItemKNN, Confidence, Ease] + ([Als] if find_spec("implicit") else [])
    for make in makes:
        scores = make().fit(baskets).scores([CART[:1]])[0].copy()
        scores[2] = -np.inf
        assert scores.argmax() == 3, make.name
