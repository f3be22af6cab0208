"""Forecasts of basket sizes against the same distribution computed with SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ndpp.basket_sizes import FEATURES, LEVEL, BasketSizes, features

MODEL = BasketSizes(
    item_log_sizes=np.array([2.5, 2.0, 0.5, 1.5], dtype=np.float32),
    usual_log_size=1.5,
    complete=np.array([-0.5, 0.8, 0.1, -0.2, -0.4, -0.3, 0.0, -0.9, 0.1]),
    further=np.array([1.0, 0.1, 0.2, 0.3, 0.2, 0.4, 0.1, 0.7, -0.1]),
    dispersion=0.6,
    counts=np.array([0, 40, 25, 10, 0, 12, 8, 5]),
)


def distribution(model: BasketSizes, rows: list[int], others: int) -> np.ndarray:
    """P(0, 1, 2, … further items), by the definition of the two regressions."""
    size = len(rows) + others
    values = [float(model.item_log_sizes[row]) for row in rows] + [model.usual_log_size] * others
    x = features(np.array([min(size, 7)]), np.array([np.mean(values) - model.usual_log_size]))[0]
    complete = 1 / (1 + np.exp(-x @ model.complete))
    mean, r = np.exp(x @ model.further), model.dispersion
    whole = stats.nbinom(r, r / (r + mean)).pmf(np.arange(5000))
    return np.concatenate([[complete], (1 - complete) * whole[1:] / (1 - whole[0])])


@pytest.mark.parametrize("dispersion", [0.05, 0.6, 1.0, 30.0])
@pytest.mark.parametrize(("rows", "others"), [([0], 0), ([1, 2], 0), ([0, 1, 3], 2), ([], 4), ([2], 50)])
def test_forecast_matches_the_hurdle_model(rows: list[int], others: int, dispersion: float) -> None:
    model = replace(MODEL, dispersion=dispersion)
    forecast, wanted = model.forecast(rows, others), distribution(model, rows, others)
    assert forecast.complete == pytest.approx(wanted[0])
    assert forecast.further == pytest.approx(wanted @ np.arange(len(wanted)), rel=1e-6)
    size, found = len(rows) + others, forecast.size
    assert found.low >= size
    inside = wanted[found.low - size : found.high - size + 1]
    assert found.probability == pytest.approx(inside.sum())
    assert found.probability >= LEVEL - 1e-6
    width = found.high - found.low  # a range of one number less
    ends = np.concatenate([[0.0], np.cumsum(wanted)])
    assert (ends[width:] - ends[: len(ends) - width]).max() < LEVEL


def test_empty_cart_has_the_sizes_of_all_baskets() -> None:
    forecast = MODEL.forecast([])
    assert forecast.complete == 0
    assert forecast.further == pytest.approx(MODEL.counts @ np.arange(8) / 100)
    assert (forecast.size.low, forecast.size.high, forecast.size.probability) == (1, 5, pytest.approx(0.87))


def test_cart_larger_than_every_basket_is_treated_as_the_largest() -> None:
    at_most, beyond = MODEL.forecast([], 7), MODEL.forecast([], 300)
    assert beyond.complete == at_most.complete
    assert beyond.further == at_most.further
    assert beyond.size.low - 300 == at_most.size.low - 7


def test_extreme_coefficients_give_finite_forecasts() -> None:
    for sign in (-1, 1):
        model = replace(
            MODEL, complete=np.full(FEATURES, 500.0 * sign), further=np.full(FEATURES, 500.0 * sign)
        )
        forecast = model.forecast([0, 1, 2])
        assert 0 <= forecast.complete <= 1
        assert 0 <= forecast.further <= 10
        assert forecast.size.low >= 3


@pytest.mark.parametrize(
    "change",
    [
        {"item_log_sizes": np.ones(3, dtype=np.float32)},
        {"complete": np.ones(FEATURES - 1)},
        {"further": np.full(FEATURES, np.nan)},
        {"dispersion": 0.0},
        {"counts": np.zeros(4, dtype=np.int64)},
    ],
)
def test_invalid_basket_sizes_are_refused(change: dict[str, object]) -> None:
    MODEL.check(4)
    with pytest.raises(ValueError, match="basket sizes"):
        replace(MODEL, **change).check(4)  # type: ignore[arg-type]
