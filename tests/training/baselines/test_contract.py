"""The interface contract of all recommenders, baselines and Tripod."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest

from ndpp import History, Kernel, Mixture, NextItem
from ndpp.relevance import Relevance
from training.baselines import BASELINES, HISTORY_BASELINES, Als
from training.baselines.blend import Blend
from training.baselines.personal import PersonalBaseline
from training.baskets import Baskets, ItemRows
from training.evaluation.tripod import TripodModel
from training.recommender import Recommender

from .shoppers import with_shoppers

Fit = Callable[[Baskets], Recommender]


def cart(*rows: int) -> ItemRows:
    return np.array(rows, dtype=np.int32)


def tripod(baskets: Baskets) -> TripodModel:
    """A kernel with random factors and all parameters nonzero."""
    M = len(baskets.catalogue)
    rng = np.random.default_rng(7)
    D = rng.normal(size=(5, 5))
    kernel = Kernel.tied(rng.normal(size=(M, 5)).astype(np.float32), D - D.T, np.full(M, 0.1))
    neighbours = Relevance(
        offsets=np.arange(M + 1, dtype=np.int64),
        neighbours=np.roll(np.arange(M, dtype=np.int32), 1),
        weights=np.full(M, 0.5, dtype=np.float32),
        floor=0.01,
    )
    return TripodModel(NextItem(kernel, Mixture.plain(0.5, 2.0, 0.3), neighbours))


def halves(baskets: Baskets) -> tuple[Baskets, Baskets]:
    return baskets.select(np.arange(0, len(baskets), 2)), baskets.select(np.arange(1, len(baskets), 2))


FITS: dict[str, Fit] = {"tripod": tripod}
for baseline in BASELINES:
    if baseline is not Als or find_spec("implicit"):  # ALS only where the `als` extra is installed
        FITS[baseline.name] = lambda baskets, make=baseline: make().fit(baskets)
for baseline in HISTORY_BASELINES:
    if issubclass(baseline, PersonalBaseline):
        FITS[baseline.name] = lambda baskets, make=baseline: make().fit(with_shoppers(baskets))
FITS["blend"] = lambda baskets: Blend().fit(*halves(baskets))


@pytest.fixture(params=FITS.values(), ids=FITS.keys())
def fit(request: pytest.FixtureRequest) -> Fit:
    return request.param  # type: ignore[no-any-return]


class TestRecommenderContract:
    def test_scores_have_one_row_per_cart_and_one_column_per_item(self, fit: Fit, baskets: Baskets) -> None:
        scores = fit(baskets).scores([cart(0), cart(3, 4), cart(7, 8, 9)])
        assert scores.shape == (3, len(baskets.catalogue))
        assert np.isfinite(scores).all()

    def test_scores_of_no_carts(self, fit: Fit, baskets: Baskets) -> None:
        assert fit(baskets).scores([]).shape == (0, len(baskets.catalogue))

    def test_scores_of_empty_cart(self, fit: Fit, baskets: Baskets) -> None:
        model = fit(baskets)
        scores = model.scores([cart(), cart(2)])
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores[1], model.scores([cart(2)])[0], rtol=1e-4, atol=1e-6)

    def test_batch_scores_equal_single_scores(self, fit: Fit, baskets: Baskets) -> None:
        model = fit(baskets)
        carts = [cart(0), cart(3, 4), cart(), cart(7, 8, 9)]
        alone = np.vstack([model.scores([one]) for one in carts])
        np.testing.assert_allclose(model.scores(carts), alone, rtol=1e-4, atol=1e-6)

    def test_duplicates_in_cart_count_once(self, fit: Fit, baskets: Baskets) -> None:
        model = fit(baskets)
        np.testing.assert_allclose(
            model.scores([cart(3, 4, 3, 3)]), model.scores([cart(3, 4)]), rtol=1e-4, atol=1e-6
        )

    def test_cart_order_does_not_matter(self, fit: Fit, baskets: Baskets) -> None:
        model = fit(baskets)
        np.testing.assert_allclose(
            model.scores([cart(9, 1, 4)]), model.scores([cart(1, 4, 9)]), rtol=1e-4, atol=1e-6
        )

    def test_fit_is_reproducible(self, fit: Fit, baskets: Baskets) -> None:
        carts = [cart(0), cart(5, 6)]
        np.testing.assert_array_equal(fit(baskets).scores(carts), fit(baskets).scores(carts))

    def test_scores_with_histories(self, fit: Fit, baskets: Baskets) -> None:
        model = fit(baskets)
        carts, past = [cart(0), cart(3, 4), cart()], History.in_order([[1, 2], [2, 9]], 7.0)
        scores = model.scores(carts, [past, None, past])
        assert scores.shape == (3, len(baskets.catalogue))
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores[1], model.scores([carts[1]])[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(scores[2], model.scores([carts[2]], [past])[0], rtol=1e-4, atol=1e-6)
        if not isinstance(model, PersonalBaseline):  # Tripod's mixture here has no expert for histories
            np.testing.assert_allclose(scores, model.scores(carts), rtol=1e-4, atol=1e-6)

    def test_scores_of_no_carts_with_histories(self, fit: Fit, baskets: Baskets) -> None:
        assert fit(baskets).scores([], []).shape == (0, len(baskets.catalogue))

    def test_scoring_does_not_change_carts(self, fit: Fit, baskets: Baskets) -> None:
        given = cart(5, 2, 5)
        fit(baskets).scores([given])
        np.testing.assert_array_equal(given, [5, 2, 5])

    def test_catalogue_of_one_item(self, fit: Fit) -> None:
        single = Baskets(("only",), np.zeros(3, dtype=np.int32), np.arange(4, dtype=np.int64))
        scores = fit(single).scores([cart(), cart(0)])
        assert scores.shape == (2, 1)
        assert np.isfinite(scores).all()

    def test_item_in_no_basket_is_scored(self, fit: Fit) -> None:
        unsold = Baskets(("a", "b", "c"), np.array([0, 1, 0], dtype=np.int32), np.array([0, 2, 3]))
        assert np.isfinite(fit(unsold).scores([cart(2), cart(0, 2)])).all()

    def test_log_likelihoods_are_finite_and_ignore_order(self, fit: Fit, baskets: Baskets) -> None:
        model = fit(baskets)
        values = model.log_likelihoods([cart(0, 1, 5), cart(5, 0, 1), cart(3)])
        if model.name in ("tripod", "popularity"):
            assert values is not None
            assert np.isfinite(values).all()
            assert values[0] == pytest.approx(values[1])
        else:
            assert values is None
