"""P(set | cart) against the documented formulas, basket by basket."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ndpp.sets import SetModel
from ndpp.sets.coefficients import Coefficients
from tests.ndpp.sets.sets_shop import COEFFICIENTS, SIZE, baskets, predictor, slow_probability

# Items, and whether they are a cart in the making.
GIVEN = [
    ([0], False),
    ([13], False),
    ([6], True),
    ([0, 5], True),
    ([3, 7, 9], True),
    ([0, 1, 5, 6, 8], True),
]


@pytest.mark.parametrize(("cart", "as_cart"), GIVEN)
def test_probabilities_of_one_two_and_three_items_match_the_formulas(cart: list[int], as_cart: bool) -> None:
    prediction = predictor().given(cart, as_cart=as_cart)
    candidates = prediction.candidates.tolist()
    assert set(candidates) == set(range(SIZE)) - set(cart)
    places = range(len(candidates))
    singles, pairs = prediction.adding([]), prediction.adding_two([])
    for one in places:
        expected = slow_probability(prediction, [candidates[one]], as_cart=as_cart)
        assert singles[one] == pytest.approx(expected, rel=1e-5)
    for one, other in list(combinations(places, 2))[::7]:
        expected = slow_probability(prediction, [candidates[one], candidates[other]], as_cart=as_cart)
        assert pairs[one, other] == pytest.approx(expected, rel=1e-4)
        assert pairs[other, one] == pytest.approx(expected, rel=1e-4)
        assert prediction.probability([one, other]) == pytest.approx(expected, rel=1e-4)
    for three in list(combinations(places, 3))[::31]:
        expected = slow_probability(prediction, [candidates[place] for place in three], as_cart=as_cart)
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


def test_probability_of_the_best_set_is_corrected() -> None:
    prediction = predictor().given([0, 5])
    places = np.searchsorted(prediction.candidates, [1, 2]).tolist()
    one, log_size, logit, noise = prediction.features_of_best(places).tolist()
    chance = prediction.probability(places)
    assert one == 1
    assert log_size == pytest.approx(np.log(2))
    assert logit == pytest.approx(np.log(chance / (1 - chance)))
    assert 0 < noise < 1
    corrected = -0.1 + 0.2 * np.log(2) + 0.9 * logit - noise
    assert prediction.probability_of_best(places) == pytest.approx(1 / (1 + np.exp(-corrected)))


def test_noise_of_the_best_set_falls_with_its_count() -> None:
    prediction = predictor().given([0])
    places = np.searchsorted(prediction.candidates, [1, 2]).tolist()
    count = sum({0, 1, 2} <= set(basket) for basket in baskets())
    assert 0 < prediction.features_of_best(places)[3] <= 1 / np.sqrt(count + 1)


def test_counts_limit_the_number_of_baskets() -> None:
    assert len(predictor().given([5], most=10).members) == 10
    assert len(predictor().given([0, 1, 5], most=10).missing) == 10
    assert (predictor().given([0, 1, 5], most=10).missing == 0).all()


@pytest.mark.parametrize("wrong", [np.zeros(3), np.full(len(Coefficients._fields), np.nan)])
def test_model_with_missing_or_infinite_coefficients_is_refused(wrong: np.ndarray) -> None:
    SetModel.of(COEFFICIENTS, COEFFICIENTS).check(SIZE)
    with pytest.raises(ValueError, match="finite coefficients"):
        SetModel(np.array(COEFFICIENTS), wrong).check(SIZE)
