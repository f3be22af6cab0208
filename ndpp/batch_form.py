"""The gain forms of many carts: carts with equally many items are kept as one stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ndpp.gains import balanced, growths, limits
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.scan import SLACK

_STRIP = 1024  # rows multiplied at once: with the columns of a hundred carts they still stay in a cache


@dataclass(frozen=True, eq=False)
class CartGroup:
    """Conditioned carts of n informative items each: the parts of their `Conditional`s, stacked."""

    numbers: Indices  # (g,) which carts of the batch, ascending
    used: Indices  # (g, n)
    inverse: Matrix  # (g, n, n)
    left: Matrix  # (g, R, n)
    right: Matrix  # (g, n, R)

    @cached_property
    def lengths(self) -> tuple[Matrix, Matrix]:
        """The lengths of all columns of `left` and rows of `right`, (g, n) each."""
        left, right = self.left.transpose(0, 2, 1), self.right
        return np.sqrt(np.einsum("gnr,gnr->gn", left, left)), np.sqrt(np.einsum("gnr,gnr->gn", right, right))

    @cached_property
    def both(self) -> Matrix:
        """left and rightᵀ side by side, (g, R, 2n)."""
        return np.concatenate([self.left, self.right.transpose(0, 2, 1)], axis=2)

    @cached_property
    def growths(self) -> Vector:
        """`GainForm.growth` of each cart."""
        return growths(self.left, self.right)

    @cached_property
    def loose_growths(self) -> Vector:
        """Upper bounds on `growths` that cost little: the sum over the items, each taken alone."""
        left, right = self.lengths
        along = np.einsum("grn,gnr->gn", self.left, self.right)
        return np.asarray(np.maximum((left * right * SLACK - along).sum(axis=1) / 2, 0.0))

    def only(self, places: Indices, numbers: Indices) -> CartGroup:
        """Some of the carts, under new numbers."""
        return CartGroup(
            numbers, self.used[places], self.inverse[places], self.left[places], self.right[places]
        )


@dataclass(frozen=True, eq=False)
class BatchForm:
    """What turns rows of F into gains for each of `size` carts."""

    kernel: Kernel
    size: int
    groups: tuple[CartGroup, ...]

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """leftᵀ and right of all carts, (N, R) in the precision of F, balanced as `GainForm.sides`."""
        dtype, rank = self.kernel.factors.dtype, self.kernel.rank
        lefts, rights = [np.empty((0, rank), dtype=dtype)], [np.empty((0, rank), dtype=dtype)]
        for group in self.groups:
            balance = balanced(*group.lengths)[:, :, None]
            lefts.append((group.left.transpose(0, 2, 1) * balance).astype(dtype).reshape(-1, rank))
            rights.append((group.right / balance).astype(dtype).reshape(-1, rank))
        return np.concatenate(lefts), np.concatenate(rights)

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains (carts, rows) in the precision of F, for `rows` whose factors are given."""
        used_up = np.empty((self.size, len(factors)), dtype=factors.dtype)
        for start in range(0, len(factors), _STRIP):
            strip = slice(start, start + _STRIP)
            self._add_up(factors[strip], used_up[:, strip])
        gains: FloatArray = self.kernel.weights[rows].astype(factors.dtype) - used_up
        return gains

    def _add_up(self, factors: FloatArray, used_up: FloatArray) -> None:
        left, right = self._columns
        terms = left @ factors.T
        terms *= right @ factors.T
        first = 0
        for group in self.groups:
            count, n = group.used.shape
            own = terms[first : first + count * n].reshape(count, n, len(factors))
            used_up[group.numbers] = own.sum(axis=1)
            first += count * n

    def at(self, carts: Indices, rows: Indices, *, exact: bool) -> Vector:
        """Unclamped gains of single pairs of a cart and a row, `carts` ascending.

        Exact ones are in float64, and each is its own small product, so that equal items get equal gains
        wherever they stand; the others are in the precision of F.
        """
        used_up = np.empty(len(rows))
        for cart, part in _runs(carts):
            group, place, columns = self._places[cart]
            factors = self.kernel.factors[rows[part]]
            if exact:
                images = (factors.astype(np.float64)[:, None, :] @ group.both[place])[:, 0, :]
                one, other = np.split(images, 2, axis=1)
            else:
                one, other = (factors @ side[columns].T for side in self._columns)
            used_up[part] = np.einsum("mn,mn->m", one, other)
        gains: Vector = self.kernel.weights[rows] - used_up
        return gains

    @cached_property
    def _places(self) -> dict[int, tuple[CartGroup, int, slice]]:
        """Each cart's group, its place there, and its part of `_columns`."""
        places, first = {}, 0
        for group in self.groups:
            n = group.used.shape[1]
            for place, number in enumerate(group.numbers.tolist()):
                places[number] = group, place, slice(first, first + n)
                first += n
        return places

    @cached_property
    def _spreads(self) -> Vector:
        return self._of_carts([np.einsum("gn,gn->g", *group.lengths) for group in self.groups])

    @cached_property
    def _steps(self) -> Vector:
        return self._of_carts(
            [np.full(len(group.used), self.kernel.rank + group.used.shape[1] + 8.0) for group in self.groups]
        )

    @cached_property
    def growths(self) -> Vector:
        """`GainForm.growth` of each cart."""
        return self._of_carts([group.growths for group in self.groups])

    @cached_property
    def loose_growths(self) -> Vector:
        """Upper bounds on `growths` that cost little."""
        return self._of_carts([group.loose_growths for group in self.groups])

    def _of_carts(self, values: list[Vector]) -> Vector:
        """Values of each group's carts, in the order of the batch."""
        ordered = np.empty(self.size)
        for group, own in zip(self.groups, values, strict=True):
            ordered[group.numbers] = own
        return ordered

    def rounding(
        self, carts: Indices | slice, diagonal: Any, squared_norms: Any, precision: np.dtype[np.floating[Any]]
    ) -> Vector:
        """`GainForm.rounding` for pairs of a cart and a row with this d_i and ‖f_i‖²."""
        eps, tiny = limits(precision)
        scale = diagonal + (self.kernel.core_norm + self._spreads[carts]) * squared_norms
        return np.asarray(self._steps[carts] * (eps * scale + tiny))

    def only(self, carts: Indices) -> BatchForm:
        """The form of some of the carts, ascending."""
        groups = []
        for group in self.groups:
            places = np.flatnonzero(np.isin(group.numbers, carts))
            if len(places):
                groups.append(group.only(places, np.searchsorted(carts, group.numbers[places])))
        return BatchForm(self.kernel, len(carts), tuple(groups))


def _runs(carts: Indices) -> Iterator[tuple[int, slice]]:
    """Each cart with the places of its pairs, at most a block of them at once."""
    borders = [0, *(np.flatnonzero(np.diff(carts)) + 1).tolist(), len(carts)] if len(carts) else []
    for first, last in pairwise(borders):
        for start in range(first, last, BLOCK):
            yield int(carts[first]), slice(start, min(start + BLOCK, last))
