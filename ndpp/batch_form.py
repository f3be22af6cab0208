"""The gain forms of many carts: carts with equally many items are kept as one stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ndpp.gains import balanced, growths, limits
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.scan import SLACK, BoolVector

_STRIP = 512  # rows multiplied at once: with the columns of a hundred carts they still stay in a cache
_MIRROR_LOSS = 8.0  # how many times larger errors may become for a product less


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
    def balanced(self) -> tuple[Matrix, Matrix]:
        """leftᵀ and right (g, n, R), equally long as in `GainForm.sides`."""
        balance = balanced(*self.lengths)[:, :, None]
        return self.left.transpose(0, 2, 1) * balance, self.right / balance

    @cached_property
    def spreads(self) -> Vector:
        """Every term of a cart's sum stays below its spread · ‖f_i‖²."""
        return np.asarray(np.einsum("gn,gn->g", *self.lengths))

    @cached_property
    def mirrored_spreads(self) -> Vector:
        """The same where the inverse is applied to images of F instead of to the cart's items."""
        right = self.lengths[1]
        return np.asarray(np.einsum("ga,gab,gb->g", right, np.abs(self.inverse), right))

    @cached_property
    def may_be_mirrored(self) -> BoolVector:
        """Which carts lose little by that: not those whose items are nearly dependent."""
        return np.asarray(self.mirrored_spreads <= _MIRROR_LOSS * self.spreads)

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
    def _mirrored(self) -> bool:
        """Whether one product with F serves both sides.

        With Xᵀ = X Diag(1, …, 1, −1, …, −1) the images f_i X F_Yᵀ and f_i Xᵀ F_Yᵀ are the difference and the
        sum of two products with half of the columns each. L̃_Y⁻¹ is then applied to images, in the precision
        of F.
        """
        return self.kernel.symmetric_columns is not None and all(
            group.may_be_mirrored.all() for group in self.groups
        )

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """What F is multiplied with, (N, R) in its precision: leftᵀ and right, or twice right if mirrored."""
        if self._mirrored:
            right = self._stacked([group.right / _positive(group.lengths[1]) for group in self.groups])
            return right, right
        lefts, rights = zip(*[group.balanced for group in self.groups], strict=True)
        return self._stacked(lefts), self._stacked(rights)

    def _stacked(self, parts: Sequence[Matrix]) -> FloatArray:
        flat = [part.reshape(-1, self.kernel.rank) for part in parts]
        return np.concatenate(flat).astype(self.kernel.factors.dtype)

    @cached_property
    def _inverses(self) -> list[FloatArray]:
        """The transposed inverses that belong to mirrored columns."""
        lengths = [_positive(group.lengths[1]) for group in self.groups]
        scaled = [
            group.inverse.transpose(0, 2, 1) * length * length.transpose(0, 2, 1)
            for group, length in zip(self.groups, lengths, strict=True)
        ]
        return [inverse.astype(self.kernel.factors.dtype) for inverse in scaled]

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains (carts, rows) in the precision of F, for `rows` whose factors are given."""
        gains = np.empty((self.size, len(factors)), dtype=factors.dtype)
        columns = len(self._columns[0])
        # Fresh memory for every strip would cost more than what is done in it.
        memory = np.empty((3, columns * min(_STRIP, len(factors))), dtype=factors.dtype)
        for start in range(0, len(factors), _STRIP):
            strip = factors[start : start + _STRIP]
            space = memory[:, : columns * len(strip)].reshape(3, columns, len(strip))
            terms = self._terms(strip, space)
            for group, part in zip(self.groups, self._parts, strict=True):
                shape = (*group.used.shape, len(strip))
                gains[group.numbers, start : start + _STRIP] = terms[part].reshape(shape).sum(axis=1)
        np.subtract(self.kernel.weights[rows].astype(factors.dtype), gains, out=gains)
        return gains

    def _terms(self, factors: FloatArray, space: FloatArray) -> FloatArray:
        """(f_i·left_a)(f_i·right_a) for all items a of all carts, (N, rows), in the given (3, N, rows)."""
        left, right = self._columns
        one, other, third = space
        if not self._mirrored:
            np.matmul(left, factors.T, out=one)
            np.matmul(right, factors.T, out=other)
            return np.asarray(np.multiply(one, other, out=one))
        middle = self.kernel.symmetric_columns
        np.matmul(right[:, :middle], factors[:, :middle].T, out=one)
        np.matmul(right[:, middle:], factors[:, middle:].T, out=other)
        np.add(one, other, out=third)
        np.subtract(one, other, out=one)
        for group, part, inverse in zip(self.groups, self._parts, self._inverses, strict=True):
            shape = (*group.used.shape, len(factors))
            np.matmul(inverse, one[part].reshape(shape), out=other[part].reshape(shape))
        return np.asarray(np.multiply(other, third, out=other))

    @cached_property
    def _parts(self) -> list[slice]:
        """Which columns belong to each group."""
        borders = [0, *accumulate(group.used.size for group in self.groups)]
        return [slice(first, last) for first, last in pairwise(borders)]

    def at(self, carts: Indices, rows: Indices, *, exact: bool) -> Vector:
        """Unclamped gains of single pairs of a cart and a row, `carts` ascending.

        Exact ones are in float64, and each is its own small product, so that equal items get equal gains
        wherever they stand; the others are in the precision of F.
        """
        used_up = np.empty(len(rows))
        for cart, part in _runs(carts):
            group, place = self._places[cart]
            factors = self.kernel.factors[rows[part]]
            if exact:
                images = (factors.astype(np.float64)[:, None, :] @ group.both[place])[:, 0, :]
                one, other = images[:, : group.used.shape[1]], images[:, group.used.shape[1] :]
            else:
                one, other = (factors @ side[place].T.astype(factors.dtype) for side in group.balanced)
            used_up[part] = np.einsum("mn,mn->m", one, other)
        gains: Vector = self.kernel.weights[rows] - used_up
        return gains

    @cached_property
    def _places(self) -> dict[int, tuple[CartGroup, int]]:
        return {
            number: (group, place)
            for group in self.groups
            for place, number in enumerate(group.numbers.tolist())
        }

    @cached_property
    def _spreads(self) -> tuple[Vector, Vector]:
        """The spreads of scanned and of exact gains.

        Scanned ones hold for every part of the batch, which may be mirrored where the whole is not.
        """
        exact = self._of_carts([group.spreads for group in self.groups])
        if self.kernel.symmetric_columns is None:
            return exact, exact
        scanned = [
            np.where(group.may_be_mirrored, 2 * group.mirrored_spreads, group.spreads)
            for group in self.groups
        ]
        return self._of_carts(scanned), exact

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
        self, carts: Indices | slice, diagonal: Vector, squared_norms: Vector, *, exact: bool
    ) -> Vector:
        """`GainForm.rounding` for pairs of a cart and a row with this d_i and ‖f_i‖²."""
        eps, tiny = limits(np.dtype(np.float64) if exact else self.kernel.factors.dtype)
        spreads = self.kernel.core_norm + self._spreads[int(exact)][carts]
        return np.asarray(self._steps[carts] * (eps * (diagonal + spreads * squared_norms) + tiny))

    def only(self, carts: Indices) -> BatchForm:
        """The form of some of the carts, ascending."""
        groups = []
        for group in self.groups:
            places = np.flatnonzero(np.isin(group.numbers, carts))
            if len(places):
                groups.append(group.only(places, np.searchsorted(carts, group.numbers[places])))
        return BatchForm(self.kernel, len(carts), tuple(groups))


def _positive(lengths: Matrix) -> Matrix:
    """Lengths to divide by, (g, n, 1)."""
    return np.where(lengths > 0, lengths, 1.0)[:, :, None]


def _runs(carts: Indices) -> Iterator[tuple[int, slice]]:
    """Each cart with the places of its pairs, at most a block of them at once."""
    borders = [0, *(np.flatnonzero(np.diff(carts)) + 1).tolist(), len(carts)] if len(carts) else []
    for first, last in pairwise(borders):
        for start in range(first, last, BLOCK):
            yield int(carts[first]), slice(start, min(start + BLOCK, last))
