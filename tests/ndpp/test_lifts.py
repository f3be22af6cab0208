"""Lifts from counts and the marginal kernel, against dense matrices and scipy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from ndpp import Kernel, Lifts, RelatedItems
from ndpp.lifts import COMPLEMENT, SUBSTITUTE, Prior, log_gamma, posterior
from ndpp.marginal_kernel import MarginalKernel

PAIRS = {  # together and relation of the stored pairs
    (0, 1): (40, COMPLEMENT),
    (0, 3): (0, SUBSTITUTE),
    (1, 2): (9, 0),
    (2, 4): (25, COMPLEMENT),
    (3, 4): (5, SUBSTITUTE),
}


def make_lifts(**changes: Any) -> Lifts:
    both = sorted(
        [(i, j, *rest) for (i, j), rest in PAIRS.items()] + [(j, i, *r) for (i, j), r in PAIRS.items()]
    )
    rows, partners, together, relations = (np.array(column) for column in zip(*both, strict=True))
    counts = np.array(
        [[9, 60, 0, 0, 0, 0, 40], [2, 50, 0, 0, 0, 0, 40], [0, 40, 0, 0, 0, 0, 30]] + 3 * [[7] * 7]
    )
    lifts = Lifts(
        class_counts=counts.astype(np.int32),
        class_totals=np.array([100, 200, 50, 50, 50, 50, 80]),
        offsets=np.searchsorted(rows, np.arange(7)),
        partners=partners.astype(np.int32),
        together=together.astype(np.int32),
        relations=relations.astype(np.uint8),
        least=1,
        level=-0.2,
        slope=1.5,
        weight=4.0,
    )
    return replace(lifts, **changes)


@pytest.fixture
def kernel() -> Kernel:
    rng = np.random.default_rng(0)
    D = rng.normal(size=(4, 4))
    return Kernel.tied(rng.normal(size=(6, 4)), D - D.T, rng.uniform(0.1, 1, size=6))


def dense_marginal(kernel: Kernel) -> np.ndarray[Any, np.dtype[np.float64]]:
    L = kernel.submatrix(range(kernel.size))
    return np.asarray(np.eye(kernel.size) - np.linalg.inv(np.eye(kernel.size) + L))


def test_marginal_kernel_matches_the_dense_inverse(kernel: Kernel) -> None:
    K, marginal = dense_marginal(kernel), MarginalKernel(kernel)
    assert_allclose(marginal.inclusion, np.diag(K))
    first, second = np.triu_indices(6, 1)
    expected = 1 - K * K.T / np.outer(np.diag(K), np.diag(K))
    assert_allclose(marginal.lifts(first, second), expected[first, second])
    many_first, many_second = np.repeat(first, 1000), np.repeat(second, 1000)  # more than one block
    assert_allclose(marginal.lifts(many_first, many_second), expected[many_first, many_second])


def test_marginal_lift_of_an_item_with_probability_zero_is_one() -> None:
    assert MarginalKernel(Kernel.symmetric([[1.0], [0.0]])).lifts(np.array([0]), np.array([1])) == 1


@pytest.mark.parametrize("least", [1, 3])
def test_lift_is_the_posterior_mean_and_interval(kernel: Kernel, least: int) -> None:
    lifts = make_lifts(least=least)
    K = dense_marginal(kernel)
    first, second = np.triu_indices(6, 1)
    found = RelatedItems(kernel, lifts).between(first, second)
    for pair, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        by_chance = sum(
            lifts.class_counts[i, c] * lifts.class_counts[j, c] / lifts.class_totals[c] for c in range(1, 7)
        )
        mean = np.exp(-0.2 + 1.5 * np.log(max(1 - K[i, j] * K[j, i] / (K[i, i] * K[j, j]), 0.05)))
        together, relation = PAIRS.get((i, j), (None, 0))
        counted = together
        if counted is None:  # the mean of a count below `least`
            below = np.arange(least)
            chances = stats.nbinom.pmf(below, 4.0, 4 / (4 + by_chance * mean))
            counted = below @ chances / chances.sum()
        truth = stats.gamma(counted + 4.0, scale=1 / (by_chance + 4.0 / mean))
        assert found.by_chance[pair] == pytest.approx(by_chance)
        assert found.lift[pair] == pytest.approx(truth.mean())
        assert found.low[pair] == pytest.approx(truth.ppf(0.025), rel=0.03)
        assert found.high[pair] == pytest.approx(truth.ppf(0.975), rel=0.01)
        assert found.counted(pair) == (0 if together is None and least == 1 else together)
        assert found.relation[pair] == relation


@pytest.mark.parametrize(("shape", "error"), [(0.2, 0.1), (1, 0.02), (3, 0.005), (10, 0.001), (500, 0.001)])
def test_interval_ends_match_the_gamma_distribution(shape: float, error: float) -> None:
    _, low, high = posterior([0], np.array([1.0]), np.array([1.0]), Prior(0.0, 1.0, shape))
    truth = stats.gamma(shape, scale=1 / (1 + shape))
    assert high[0] == pytest.approx(truth.ppf(0.975), rel=error)
    assert low[0] == pytest.approx(truth.ppf(0.025), rel=error, abs=0.01)


def test_posterior_under_a_prior_with_a_tail() -> None:
    prior = Prior(-0.1, 1.2, 5.0, 0.05, 2.0, 0.6)
    together, by_chance = np.array([0, 3, 25, 2, 80]), np.array([4.0, 2.5, 1.05, 0.01, 60.0])
    kernel_lifts = np.array([0.6, 1.0, 1.4, 2.0, 1.1])
    lift, low, high = posterior(together, by_chance, kernel_lifts, prior)
    grid = np.exp(np.linspace(np.log(1e-4), np.log(2000), 400_001))
    for pair in range(5):
        density = np.zeros(len(grid))
        for share, weight, mean in prior.parts(kernel_lifts[pair : pair + 1]):
            density += share * stats.gamma(weight, scale=mean[0] / weight).pdf(grid)
        density *= stats.poisson(grid * by_chance[pair]).pmf(together[pair]) * grid  # on a log scale
        density /= density.sum()
        assert lift[pair] == pytest.approx((grid * density).sum(), rel=1e-3)
        inside = density[(grid > low[pair]) & (grid < high[pair])].sum()
        assert 0.92 < inside < 0.98


def test_log_gamma_matches_scipy() -> None:
    x = np.array([0.05, 0.3, 1.0, 2.0, 7.5, 120.0, 1e5])
    assert_allclose(log_gamma(x), special.gammaln(x), rtol=1e-9, atol=1e-9)


def test_related_items_are_listed_in_both_directions(kernel: Kernel) -> None:
    related = RelatedItems(kernel, make_lifts())
    assert related.related(0, COMPLEMENT).tolist() == [1]
    assert related.related(3, SUBSTITUTE).tolist() == [0, 4]
    assert related.related(5, COMPLEMENT).tolist() == []
    assert [side.tolist() for side in related.all_related(SUBSTITUTE)] == [[0, 3], [3, 4]]
    found = related.between([3, 3], [0, 4])
    assert found.surest_first(SUBSTITUTE).tolist() == np.argsort(found.high).tolist()
    assert found.surest_first(COMPLEMENT).tolist() == np.argsort(-found.low).tolist()


def test_relation_to_a_cart(kernel: Kernel) -> None:
    related = RelatedItems(kernel, make_lifts())
    rows = [4, 3, 1, 5]
    assert_array_equal(related.to_cart(rows, [2, 0]), [COMPLEMENT, SUBSTITUTE, COMPLEMENT, 0])
    # 4 is a complement of 2 and a substitute of 3: the substitute prevails.
    assert_array_equal(related.to_cart([4], [2, 3]), [SUBSTITUTE])
    assert_array_equal(related.to_cart(rows, []), [0, 0, 0, 0])
    assert len(related.to_cart([], [1])) == 0
    assert len(related.between([], []).lift) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_counts": np.zeros((5, 7), np.int32)}, "6 items"),
        ({"together": np.zeros(3, np.int32)}, "do not fit"),
        ({"class_totals": np.zeros(7, np.int64)}, "more baskets than there are"),
        ({"partners": np.full(10, 6, np.int32)}, "not an item"),
        ({"partners": np.array([3, 1, 0, 2, 1, 4, 0, 4, 2, 3], np.int32)}, "ascending"),
        ({"together": np.full(10, -1, np.int32)}, "negative"),
        ({"relations": np.full(10, 3, np.uint8)}, "unknown relation"),
        ({"least": 0}, "negative count|least"),
        ({"weight": 0.0}, "weights above 0"),
        ({"level": np.nan}, "finite"),
    ],
)
def test_inconsistent_lifts_are_refused(changes: dict[str, Any], message: str) -> None:
    make_lifts().check(6)
    with pytest.raises(ValueError, match=message):
        make_lifts(**changes).check(6)
