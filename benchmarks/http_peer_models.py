"""Fits the peers of `benchmarks.http` to the trained model's baskets, and enlarges them like the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.large_model import NOISE, Copies
from ndpp import Relevance
from training.baselines import Als, BaselineUnavailableError, Ease
from training.baskets import Baskets

DENSE_ITEMS = 50_000  # up to here EASE-R has all its weights, a matrix of 10 GB
STRONGEST = 100  # of the weights of each item above
_ROWS_AT_ONCE = 65_536


def write_peers(folder: Path, copies: Copies, relevance: Relevance, carts: Iterable[list[int]]) -> list[str]:
    """Write the arrays of the peers for these carts; returns the names of the peers."""
    folder.mkdir()
    index = copies.trained.stored.baskets
    assert index is not None
    known = Baskets(tuple(copies.trained.stored.items.ids), np.array(index.items), np.array(index.offsets))
    if copies.size <= DENSE_ITEMS:
        _write_dense_ease(folder, copies, known, carts)
    else:
        _write_sparse_ease(folder, relevance)
    try:
        factors = Als().fit(known).model.item_factors[copies.origin[1]]
    except BaselineUnavailableError as reason:
        print(f"{reason}: it is left out")
        return ["ease"]
    rng = np.random.default_rng(0)
    np.save(folder / "als.npy", factors * rng.normal(1, NOISE, factors.shape).astype(np.float32))
    return ["als", "ease"]


def _write_dense_ease(folder: Path, copies: Copies, known: Baskets, carts: Iterable[list[int]]) -> None:
    """The matrix of all weights; the rows of items that are in no cart are never read and stay empty."""
    trained, item, size = Ease().fit(known).weights, copies.origin[1], copies.size
    rng = np.random.default_rng(0)
    weights = np.lib.format.open_memmap(folder / "ease.npy", "w+", np.float32, (size, size))
    for row in {row for cart in carts for row in cart}:
        noise = 1 + np.float32(NOISE) * rng.standard_normal(size, dtype=np.float32)
        weights[row] = trained[item[row]][item] * noise


def _write_sparse_ease(folder: Path, relevance: Relevance) -> None:
    """The strongest weights of each item: those of the model's relevance prior, which is a form of EASE-R."""
    shape = len(relevance.offsets) - 1, STRONGEST
    neighbours = np.lib.format.open_memmap(folder / "neighbours.npy", "w+", np.int32, shape)
    weights = np.lib.format.open_memmap(folder / "weights.npy", "w+", np.float32, shape)
    for start in range(0, len(neighbours), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        places = relevance.offsets[:-1][rows, None] + np.arange(STRONGEST)
        listed = places < relevance.offsets[1:][rows, None]
        places[~listed] = 0
        neighbours[rows], weights[rows] = relevance.neighbours[places], relevance.weights[places] * listed
