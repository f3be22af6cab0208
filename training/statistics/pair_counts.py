"""Counts of pairs: baskets that hold both items, and the number expected if the items were unrelated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.lifts import SIZE_CLASSES, Prior, class_rates, posterior
from ndpp.marginal_kernel import MarginalKernel
from training.basket_matrix import basket_matrix
from training.baskets import Baskets

_PAIRS_AT_ONCE = 20_000


class Pairs(NamedTuple):
    """Pairs of items, first < second, with the counts behind their lifts."""

    first: Indices
    second: Indices
    together: NDArray[np.int32]
    by_chance: Vector
    kernel_lift: Vector

    def some(self, chosen: NDArray[np.bool_], most: int, seed: int) -> Pairs:
        """The chosen pairs, or a random sample of `most` of them."""
        places = at_random(np.flatnonzero(chosen), most, seed)
        return Pairs._make(values[places] for values in self)

    def posterior(self, prior: Prior) -> tuple[Vector, ...]:
        """Mean, lower and upper end of each pair's lift."""
        return posterior(self.together, self.by_chance, self.kernel_lift, prior)


class PairCounts:
    """Counts of items by basket-size class, and of pairs of items."""

    def __init__(self, baskets: Baskets) -> None:
        classes = np.searchsorted(SIZE_CLASSES, baskets.sizes, side="right") - 1
        of_items = np.repeat(classes, baskets.sizes) + len(SIZE_CLASSES) * baskets.items.astype(np.int64)
        size = len(baskets.catalogue)
        counts = np.bincount(of_items, minlength=size * len(SIZE_CLASSES)).reshape(size, -1)
        self.by_class = counts.astype(np.int32)  # (M, 7)
        self.totals = np.bincount(classes, minlength=len(SIZE_CLASSES)).astype(np.int64)  # (7,)
        self.rates = class_rates(self.by_class, self.totals)
        self._pairs = np.bincount(classes, baskets.sizes * (baskets.sizes - 1.0), len(SIZE_CLASSES))[1:]
        X = basket_matrix(baskets).astype(np.int32)
        self.together = sparse.csr_array(sparse.triu(X.T @ X, 1))  # (M, M), above the diagonal

    def together_of(self, first: Indices, second: Indices) -> NDArray[np.int32]:
        """Baskets that hold both items of each pair."""
        swapped = first > second
        rows, columns = np.where(swapped, second, first), np.where(swapped, first, second)
        if not len(rows):
            return np.empty(0, dtype=np.int32)
        return np.asarray(self.together[rows, columns], dtype=np.int32).ravel()

    def by_chance_of(self, first: Indices, second: Indices) -> Vector:
        """Expected number of baskets that hold both items if they are unrelated."""
        return _products(self.rates, first, second)

    def usual_lifts(self, first: Indices, second: Indices) -> Vector:
        """The mean lift of unrelated items, at most 1, in baskets of the sizes in which these are bought.

        It is below 1 in small baskets, because `by_chance` includes pairs of an item with itself, which no
        basket holds.
        """
        sums = (self.rates.sum(axis=0) ** 2 - (self.rates**2).sum(axis=0)).clip(min=np.finfo(float).tiny)
        share = np.minimum(self._pairs / sums, 1.0)
        by_chance = self.by_chance_of(first, second)
        usual = _products(self.rates * np.sqrt(share), first, second)
        return np.divide(usual, by_chance, out=np.ones(len(first)), where=by_chance > 0)

    def met(self, least: int = 1) -> tuple[Indices, Indices]:
        """The first and the second rows of the pairs that at least `least` baskets hold."""
        met = self.together.tocoo()
        kept = met.data >= least
        return met.row[kept].astype(np.intp), met.col[kept].astype(np.intp)

    def pairs(self, first: Indices, second: Indices, marginal: MarginalKernel) -> Pairs:
        """These pairs with their counts and kernel lifts."""
        return Pairs(
            first,
            second,
            self.together_of(first, second),
            self.by_chance_of(first, second),
            marginal.lifts(first, second),
        )


def _products(rows: Matrix, first: Indices, second: Indices) -> Vector:
    products = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        products[part] = np.einsum("ic,ic->i", rows[first[part]], rows[second[part]])
    return products


def at_random(places: Indices, most: int, seed: int) -> Indices:
    """A random sample of `most` of the places, in their order; all of them if there are no more."""
    if len(places) <= most:
        return places
    return np.sort(np.random.default_rng(seed).choice(places, most, replace=False))


def joined(*parts: Pairs) -> Pairs:
    """The pairs of all parts."""
    columns: Iterator[tuple[NDArray[Any], ...]] = zip(*parts, strict=True)
    return Pairs._make(np.concatenate(column) for column in columns)
