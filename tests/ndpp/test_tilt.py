"""Tilts: factors on the gains of items."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import Kernel, Relevance, Tilt, condition
from tests.ndpp.ndpp_reference import full_matrix, make_kernel


def test_tilts_multiply() -> None:
    tilt = Tilt.excluding([4]) * Tilt.boosting([1, 1, 4], [2.0, 3.0, 5.0]) * Tilt(np.array([1, 1, 2, 1, 1.0]))
    np.testing.assert_array_equal(tilt.dense(5), [1, 6, 2, 1, 0])
    np.testing.assert_array_equal(tilt.at(np.array([4, 0, 1, 2])), [0, 1, 6, 2])
    np.testing.assert_array_equal((tilt * Tilt(np.full(5, 2.0))).dense(5), [2, 12, 4, 2, 0])


def test_tilt_multiplies_the_gains() -> None:
    rng = np.random.default_rng(2)
    kernel = make_kernel(rng, 8, "scalable", diagonal=True)
    tau = rng.uniform(0, 2, 8)
    scaled = Kernel(kernel.factors * tau[:, None], kernel.core, kernel.diagonal * tau**2)
    np.testing.assert_allclose(condition(scaled, [1, 2]).gains(), tau**2 * condition(kernel, [1, 2]).gains())


def test_popularity_and_relevance_tilts() -> None:
    kernel = make_kernel(np.random.default_rng(2), 3, "tied")
    np.testing.assert_allclose(Tilt.popularity(kernel, 0.5).dense(3), np.diag(full_matrix(kernel)) ** -0.5)
    assert Tilt.popularity(kernel, 0.0).base is None
    relevance = Relevance(
        np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32), np.array([0.5, 0.2, 0.2], np.float32), 0.3
    )
    tilt = Tilt.relevance(relevance, [0, 1], 2.0)
    np.testing.assert_allclose(tilt.dense(3), [1, (0.5 / 0.3) ** 2, (0.4 / 0.3) ** 2], rtol=1e-6)
    assert not len(Tilt.relevance(relevance, [0, 1], 0.0).rows)
    assert np.isfinite(Tilt.popularity(Kernel.symmetric(np.zeros((2, 1))), 1.0).dense(2)).all()


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_factors_must_be_finite_and_not_negative(factor: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        Tilt.boosting([0, 1], [1.0, factor])


def test_number_of_factors_must_match_the_rows() -> None:
    with pytest.raises(ValueError, match="one factor per row"):
        Tilt(None, np.array([1, 2]), np.array([1.0]))


def test_rows_in_any_order() -> None:
    rows, factors = np.array([4, 1, 3]), np.array([2.0, 0.0, 5.0])
    np.testing.assert_array_equal(Tilt(None, rows, factors).dense(5), [1, 0, 1, 5, 2])
    np.testing.assert_array_equal(Tilt(None, np.sort(rows), factors).dense(5), [1, 2, 1, 0, 5])
