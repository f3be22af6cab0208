"""Synthetic baskets with planted complements and substitutes, for the tiny demo, tests and benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.baskets import Baskets

COMPLEMENT_RATE = 0.7  # P(complement | item)


def generate_baskets(items: int, baskets: int, *, mean_size: float = 6.0, seed: int = 0) -> Baskets:
    """Items with Zipf popularity in groups of four: `a7`, `b7` are complements, `c7`, `d7` substitutes."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, items // 4 + 2) ** 0.8
    cumulative = np.cumsum(np.repeat(popularity, 4)[:items])
    sizes = 1 + rng.poisson(mean_size - 1, baskets)
    basket = np.repeat(np.arange(baskets), sizes)
    item = np.searchsorted(cumulative, rng.random(len(basket)) * cumulative[-1])
    basket, item = _add_complements(basket, item, items, rng)
    keys = np.unique(basket * items + item)
    keys = keys[~_has_substitute_too(keys, items)]
    return _in_catalogue_order(keys // items, keys % items, items)


def _add_complements(
    basket: NDArray[np.int64], item: NDArray[np.int64], items: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    brings = (item % 4 == 0) & (item + 1 < items) & (rng.random(len(item)) < COMPLEMENT_RATE)
    return np.concatenate([basket, basket[brings]]), np.concatenate([item, item[brings] + 1])


def _has_substitute_too(keys: NDArray[np.int64], items: int) -> NDArray[np.bool_]:
    """Mask of entries that are the second of two substitutes in one basket."""
    is_second: NDArray[np.bool_] = (keys % items % 4 == 3) & np.isin(keys - 1, keys)
    return is_second


def _in_catalogue_order(basket: NDArray[np.int64], item: NDArray[np.int64], items: int) -> Baskets:
    names = np.array([f"{'abcd'[i % 4]}{i // 4}" for i in range(items)])
    counts = np.bincount(item, minlength=items)
    order = np.lexsort((names, -counts))
    row_of = np.argsort(order)
    keys = np.sort(basket * items + row_of[item])
    basket, rows = keys // items, keys % items
    offsets = np.append(np.flatnonzero(np.diff(basket, prepend=-1)), len(basket))
    return Baskets(tuple(names[order].tolist()), rows.astype(np.int32), offsets.astype(np.int64))
