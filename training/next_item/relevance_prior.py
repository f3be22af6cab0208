"""The relevance prior r(Y): weighted neighbours of each item, learned from the training baskets.

For the most frequent items the weights are those of EASE-R with a dropout penalty (Steck 2019, 2020): the
ridge regression of each item on all others, with less weight on larger baskets. Item similarities are added
to it, and replace it for items beyond the size of its dense inverse.
"""

from __future__ import annotations

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

DENSE_ITEMS = 20_000  # most items in the regression: one dense float32 matrix of 1.5 GiB
_DOUBLE_ITEMS = 8_000  # up to this many items the regression is solved in float64
_SIZE_DISCOUNT = 0.5  # a basket of n items has weight n^−0.5: large baskets say less about each pair
_ASYMMETRY = 0.75  # of similarities: 1 is the confidence of an association rule, 0.5 the cosine
_SHRINKAGE = 10.0  # in mean baskets: keeps two items bought once, together, from being very similar
_MOST = 500  # most neighbours per item
_ENTRIES = 8_000_000  # most neighbours in total: 64 MB
_ROWS_AT_ONCE = 256

Matrix = NDArray[np.floating[Any]]


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
        dtype = np.float64 if head <= _DOUBLE_ITEMS else np.float32
        gram = (X.T @ sparse.diags_array(weights) @ X).astype(dtype)
        system: Matrix = gram.toarray().T  # symmetric: the transpose gives LAPACK its column-major order
        own = np.diag_indices(head)
        system[own] += ridge * _mean(weights) + dropout * system[own]
        inverse = _inverse_in_place(system)
        inverse /= -inverse[own].copy()
        inverse[own] = 0
        return inverse

    def similarities(self) -> sparse.csr_array:
        """c_yi / (c_y^a c_i^(1−a)) with shrinkage; a basket of n items has weight 1/(n − 1)."""
        weights = self._recency / (self._sizes - 1)
        together = sparse.coo_array(self._X.T @ sparse.diags_array(weights) @ self._X)
        scale = np.asarray(self._X.T @ weights) + _SHRINKAGE * _mean(weights)
        apart = together.row != together.col
        rows, columns = together.row[apart], together.col[apart]
        values = together.data[apart] / (scale[rows] ** _ASYMMETRY * scale[columns] ** (1 - _ASYMMETRY))
        return sparse.csr_array((values.astype(np.float32), (rows, columns)), shape=together.shape)


def learn_relevance_prior(
    baskets: Baskets, options: RelevanceOptions, half_life_days: float | None = None
) -> Relevance:
    """Learn the relevance prior from baskets."""
    bought = CoPurchases(baskets, half_life_days)
    return strongest_neighbours(
        bought.regression(options.ridge, options.dropout), bought.similarities(), options
    )


def strongest_neighbours(
    regression: Matrix, similarities: sparse.csr_array, options: RelevanceOptions
) -> Relevance:
    """The prior from the strongest neighbours of each item.

    The weight is regression + similarity share where the regression covers both items, else the similarity.
    """
    size, head = similarities.shape[0], len(regression)
    most = min(_MOST, max(_ENTRIES // size, 1))
    kept = []
    for item in range(size):
        span = slice(similarities.indptr[item], similarities.indptr[item + 1])
        others, similar = similarities.indices[span], similarities.data[span]
        if item < head:
            weights = regression[item].astype(np.float32)
            dense = np.zeros(head, dtype=np.float32)
            inside = others < head
            dense[others[inside]] = similar[inside]
            weights += options.similarity * dense
            others = np.concatenate([np.arange(head, dtype=np.int32), others[~inside]])
            weights = np.concatenate([weights, similar[~inside]])
            similar = np.concatenate([dense, similar[~inside]])
        else:
            weights = similar
        kept.append(_strongest(others, weights, options.support * similar, most))
    neighbours, weights, support = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row, *_ in kept])])
    return Relevance(offsets, neighbours, weights, options.floor, support)


def _strongest(
    others: NDArray[np.int32], weights: NDArray[np.float32], support: NDArray[np.float32], most: int
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
    """The entries furthest from zero (negative weights count too), in order of the neighbour's row."""
    strength = np.maximum(np.abs(weights), support)
    chosen = np.flatnonzero(strength)
    if len(chosen) > most:
        chosen = np.argpartition(-strength, most)[:most]
    chosen = chosen[np.argsort(others[chosen])]
    return others[chosen], weights[chosen], support[chosen]


def _mean(weights: NDArray[np.float64]) -> float:
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
