"""P(set | cart) against the documented formulas, basket by basket."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ndpp.sets import SetModel
from ndpp.sets.coefficients import Coefficients
from tests.ndpp.sets.sets_shop import COEFFICIENTS, SIZE, baskets, predictor, slow_probability

CARTS = [[0], [13], [0, 5], [3, 7, 9], [0, 1, 5, 6, 8]]


@pytest.mark.parametrize("cart", CARTS)
def test_probabilities_of_one_two_and_three_items_match_the_formulas(cart: list[int]) -> None:
    prediction = predictor().given(cart)
    candidates = prediction.candidates.tolist()
    assert set(candidates) == set(range(SIZE)) - set(cart)
    places = range(len(candidates))
    singles, pairs = prediction.adding([]), prediction.adding_two([])
    for one in places:
        expected = slow_probability(prediction, [candidates[one]])
        assert singles[one] == pytest.approx(expected, rel=1e-5)
    for one, other in list(combinations(places, 2))[::7]:
        expected = slow_probability(prediction, [candidates[one], candidates[other]])
        assert pairs[one, other] == pytest.approx(expected, rel=1e-4)
        assert pairs[other, one] == pytest.approx(expected, rel=1e-4)
        assert prediction.probability([one, other]) == pytest.approx(expected, rel=1e-4)
    for three in list(combinations(places, 3))[::31]:
        expected = slow_probability(prediction, [candidates[place] for place in three])
        assert prediction.probability(list(three)) == pytest.approx(expected, rel=1e-4)
        assert prediction.adding_two(three[:1])[three[1], three[2]] == pytest.approx(expected, rel=1e-4)


def test_single_given_item_counts_baskets_that_hold_nothing_else() -> None:
    prediction = predictor().given([6])
    holding = [basket for basket in baskets() if 6 in basket]
    assert any(len(basket) == 1 for basket in holding)
    assert prediction.total == pytest.approx(len(holding))


def test_candidates_are_allowed_items_and_included_ones() -> None:
    factors = np.zeros(SIZE)
    factors[[1, 2, 7]] = 1.0
    prediction = predictor().given([0], factors=factors, include=[9])
    assert prediction.candidates.tolist() == [1, 2, 7, 9]


def test_probability_of_the_best_set_is_lowered_where_its_count_is_noisy() -> None:
    prediction = predictor().given([0])
    places = np.searchsorted(prediction.candidates, [1, 2]).tolist()
    chance, noise = prediction.best_and_noise(places)
    count = sum({0, 1, 2} <= set(basket) for basket in baskets())
    assert chance == pytest.approx(prediction.probability(places))
    assert 0 < noise <= 1 / np.sqrt(count + 1)
    odds = chance / (1 - chance) * np.exp(COEFFICIENTS.best_noise * noise)
    assert prediction.probability_of_best(places) == pytest.approx(odds / (1 + odds))
    assert prediction.probability_of_best(places[:1]) < prediction.probability(places[:1])


def test_counts_limit_the_number_of_baskets() -> None:
    assert len(predictor().given([5], most=10).members) == 10
    assert len(predictor().given([0, 1, 5], most=10).missing) == 10
    assert (predictor().given([0, 1, 5], most=10).missing == 0).all()


@pytest.mark.parametrize("wrong", [np.zeros(3), np.full(len(Coefficients._fields), np.nan)])
def test_model_with_missing_or_infinite_coefficients_is_refused(wrong: np.ndarray) -> None:
    SetModel.of(COEFFICIENTS, COEFFICIENTS).check(SIZE)
    with pytest.raises(ValueError, match="finite coefficients"):
        SetModel(np.array(COEFFICIENTS), wrong).check(SIZE)
