"""Closed forms for adding two items to a set and for exchanging two of its items, over all pairs of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Matrix, Vector

TILE = 64  # rows at a time: the arrays of a tile stay in a cache


@dataclass(frozen=True, slots=True)
class PairMove:
    """Two rows of B that enter S, the positions of items that leave it, and det(K) after / before."""

    ratio: float
    entering: tuple[int, ...]
    leaving: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Moves of pairs between a set S of m items and a pool B of n rows.

    With G = K_S⁻¹, P = G K_SB, Q = K_BS G and R = K_BB − K_BS G K_SB, the kernel given S,
    det(K_{S+ij}) / det(K_S) = det R_ij, and if the pair A leaves S,
    det(K_{S−A+ij}) / det(K_S) = det [[G_AA, P_Aij], [−Q_ijA, R_ij]].
    """

    block: Matrix  # K_BB (n, n)
    columns: Matrix  # K_BS (n, m)
    inverse: Matrix  # G (m, m)
    forward: Matrix  # P (m, n)
    backward: Matrix  # Q (n, m)
    taken: NDArray[np.bool_]  # (n,): rows of B that are in S already; their moves have the ratio 0

    @cached_property
    def own(self) -> Vector:
        """R_ii, the gains of single rows."""
        own: Vector = np.diag(self.block) - np.einsum("nm,mn->n", self.columns, self.forward)
        return own

    def best_addition(self) -> PairMove | None:
        """The two rows with the largest determinant; None if no determinant is positive."""
        best = None
        for tile in self.tiles():
            best = tile.better(best, tile.gains, ())
        return best

    def best_exchange(self) -> PairMove | None:
        """The exchange of two items with the largest determinant; None if no determinant is positive."""
        best = None
        for tile in self.tiles():
            for leaving in combinations(range(len(self.inverse)), 2):
                best = tile.better(best, tile.ratios(leaving), leaving)
        return best

    def tiles(self) -> Iterator[Tile]:
        """Blocks of rows, each against itself and all later rows: together all pairs."""
        for start in range(0, len(self.block), TILE):
            rows, later = slice(start, start + TILE), slice(start, None)
            forward = self.block[rows, later] - self.columns[rows] @ self.forward[:, later]
            backward = self.block[later, rows] - self.columns[later] @ self.forward[:, rows]
            yield Tile(self, rows, later, forward, np.ascontiguousarray(backward.T))


@dataclass(frozen=True, eq=False)
class Tile:
    """The pairs of `rows` i with `later` rows j."""

    exchanges: Exchanges
    rows: slice
    later: slice
    forward: Matrix  # R_ij
    backward: Matrix  # R_ji

    @cached_property
    def gains(self) -> Matrix:
        """det R_ij."""
        own = self.exchanges.own
        return self._masked(np.outer(own[self.rows], own[self.later]) - self.forward * self.backward)

    def ratios(self, leaving: tuple[int, int]) -> Matrix:
        """det(K_{S−A+ij}) / det(K_S) for the pair A at the positions `leaving`.

        The determinant of the 2×2 blocks is det G det R + tr(adj(R) Q adj(G) P) + det Q det P. It needs no
        inverse of G_AA, which is singular if S − A has no determinant.
        """
        moves, rows, later, pair = self.exchanges, self.rows, self.later, list(leaving)
        (a, b), (c, d) = moves.inverse[np.ix_(pair, pair)]
        p, q = moves.forward[pair], moves.backward[:, pair]
        adjoint = np.array([[d, -b], [-c, a]]) @ p  # adj(G) P (2, n)
        own = np.stack([moves.own, np.einsum("ni,in->n", q, adjoint)])  # diagonals of R and of Q adj(G) P
        ratios: Matrix = self.gains * (a * d - b * c)
        ratios += own[:, rows].T @ own[::-1, later]
        ratios -= (q[rows] @ adjoint[:, later]) * self.backward
        ratios -= (adjoint[:, rows].T @ q[later].T) * self.forward
        ratios += _determinants(q.T, rows, later) * _determinants(p, rows, later)
        return self._masked(ratios)

    def better(self, best: PairMove | None, ratios: Matrix, leaving: tuple[int, ...]) -> PairMove | None:
        """`best`, or the pair with the highest ratio if that is higher."""
        place = int(np.argmax(ratios))
        ratio = float(ratios.flat[place])
        if ratio <= (0.0 if best is None else best.ratio):
            return best
        row, column = divmod(place, ratios.shape[1])
        return PairMove(ratio, (self.rows.start + row, self.later.start + column), leaving)

    def _masked(self, ratios: Matrix) -> Matrix:
        """0 for pairs with a row that is taken, and for a row with itself."""
        ratios[self.exchanges.taken[self.rows]] = 0.0
        ratios[:, self.exchanges.taken[self.later]] = 0.0
        np.fill_diagonal(ratios, 0.0)
        return ratios


def _determinants(two: Matrix, rows: slice, later: slice) -> Matrix:
    """The determinants of the columns i and j of a (2, n) matrix."""
    determinants: Matrix = two[:, rows].T @ np.stack([two[1, later], -two[0, later]])
    return determinants
