"""A small shop with planted baskets, and slow, obviously right counts and probabilities."""

from __future__ import annotations

from functools import cache

import numpy as np

from ndpp import BasketIndex, Kernel, Mixture, NextItem, RelatedItems
from ndpp.basket_sizes import FEATURES, BasketSizes
from ndpp.sets import SetModel, SetPrediction, SetPredictor
from ndpp.sets.coefficients import Coefficients
from training.baskets import Baskets
from training.next_item.basket_index import index_baskets
from training.statistics.lifts import learn_lifts

SIZE = 14
COEFFICIENTS = Coefficients(
    item_constant=-0.3,
    item_further=0.6,
    item_size=0.1,
    item_next=0.5,
    item_common=0.2,
    item_strength=1.0,
    item_strength_by_size=0.3,
    item_strength_power=0.4,
    set_items=0.9,
    set_constant=0.1,
    set_size=-0.1,
    set_spread=0.4,
    set_lift=0.5,
    set_lift_by_size=-0.1,
    set_strength=0.7,
    set_strength_by_size=0.2,
    set_strength_power=0.5,
    one_missing=-1.0,
    two_missing=-2.0,
    missing_by_size=-0.3,
    best_constant=-0.1,
    best_by_size=0.2,
    best_slope=0.9,
    best_noise=-1.0,
)


def make_baskets(rows: list[list[int]], size: int = SIZE) -> Baskets:
    offsets = np.concatenate([[0], np.cumsum([len(basket) for basket in rows])]).astype(np.int64)
    return Baskets(
        tuple(f"item-{row}" for row in range(size)),
        np.array([row for basket in rows for row in basket], dtype=np.int32),
        offsets,
    )


@cache
def baskets() -> list[list[int]]:
    """Items 0, 1, 2 are bought together, 3 and 4 as well; the others at random."""
    rng = np.random.default_rng(4)
    found: list[list[int]] = []
    for _ in range(400):
        basket = set(rng.choice(np.arange(5, SIZE), rng.integers(1, 6), replace=False).tolist())
        if rng.random() < 0.3:
            basket |= {0, 1} | ({2} if rng.random() < 0.7 else set())
        if rng.random() < 0.2:
            basket |= {3, 4}
        found.append(sorted(basket))
    return found


@cache
def predictor() -> SetPredictor:
    rng = np.random.default_rng(5)
    D = rng.normal(size=(4, 4))
    kernel = Kernel.tied(0.4 * rng.normal(size=(SIZE, 4)), D - D.T, rng.uniform(0.1, 0.5, SIZE))
    bought = make_baskets(baskets())
    index: BasketIndex = index_baskets(bought)
    return SetPredictor(
        SetModel.of(COEFFICIENTS, COEFFICIENTS._replace(item_constant=-0.5)),
        NextItem(kernel, Mixture.plain(0.5), None, index),
        RelatedItems(kernel, learn_lifts(bought, bought.select(np.arange(0)), kernel)),
        index,
        BasketSizes(
            item_log_sizes=np.full(SIZE, 1.2, dtype=np.float32),
            usual_log_size=1.2,
            complete=np.zeros(FEATURES),
            further=np.full(FEATURES, 0.3),
            dispersion=2.0,
            counts=np.bincount([len(basket) for basket in baskets()]),
        ),
    )


def weights_of(cart: list[int], c: Coefficients, *, as_cart: bool) -> list[tuple[set[int], float]]:
    """The counted baskets and their weights."""
    n = np.log(len(cart)) * c.missing_by_size
    levels = [1.0, np.exp(c.one_missing + n), np.exp(c.two_missing + n)]
    counted = []
    for basket in map(set, baskets()):
        missing = len(set(cart) - basket)
        if missing <= 2 and missing < len(cart):
            by_size = 10 / len(basket) if as_cart else 1.0
            counted.append((basket, levels[missing] * by_size))
    if len(cart) > 1:  # a basket of one item is not in the index
        counted = [(basket, weight) for basket, weight in counted if len(basket) > 1]
    return counted


def slow_probability(prediction: SetPrediction, rows: list[int], *, as_cart: bool) -> float:
    """P(rows | cart) by the documented formulas, one basket at a time."""
    model = predictor()
    cart = prediction.cart.tolist()
    c, n = model.model.coefficients(as_cart=as_cart), len(cart)
    counted = weights_of(cart, c, as_cart=as_cart)
    total = sum(weight for _, weight in counted)

    def joined(chosen: list[int], expected: float, a: float, b: float, q: float) -> float:
        count = sum(weight for basket, weight in counted if set(chosen) <= basket)
        strength = np.exp(a + b * np.log(n)) * max(expected, 1e-3) ** -q
        return float((count + strength * expected) / (total + strength))

    every = [len(basket) for basket in baskets()]
    further = [(len(basket - set(cart)), weight) for basket, weight in counted]
    mean = (sum(f * w for f, w in further) + 2 * np.mean(every)) / (total + 2)
    square = (sum(f * f * w for f, w in further) + 2 * np.mean(np.square(every))) / (total + 2)
    expected_further = mean if not as_cart else model.sizes.forecast(cart).further
    log_further, log_spread = np.log(expected_further + 0.01), np.log(square / mean**2)
    following = model.next_item.given(cart).probabilities

    def single(row: int) -> float:
        common = (sum(row in basket for basket in baskets()) + 0.5) / (len(baskets()) + 1)
        logit = c.item_constant + c.item_further * log_further + c.item_size * np.log(n)
        logit += c.item_next * max(np.log(following[row]), np.log(1e-9)) + c.item_common * np.log(common)
        strength = c.item_strength, c.item_strength_by_size, c.item_strength_power
        return joined([row], 1 / (1 + np.exp(-logit)), *strength)

    if len(rows) == 1:
        return single(rows[0])
    pairs = [(i, j) for place, i in enumerate(rows) for j in rows[place + 1 :]]
    mean_lift = np.mean([np.log(model.relations.between([i], [j]).lift[0]) for i, j in pairs])
    log = c.set_items * sum(np.log(single(row)) for row in rows) + (len(rows) - 1) * (
        c.set_constant
        + c.set_size * np.log(n)
        + c.set_spread * log_spread
        + (c.set_lift + c.set_lift_by_size * np.log(n)) * mean_lift
    )
    strength = c.set_strength, c.set_strength_by_size, c.set_strength_power
    return joined(rows, min(float(np.exp(log)), 0.99), *strength)
