"""The search for the best set against all sets, with and without constraints."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ndpp.sets import Constraints, Limit, SetPrediction, best_set
from tests.ndpp.sets.sets_shop import SIZE, predictor


def everything(**changes: object) -> Constraints:
    return Constraints(**{"factors": np.ones(SIZE), **changes})  # type: ignore[arg-type]


def worth(prediction: SetPrediction, rows: tuple[int, ...], constraints: Constraints) -> float:
    places = np.searchsorted(prediction.candidates, rows).tolist()
    free = [row for row in rows if row not in constraints.include]
    return float(np.log(prediction.probability(places)) + constraints.log_factors[free].sum())


def best_of_all(prediction: SetPrediction, size: int, constraints: Constraints) -> float:
    rows = [row for row in prediction.candidates.tolist() if np.isfinite(constraints.log_factors[row])]
    rows = sorted({*rows, *constraints.include})
    sets = (each for each in combinations(rows, size) if set(constraints.include) <= set(each))
    return max(worth(prediction, each, constraints) for each in sets if constraints.allows(each))


CATEGORY = np.arange(SIZE) % 3 == 1
PRICES = np.where(np.arange(SIZE) == 11, np.nan, 1.0 + np.arange(SIZE))
CONSTRAINTS = {
    "none": {},
    "boosts": {"factors": np.where(np.arange(SIZE) == 12, 50.0, 1.0)},
    "excluded": {"factors": np.where(np.isin(np.arange(SIZE), [1, 2]), 0.0, 1.0)},
    "include": {"include": (9,)},
    "category": {"limits": [Limit.on(CATEGORY, 1)]},
    "price": {"prices": PRICES, "most_price": 18.0},
    "all": {"prices": PRICES, "most_price": 24.0, "limits": [Limit.on(CATEGORY, 1)], "include": (4,)},
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("cart", [[0], [3, 7], [5, 6, 8]])
def test_best_set_equals_the_best_of_all_sets(name: str, size: int, cart: list[int]) -> None:
    constraints = everything(**CONSTRAINTS[name])
    prediction = predictor().given(cart, factors=np.exp(constraints.log_factors), include=constraints.include)
    found = best_set(prediction, size, constraints)
    assert len(set(found.tolist())) == size
    assert not set(found.tolist()) & set(cart)
    assert constraints.allows(found.tolist())
    assert set(constraints.include) <= set(found.tolist())
    expected = best_of_all(prediction, size, constraints)
    assert worth(prediction, tuple(sorted(found.tolist())), constraints) == pytest.approx(expected, abs=1e-6)


def test_set_is_smaller_if_too_few_items_fit() -> None:
    few = everything(factors=np.where(np.isin(np.arange(SIZE), [1, 2]), 1.0, 0.0))
    prediction = predictor().given([0], factors=np.exp(few.log_factors))
    assert set(best_set(prediction, 4, few).tolist()) == {1, 2}
    none = everything(factors=np.zeros(SIZE))
    assert len(best_set(predictor().given([0], factors=np.exp(none.log_factors)), 2, none)) == 0


def test_items_without_a_price_are_left_out_under_a_price_limit() -> None:
    assert not everything(prices=PRICES, most_price=100.0).allowed[11]
    assert everything(prices=PRICES).allowed[11]


@pytest.mark.parametrize("cart", [[0], [3, 7], [5, 6, 8]])
def test_large_set_equals_the_best_of_all_sets(cart: list[int]) -> None:
    prediction = predictor().given(cart)
    for size in (5, 8):
        found = best_set(prediction, size, everything())
        assert len(set(found.tolist())) == size
        expected = best_of_all(prediction, size, everything())
        assert worth(prediction, tuple(sorted(found.tolist())), everything()) == pytest.approx(expected)
