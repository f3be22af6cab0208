"""The model of basket sizes, learned from made-up trips and asked about unseen ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from training.basket_sizes import learn_basket_sizes, random_prefixes, truncated_log_mass
from training.baskets import Baskets
from training.evaluation.basket_sizes import size_accuracy

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


def test_a_prefix_is_a_random_part_of_each_basket() -> None:
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


def test_truncated_log_mass_is_that_of_scipy() -> None:
    count = np.arange(1, 60)
    for mean, r in ((0.3, 0.5), (4.0, 2.0), (20.0, 0.8)):
        ours = truncated_log_mass(*(torch.as_tensor(x, dtype=torch.float64) for x in (count, mean, r)))
        whole = stats.nbinom(r, r / (r + mean))
        np.testing.assert_allclose(ours, whole.logpmf(count) - np.log(whole.sf(0)), rtol=1e-9)


def test_forecasts_hold_on_unseen_baskets() -> None:
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


def test_the_own_basket_does_not_flatter_the_means_of_rare_items() -> None:
    """No item says anything about the size, but each is so rare that its mean is nearly its own basket's."""
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


def test_baskets_that_never_end_at_one_item() -> None:
    """Some shops keep no single-item baskets: a cart of one is never complete there."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(30, 2 + rng.poisson(1), replace=False).tolist() for _ in range(2000)]
    model = learn_basket_sizes(baskets_of(lists))
    assert model.forecast([3]).complete < 0.02
    assert model.forecast([3, 5]).complete == pytest.approx(0.55, abs=0.1)


@pytest.mark.parametrize(
    "lists",
    [[[0]], [[0, 1, 2]], [[0]] * 10, [[0, 1], [2], [3, 4, 5], [1], [2, 0]] * 2, [list(range(70))] * 3],
)
def test_very_few_baskets_give_a_sound_model(lists: list[list[int]]) -> None:
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


def test_the_same_baskets_and_seed_give_the_same_model() -> None:
    one, other = (learn_basket_sizes(trips(300, seed=0), seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.further, other.further)
    np.testing.assert_array_equal(one.complete, other.complete)


def test_without_held_out_baskets_there_is_no_accuracy() -> None:
    model = learn_basket_sizes(trips(50, seed=0))
    assert size_accuracy(model, trips(50, seed=0).select(np.empty(0, dtype=np.int64))) is None
