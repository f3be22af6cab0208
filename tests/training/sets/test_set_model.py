"""Fitting P(set | cart): queries, the likelihood against the served formulas, calibration on new baskets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ndpp import Kernel, Mixture, NextItem, RelatedItems
from ndpp.sets import SetModel, SetPredictor
from tests.ndpp.sets.sets_shop import COEFFICIENTS, SIZE, baskets, make_baskets, predictor
from training.baskets import Baskets
from training.evaluation.bundle_accuracy import bundle_accuracies
from training.next_item.basket_index import index_baskets
from training.sets.correction import correct_best_sets
from training.sets.features import CountedQuery
from training.sets.probability import (
    START,
    _set_probability,
    _single_probability,
    _tensors,
    learn_set_model,
)
from training.sets.queries import Query, draw_carts, draw_items, draw_purchases
from training.statistics.basket_sizes import learn_basket_sizes
from training.statistics.lifts import count_lifts, learn_lifts
from training.statistics.pair_counts import PairCounts
from training.synthetic import generate_baskets


def test_single_items_are_drawn_from_all_baskets_and_carts_once_per_basket() -> None:
    bought, rng = make_baskets(baskets()), np.random.default_rng(0)
    single = list(draw_purchases(bought, 10_000, rng))
    assert len(single) == len(bought.items)
    carts = list(draw_carts(bought, 3, 10_000, rng))
    assert len(carts) == int((bought.sizes >= 3).sum())
    for query in (*single, *carts):
        assert set(query.cart) <= set(query.basket)
        assert len(set(query.cart)) == len(query.cart)
    items = [int(query.cart[0]) for query in draw_items(bought, 10_000, rng)]
    assert sorted(items) == list(range(SIZE))


@pytest.mark.parametrize(("cart", "as_cart"), [([0], False), ([0], True), ([0, 5], True), ([3, 7, 9], True)])
def test_likelihood_uses_the_served_formulas(cart: list[int], as_cart: bool) -> None:
    prediction = predictor().given(cart, as_cart=as_cart)
    counted = CountedQuery(prediction, Query(np.array(cart), np.array([*cart, 1, 2]), as_cart))
    model = {name: torch.tensor(value) for name, value in prediction.model._asdict().items()}
    alone = _single_probability(model, _tensors(counted.items()))
    assert alone.numpy() == pytest.approx(prediction.singles, rel=1e-5)
    for size in (2, 3):
        sets = counted.sets(size, 0, np.random.default_rng(1))
        found = _set_probability(model, _tensors(sets), alone).numpy()
        expected = [prediction.probability(places) for places in sets.places.tolist()]
        assert found == pytest.approx(np.array(expected), rel=1e-4)
        rows = prediction.candidates[sets.places]
        assert sets.held.tolist() == [float(set(each) <= {*cart, 1, 2}) for each in rows.tolist()]


@pytest.fixture(scope="module")
def shop() -> tuple[Baskets, Baskets, Baskets]:
    bought = generate_baskets(60, 9_000, mean_size=5, seed=3)
    order = np.random.default_rng(0).permutation(len(bought))
    return bought.select(order[:5_000]), bought.select(order[5_000:6_500]), bought.select(order[6_500:])


def predictor_of(train: Baskets, model: SetModel) -> SetPredictor:
    rng, size = np.random.default_rng(1), len(train.catalogue)
    D = rng.normal(size=(4, 4))
    counts = np.maximum(train.counts, 1) / len(train)
    kernel = Kernel.tied(0.1 * rng.normal(size=(size, 4)), 0.1 * (D - D.T), counts)
    index = index_baskets(train)
    lifts = learn_lifts(train, train.select(np.arange(0)), kernel)
    return SetPredictor(
        model,
        NextItem(kernel, Mixture.plain(), None, index),
        RelatedItems(kernel, lifts),
        index,
        learn_basket_sizes(train),
    )


def test_fitted_probabilities_of_bundles_hold_on_new_baskets(shop: tuple[Baskets, Baskets, Baskets]) -> None:
    train, validation, test = shop
    first = predictor_of(train, SetModel.of(START, START))
    model = learn_set_model(first, validation)
    model.check(len(train.catalogue))
    assert model.coefficients(as_cart=False) != model.coefficients(as_cart=True)
    found = bundle_accuracies(predictor_of(train, model), test)
    assert found.single is not None
    assert found.cart is not None
    assert found.single.carts == 300
    assert abs(found.single.claimed - found.single.true) < 0.04
    assert abs(found.cart.claimed - found.cart.true) < 0.04
    assert found.single.true > 0.02  # the planted complements are found


def test_correction_of_best_sets_lowers_probabilities_that_are_too_high(
    shop: tuple[Baskets, Baskets, Baskets],
) -> None:
    train, validation, test = shop
    exaggerated = START._replace(item_constant=5.0, set_constant=3.0)
    first = predictor_of(train, SetModel.of(exaggerated, exaggerated))
    queries = [
        query for size in (2, 5) for query in draw_carts(validation, size, 300, np.random.default_rng(0))
    ]
    corrected = correct_best_sets(first, exaggerated, queries, (2, 3), 4_000)
    before = bundle_accuracies(first, test).cart
    after = bundle_accuracies(predictor_of(train, SetModel.of(corrected, corrected)), test).cart
    assert before is not None
    assert after is not None
    assert before.claimed - before.true > 0.05
    assert abs(after.claimed - after.true) < 0.03


def test_without_validation_baskets_the_start_values_stay() -> None:
    nothing = make_baskets(baskets()).select(np.arange(0))
    model = learn_set_model(predictor(), nothing)
    assert model.coefficients(as_cart=False) == START
    assert bundle_accuracies(predictor(), nothing).single is None


def test_counted_lifts_equal_learned_ones_without_relations(shop: tuple[Baskets, Baskets, Baskets]) -> None:
    train, validation, _ = shop
    kernel = predictor_of(train, SetModel.of(COEFFICIENTS, COEFFICIENTS)).next_item.kernel
    learned = learn_lifts(train, validation, kernel)
    assert learned.relations.any()
    merged = Baskets(
        train.catalogue,
        np.concatenate([train.items, validation.items]),
        np.concatenate([train.offsets, validation.offsets[1:] + train.offsets[-1]]),
    )
    counted = count_lifts(PairCounts(merged), kernel, learned.prior)
    assert not counted.relations.any()
    pairs = np.array([0, 0, 5]), np.array([1, 7, 9])
    one, other = (RelatedItems(kernel, lifts).between(*pairs).lift for lifts in (learned, counted))
    assert one == pytest.approx(other)
