"""Carts drawn from baskets, to fit and to check P(set | cart)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ndpp.sets.prediction import SetPrediction
from ndpp.sets.probability import MOST_BASKETS, SetPredictor
from training.baskets import Baskets, ItemRows


class Query(NamedTuple):
    """A single item or a cart in the making, and the basket it was drawn from."""

    cart: ItemRows
    basket: ItemRows
    as_cart: bool


def predicted(
    predictor: SetPredictor, queries: Iterable[Query], most: int = MOST_BASKETS
) -> Iterator[tuple[Query, SetPrediction]]:
    """The queries with their predictions; the next items of many carts are predicted at once."""
    asked = list(queries)
    next_items = predictor.next_item.given_each([query.cart for query in asked])
    for query, next_item in zip(asked, next_items, strict=True):
        yield (
            query,
            predictor.given(query.cart, as_cart=query.as_cart, prediction=next_item, most=most),
        )


def draw_carts(baskets: Baskets, size: int, most: int, rng: np.random.Generator) -> Iterator[Query]:
    """At most `most` carts of `size` items in the making: every basket gives at most one."""
    for number in rng.permutation(np.flatnonzero(baskets.sizes >= size))[:most]:
        yield Query(rng.permutation(baskets[number])[:size], baskets[number], as_cart=True)


def draw_purchases(baskets: Baskets, most: int, rng: np.random.Generator) -> Iterator[Query]:
    """At most `most` single items of all baskets; an item stands for all baskets that hold it."""
    owners = np.repeat(np.arange(len(baskets)), baskets.sizes)
    for entry in rng.permutation(len(owners))[:most]:
        yield Query(baskets.items[entry : entry + 1], baskets[owners[entry]], as_cart=False)


def draw_items(baskets: Baskets, most: int, rng: np.random.Generator) -> Iterator[Query]:
    """At most `most` different items, each with a random basket that holds it."""
    owners = np.repeat(np.arange(len(baskets)), baskets.sizes)
    shuffled = rng.permutation(len(owners))
    _, first = np.unique(baskets.items[shuffled], return_index=True)
    for entry in shuffled[rng.permutation(first)[:most]]:
        yield Query(baskets.items[entry : entry + 1], baskets[owners[entry]], as_cart=False)
