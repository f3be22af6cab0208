"""Tilts."""

from __future__ import annotations

import numpy as np
import pytest
from ndpp_reference import KINDS, full_matrix, make_kernel

from ndpp import Kernel, Relevance, Tilt, condition


def test_tilts_multiply() -> None:
    tilt = Tilt.excluding([4]) * Tilt.boosting([1, 1, 4], [2.0, 3.0, 5.0]) * Tilt(np.array([1, 1, 2, 1, 1.0]))
    np.testing.assert_array_equal(tilt.dense(5), [1, 6, 2, 1, 0])
    np.testing.assert_array_equal(tilt.at(np.array([4, 0, 1, 2])), [0, 1, 6, 2])
    np.testing.assert_array_equal((tilt * Tilt(np.full(5, 2.0))).dense(5), [2, 12, 4, 2, 0])


def test_a_tilt_is_the_gain_of_the_scaled_kernel() -> None:
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
        Tilt.boosting([0], [factor])


def test_one_factor_a_row() -> None:
    with pytest.raises(ValueError, match="one factor a row"):
        Tilt(None, np.array([1, 2]), np.array([1.0]))


def test_an_item_that_stands_in_the_cart_twice_is_evidence_once() -> None:
    relevance = Relevance(np.array([0, 1, 2]), np.array([1, 0]), np.array([0.5, 0.25]), floor=0.01)
    once, twice = relevance.evidence([0, 1]), relevance.evidence([0, 1, 0])
    assert [part.tolist() for part in once] == [[0, 1], [0.25, 0.5]]
    assert [part.tolist() for part in twice] == [[0, 1], [0.25, 0.5]]


@pytest.mark.parametrize("items", [300, 50_000])
def test_evidence_is_the_sum_over_the_cart_in_any_catalogue(items: int) -> None:
    """Small and large catalogues add it up in different ways; some items have no neighbours at all."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, items)
    counts[:3] = 0
    offsets = np.concatenate([[0], np.cumsum(counts)])
    neighbours = rng.integers(0, 60, offsets[-1]).astype(np.int32)
    relevance = Relevance(offsets, neighbours, rng.uniform(0, 1, offsets[-1]).astype(np.float32), 0.4)
    for cart in ([0, 1], [5], rng.integers(0, items, 12).tolist()):
        sums = np.zeros(items)
        for item in set(cart):
            span = slice(offsets[item], offsets[item + 1])
            np.add.at(sums, neighbours[span], relevance.weights[span])
        rows, values = relevance.evidence(cart)
        np.testing.assert_array_equal(rows, np.flatnonzero(sums > 0.4))
        np.testing.assert_allclose(values, sums[rows], rtol=1e-6)
        assert rows.dtype == np.intp


def test_rows_of_a_tilt_may_come_in_any_order() -> None:
    rows, factors = np.array([4, 1, 3]), np.array([2.0, 0.0, 5.0])
    np.testing.assert_array_equal(Tilt(None, rows, factors).dense(5), [1, 0, 1, 5, 2])
    np.testing.assert_array_equal(Tilt(None, np.sort(rows), factors).dense(5), [1, 2, 1, 0, 5])


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_a_factor_that_is_no_factor_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        Tilt.boosting([0, 1], [1.0, wrong])


@pytest.mark.parametrize("kind", KINDS)
def test_products_with_the_core(kind: str) -> None:
    rng = np.random.default_rng(1)
    kernel = make_kernel(rng, 9, kind, rank=4)
    rows = rng.normal(size=(2, 3, kernel.rank))
    np.testing.assert_allclose(kernel.times_core(rows), rows @ kernel.core, rtol=1e-12)
    np.testing.assert_allclose(kernel.times_core_transposed(rows), rows @ kernel.core.T, rtol=1e-12)
    middle = kernel.symmetric_columns
    assert middle == {"symmetric": 4, "ndpp2019": 4, "scalable": 4, "tied": None}[kind]
    if middle is not None:
        signs = np.where(np.arange(kernel.rank) < middle, 1, -1)
        np.testing.assert_array_equal(kernel.core.T, kernel.core * signs)
