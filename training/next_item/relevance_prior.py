"""The relevance prior r(Y): weighted neighbours of each item, learned from the training baskets.

For the most frequent items the weights are those of EASE-R with a dropout penalty (Steck 2019, 2020): the
ridge regression of each item on all others, with less weight on larger baskets. Item similarities are added
to it, and replace it for items beyond the size of its dense inverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from ndpp import Relevance
from training.basket_matrix import basket_matrix
from training.baskets import Baskets
from training.recency import recency_weights

DENSE_ITEMS = 10_000  # most items in the regression: one dense float32 matrix of 400 MB; more gain nothing
_DOUBLE_ITEMS = 5_000  # up to this many items the regression is solved in float64
_SIZE_DISCOUNT = 0.5  # a basket of n items has weight n^−0.5: large baskets say less about each pair
_ASYMMETRY = 0.75  # of similarities: 1 is the confidence of an association rule, 0.5 the cosine
_SHRINKAGE = 10.0  # in mean baskets: keeps two items bought once, together, from being very similar
_MOST = 500  # most neighbours per item
_ENTRIES = 8_000_000  # most neighbours in total: 64 MB
_ROWS_AT_ONCE = 256

Matrix = NDArray[np.floating[Any]]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RelevanceOptions:
    """Hyperparameters of the relevance prior, tuned on validation queries."""

    ridge: float = 20.0  # λ of the regression, in mean baskets
    dropout: float = 0.5  # additional penalty, as a share of each item's diagonal entry
    similarity: float = 0.05  # share of the similarity that is added to the regression weight
    support: float = 0.1  # share of the similarity that is a lower bound of r
    floor: float = 0.003  # smallest value of r


class CoPurchases:
    """Item-to-item weights from baskets of two or more items."""

    def __init__(self, baskets: Baskets, half_life_days: float | None = None) -> None:
        chosen = np.flatnonzero(baskets.sizes > 1)
        several, recency = baskets.select(chosen), recency_weights(baskets, half_life_days)
        self._recency = 1.0 if recency is None else recency[chosen]
        self._X = basket_matrix(several).astype(np.float64)  # (n, M)
        self._sizes = several.sizes.astype(np.float64)

    def regression(self, ridge: float, dropout: float) -> Matrix:
        """B = I − P Diag(1/diag P), P = (G + λI + dropout·Diag G)⁻¹, over the most frequent items.

        Row y holds the weights from item y to the others.
        """
        X, weights = self._X[:, :DENSE_ITEMS], self._recency * self._sizes**-_SIZE_DISCOUNT
        head = X.shape[1]
        system: Matrix = np.empty((head, head), dtype=np.float64 if head <= _DOUBLE_ITEMS else np.float32)
        for rows, together in _together(X, weights):
            system[rows] = together.toarray()
        own = np.diag_indices(head)
        system[own] += ridge * _mean(weights) + dropout * system[own]
        inverse = _inverse_in_place(system.T)  # symmetric: the transpose is in the order of LAPACK
        inverse /= -inverse[own].copy()
        inverse[own] = 0
        return inverse

    def similarities(self) -> sparse.csr_array:
        """c_yi / (c_y^a c_i^(1−a)) with shrinkage; a basket of n items has weight 1/(n − 1)."""
        weights = self._recency / (self._sizes - 1)
        scale = np.asarray(self._X.T @ weights) + _SHRINKAGE * _mean(weights)
        of_row, of_column = scale**-_ASYMMETRY, scale ** (_ASYMMETRY - 1)
        parts = []
        for rows, found in _together(self._X, weights):
            values = found.data * np.repeat(of_row[rows], np.diff(found.indptr)) * of_column[found.indices]
            parts.append(
                sparse.csr_array((values.astype(np.float32), found.indices, found.indptr), shape=found.shape)
            )
        similar = sparse.csr_array(sparse.vstack(parts, format="csr"))
        similar.setdiag(0)
        similar.eliminate_zeros()
        return similar


def _together(X: sparse.csr_array, weights: Vector) -> Iterator[tuple[slice, sparse.csr_array]]:
    """Xᵀ Diag(weights) X in strips of rows: the whole of it would take too much memory."""
    transposed, weighted = X.T.tocsr(), sparse.csr_array(sparse.diags_array(weights) @ X)
    for start in range(0, X.shape[1], _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        yield rows, transposed[rows] @ weighted


def learn_relevance_prior(
    baskets: Baskets, options: RelevanceOptions, half_life_days: float | None = None
) -> Relevance:
    """Learn the relevance prior from baskets."""
    bought = CoPurchases(baskets, half_life_days)
    return strongest_neighbours(
        bought.regression(options.ridge, options.dropout), bought.similarities(), options
    )


def strongest_neighbours(
    regression: Matrix,
    similarities: sparse.csr_array,
    options: RelevanceOptions,
    items: NDArray[np.int64] | None = None,
) -> Relevance:
    """The prior from the strongest neighbours of each item, or of `items` only; others have none then.

    The weight is regression + similarity share where the regression covers both items, else the similarity.
    Strongest are the neighbours furthest from zero: negative weights count too.
    """
    size, head = similarities.shape[0], len(regression)
    most = min(_MOST, max(_ENTRIES // size, 1), size)
    wanted = np.arange(size) if items is None else np.unique(items)
    counts, kept = np.zeros(size, dtype=np.int64), []
    for start in range(0, max(len(wanted), 1), _ROWS_AT_ONCE):
        rows = wanted[start : start + _ROWS_AT_ONCE]
        weights = similarities[rows].toarray()  # (b, M)
        support = options.support * weights
        inside = weights[: np.searchsorted(rows, head), :head]
        inside *= options.similarity
        inside += regression[rows[: len(inside)]]
        strength = np.maximum(np.abs(weights), support)
        # The strongest first: looking for them at the end is ten times slower where most are zero.
        chosen = np.sort(np.argpartition(-strength, most - 1, axis=1)[:, :most], axis=1)
        found = np.take_along_axis(strength, chosen, axis=1) > 0
        counts[rows] = found.sum(axis=1)
        kept.append(
            [
                chosen[found].astype(np.int32),
                *(np.take_along_axis(values, chosen, axis=1)[found] for values in (weights, support)),
            ]
        )
    neighbours, weights, support = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Relevance(offsets, neighbours, weights, options.floor, support)


def _mean(weights: Vector) -> float:
    return float(weights.mean()) if len(weights) else 1.0


def _inverse_in_place(system: Matrix) -> Matrix:
    """The inverse of a symmetric positive definite matrix, computed in place."""
    factor, inverse = (
        (lapack.dpotrf, lapack.dpotri) if system.dtype == np.float64 else (lapack.spotrf, lapack.spotri)
    )
    root: Matrix
    root, failed = factor(system, overwrite_a=1)
    if not failed:
        root, failed = inverse(root, overwrite_c=1)
    if failed:
        raise FloatingPointError("the regression matrix of the relevance prior is not positive definite")
    for start in range(0, len(root), _ROWS_AT_ONCE):  # LAPACK fills the upper triangle only
        block = slice(start, start + _ROWS_AT_ONCE)
        root[block, :start] = root[:start, block].T
        corner = root[block, block]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
    return root
