"""New arrivals: items without purchases, as mixtures of similar known items.

    P(i | cart) = Σ_j W_ij P(j | cart),   W_ij = rate · softmax_j(Σ_f w_f s_f(i, j))

over the known items j that are most similar to the arrival i, of those that resemble it at all. s_f are the
similarities of `Alike`. All that is linear in P carries over: the share of each expert, and what explains a
suggestion. Known items and arrivals together have probabilities that add up to more than 1; divide by the sum
where that matters.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ndpp.item_features import Alike, ItemFeatures
from ndpp.kernel import Indices, Matrix, Vector

NEIGHBOURS = 32  # at most
Mask = NDArray[np.bool_]
_LEAST = 1e-12  # popularity, for logarithms


@dataclass(frozen=True)
class ArrivalWeights:
    """The weight of each similarity, and how arrivals are bought beside their neighbours."""

    category: float = 2.0
    words: float = 2.0
    letters: float = 3.0
    price: float = 1.5
    attributes: float = 2.0
    parent: float = 3.0
    rate: float = 1.0  # purchases of an arrival, as a multiple of the mean of its neighbours
    shape: float = 0.8  # of the gamma prior of the factor of `moved_by`: low if arrivals differ much

    @property
    def of_similarities(self) -> Vector:
        """The weights of the rows of `Alike.table`, (6,)."""
        return np.array(astuple(self)[:6], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """A arrivals, each with n neighbours among the known items, most similar first."""

    neighbours: Indices  # (A, n): rows of known items; 0 where the weight is 0
    weights: Matrix  # (A, n): W_ij, 0 beyond the last neighbour
    shape: float  # see `ArrivalWeights`
    alone: frozenset[int] = frozenset()  # the places of those that resemble no known item

    def __len__(self) -> int:
        return len(self.neighbours)

    def probabilities(self, known: Vector) -> Vector:
        """Σ_j W_ij known_j of each arrival, (A,), for values of all known items such as P(j | cart)."""
        found: Vector = np.einsum("an,an->a", self.weights, known[self.neighbours])
        return found

    def neighbours_of(self, place: int) -> list[int]:
        """The known items that resemble an arrival, most similar first; none if it is alone."""
        if place in self.alone:
            return []
        found: list[int] = self.neighbours[place][self.weights[place] > 0].tolist()
        return found

    @classmethod
    def none(cls) -> Arrivals:
        """No arrivals."""
        return cls(np.zeros((0, NEIGHBOURS), dtype=np.intp), np.zeros((0, NEIGHBOURS)), 1.0)

    def longer(self, size: int) -> Arrivals:
        """`size` arrivals, at least as many as these: the new ones have no neighbours."""
        if size == len(self):
            return self
        more = ((0, size - len(self)), (0, 0))
        return replace(self, neighbours=np.pad(self.neighbours, more), weights=np.pad(self.weights, more))

    def with_rows(self, places: Indices, rows: Arrivals) -> Arrivals:
        """The arrivals with other rows at some places."""
        neighbours, weights = self.neighbours.copy(), self.weights.copy()
        neighbours[places], weights[places] = rows.neighbours, rows.weights
        alone = self.alone.difference(places.tolist()).union(places[list(rows.alone)].tolist())
        return Arrivals(neighbours, weights, rows.shape, alone)

    def moved_by(self, purchases: Vector, baskets: Vector, basket_shares: Vector) -> Arrivals:
        """The arrivals after `purchases` of each in `baskets` new baskets since its arrival, both (A,).

        `basket_shares` are the known items' shares of baskets, count / number of baskets, (M,). With the
        weights of an arrival they add up to its own expected share, and times `baskets` to the expected
        number e of baskets with it. What is really bought is a multiple of that, with a gamma prior of mean
        1, so the weights are multiplied by its posterior mean (shape + purchases) / (shape + e).
        """
        expected = baskets * self.probabilities(basket_shares)
        factors = (self.shape + purchases) / (self.shape + expected)
        return replace(self, weights=self.weights * factors[:, None])


@dataclass(frozen=True, eq=False)
class Similarity:
    """The known items, prepared to find the neighbours of arrivals."""

    alike: Alike
    usual: Vector  # (M,)
    weights: ArrivalWeights

    @classmethod
    def of(cls, known: ItemFeatures, usual: Vector, weights: ArrivalWeights) -> Similarity:
        """`usual` is the popularity of the known items, P(j | empty cart)."""
        if len(known) != len(usual):
            raise ValueError(f"there are features of {len(known)} items and popularities of {len(usual)}")
        return cls(Alike(known), usual, weights)

    def neighbours(self, table: Matrix, most: int, allowed: Mask) -> Indices:
        """The allowed rows that resemble an arrival most; the most popular ones if none resembles it."""
        similar = table.any(axis=0) & allowed
        if similar.any():
            return _highest(self.weights.of_similarities @ table, most, similar)
        return _highest(self.usual, most, allowed)

    def arrivals(self, new: ItemFeatures, excluded: Mask | None = None) -> Arrivals:
        """The arrivals with these features; known items that are `excluded`, (M,), are nobody's neighbours.

        An arrival that resembles no known item at all becomes a mixture of the most popular items in
        proportion to their popularity, with a rate that makes it as popular as the median known item.
        """
        allowed = np.ones(len(self.usual), dtype=np.bool_) if excluded is None else ~excluded
        neighbours, weights = (
            np.zeros((len(new), NEIGHBOURS), dtype=np.intp),
            np.zeros((len(new), NEIGHBOURS)),
        )
        alone = set[int]()
        for place in range(len(new) if allowed.any() else 0):
            table = self.alike.table(new, place)
            rows = self.neighbours(table, NEIGHBOURS, allowed)
            table = table[:, rows]
            if table.any():
                scores = self.weights.of_similarities @ table
                shares, rate = np.exp(scores - scores.max()), self.weights.rate
            else:
                alone.add(place)
                shares = np.maximum(self.usual[rows], _LEAST)
                rate = float(np.median(self.usual[allowed]) * shares.sum() / (shares**2).sum())
            neighbours[place, : len(rows)], weights[place, : len(rows)] = rows, rate * shares / shares.sum()
        return Arrivals(neighbours, weights, self.weights.shape, frozenset(alone))


def _highest(values: Vector, most: int, allowed: Mask) -> Indices:
    """The allowed rows with the highest values, best first, ties by row."""
    rows = np.flatnonzero(allowed)
    if len(rows) > most:
        lowest = np.partition(values[rows], len(rows) - most)[len(rows) - most]
        rows = rows[values[rows] >= lowest]
    return rows[np.lexsort((rows, -values[rows]))[:most]]
