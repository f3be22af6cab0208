"""Carts drawn from baskets, to fit and to check P(set | cart)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from training.baskets import Baskets, ItemRows


class Query(NamedTuple):
    """A single item or a cart in the making, and the basket it was drawn from."""

    cart: ItemRows
    basket: ItemRows
    as_cart: bool


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
