"""The model of basket sizes, on synthetic shopping trips."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from training.baskets import Baskets
from training.evaluation.basket_size_accuracy import size_accuracy
from training.statistics.basket_sizes import learn_basket_sizes, random_prefixes, truncated_log_mass

ITEMS = 80


def baskets_of(lists: list[list[int]], items: int = ITEMS) -> Baskets:
    offsets = np.cumsum([0, *map(len, lists)])
    return Baskets(tuple(map(str, range(items))), np.concatenate(lists).astype(np.int32), offsets)


def trips(count: int, seed: int) -> Baskets:
    """Small trips for items 0–39 and large ones for items 20–79, half of each."""
    rng = np.random.default_rng(seed)
    lists = []
    for large in rng.random(count) < 0.5:
        size = 1 + (rng.negative_binomial(2, 0.12) if large else rng.poisson(1.5))
        pool = np.arange(20, 80) if large else np.arange(40)
        lists.append(rng.choice(pool, min(size, len(pool)), replace=False).tolist())
    return baskets_of(lists)


def test_prefix_is_random_part_of_basket() -> None:
    baskets = baskets_of([[3, 1, 4], [5], [9, 2, 6, 8, 7]] * 2000)
    carts = random_prefixes(baskets, np.random.default_rng(0))
    parts = np.split(carts.items, carts.offsets[1:-1])
    for cart, basket, further in zip(parts, baskets, carts.further, strict=True):
        assert len(set(cart.tolist())) == len(cart) == len(basket) - further >= 1
        assert set(cart.tolist()) <= set(basket.tolist())
    assert np.bincount(carts.sizes[2::3])[1:] / 2000 == pytest.approx(np.full(5, 0.2), abs=0.03)
    singles = np.concatenate([cart for cart in parts[2::3] if len(cart) == 1])
    assert np.unique(singles, return_counts=True)[1] / len(singles) == pytest.approx(
        np.full(5, 0.2), abs=0.08
    )


def test_truncated_log_mass_matches_scipy() -> None:
    count = np.arange(1, 60)
    for mean, r in ((0.3, 0.5), (4.0, 2.0), (20.0, 0.8)):
        ours, _, _ = truncated_log_mass(count, np.full(len(count), mean), r)
        whole = stats.nbinom(r, r / (r + mean))
        np.testing.assert_allclose(ours, whole.logpmf(count) - np.log(whole.sf(0)), rtol=1e-9)


def test_truncated_log_mass_derivatives_match_finite_differences() -> None:
    for count, mean, r in ((1.0, 0.3, 0.5), (7.0, 4.0, 2.0), (40.0, 20.0, 0.8)):

        def log_mass(logs: np.ndarray, count: float = count) -> float:
            mean, r = np.exp(logs)
            return float(truncated_log_mass(np.array([count]), np.array([mean]), float(r))[0][0])

        _, by_mean, by_dispersion = truncated_log_mass(np.array([count]), np.array([mean]), r)
        numeric = optimize.approx_fprime(np.log([mean, r]), log_mass, 1e-6)
        np.testing.assert_allclose([by_mean[0], by_dispersion[0]], numeric, rtol=1e-4, atol=1e-6)


def test_size_forecasts_are_accurate_on_unseen_baskets() -> None:
    model = learn_basket_sizes(trips(6000, seed=0))
    model.check(ITEMS)
    found = size_accuracy(model, trips(3000, seed=1))
    assert found is not None
    assert found.complete_claimed == pytest.approx(found.complete_true, abs=0.03)
    assert found.further_claimed == pytest.approx(found.further_true, rel=0.1)
    assert found.further_correlation is not None
    assert found.further_correlation > 0.4
    assert found.range_claimed >= 0.8
    assert found.range_true == pytest.approx(found.range_claimed, abs=0.04)
    for tenth in found.complete_bins:
        assert tenth.claimed == pytest.approx(tenth.true, abs=0.12)
    small, large = model.forecast([0, 1]), model.forecast([70, 71])
    assert small.complete > large.complete + 0.2
    assert small.further < large.further


def test_item_means_leave_out_own_basket() -> None:
    """Items are unrelated to the size, but so rare that an item mean is nearly that of its own basket."""
    rng = np.random.default_rng(3)

    def random_baskets(count: int) -> Baskets:
        sizes = rng.choice([2, 12], count)
        return baskets_of([rng.choice(5000, size, replace=False).tolist() for size in sizes], 5000)

    model = learn_basket_sizes(random_baskets(1000))
    found = size_accuracy(model, random_baskets(2000))
    assert found is not None
    for tenth in found.complete_bins:
        assert tenth.claimed == pytest.approx(tenth.true, abs=0.1)
    assert found.further_claimed == pytest.approx(found.further_true, rel=0.15)


def test_cart_of_one_item_is_never_complete_without_single_item_baskets() -> None:
    """Some shops record no single-item baskets."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(30, 2 + rng.poisson(1), replace=False).tolist() for _ in range(2000)]
    model = learn_basket_sizes(baskets_of(lists))
    assert model.forecast([3]).complete < 0.02
    assert model.forecast([3, 5]).complete == pytest.approx(0.55, abs=0.1)


@pytest.mark.parametrize(
    "lists",
    [[[0]], [[0, 1, 2]], [[0]] * 10, [[0, 1], [2], [3, 4, 5], [1], [2, 0]] * 2, [list(range(70))] * 3],
)
def test_size_model_of_very_few_baskets_is_valid(lists: list[list[int]]) -> None:
    model = learn_basket_sizes(baskets_of(lists))
    model.check(ITEMS)
    largest = max(map(len, lists))
    for cart in ([], [0], [0, 1, 2], list(range(80))):
        forecast = model.forecast(cart, 1 if cart else 0)
        assert 0 <= forecast.complete <= 1
        assert 0 <= forecast.further <= 3 * largest
    found = size_accuracy(model, baskets_of(lists))
    assert found is not None
    assert found.carts == len(lists)
    assert found.range_true > 0.5


def test_size_model_is_reproducible_by_seed() -> None:
    one, other = (learn_basket_sizes(trips(300, seed=0), seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.further, other.further)
    np.testing.assert_array_equal(one.complete, other.complete)


def test_size_accuracy_without_held_out_baskets_is_none() -> None:
    model = learn_basket_sizes(trips(50, seed=0))
    assert size_accuracy(model, trips(50, seed=0).select(np.empty(0, dtype=np.int64))) is None
