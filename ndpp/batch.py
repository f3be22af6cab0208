"""Conditioning on many carts: carts of one size share their linear algebra, and all share a pass over F."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.conditional import Conditional, check_decoupling, check_rows, condition, distinct
from ndpp.conditional_kernel import balanced
from ndpp.kernel import FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.submatrix_inverse import decoupled, invert_stack

_STRIP = 512  # rows of F per product: few enough to stay in a cache with the columns of a hundred carts
_MIRROR_LOSS = 8.0  # accepted growth of rounding errors in exchange for one product less


@dataclass(frozen=True, eq=False)
class CartGroup:
    """The stacked arrays of the `Conditional`s of g carts with n informative items each."""

    numbers: Indices  # (g,) positions of the carts in the batch, ascending
    used: Indices  # (g, n)
    inverse: Matrix  # (g, n, n)
    left: Matrix  # (g, R, n)
    right: Matrix  # (g, n, R)

    @cached_property
    def lengths(self) -> tuple[Matrix, Matrix]:
        """The lengths of the columns of `left` and of the rows of `right`, (g, n) each."""
        left, right = self.left.transpose(0, 2, 1), self.right
        return np.sqrt(np.einsum("gnr,gnr->gn", left, left)), np.sqrt(np.einsum("gnr,gnr->gn", right, right))

    @property
    def balanced(self) -> tuple[Matrix, Matrix]:
        """leftᵀ and right (g, n, R), scaled to equal lengths to keep float32 far from its limits."""
        balance = balanced(*self.lengths)[:, :, None]
        return self.left.transpose(0, 2, 1) * balance, self.right / balance

    @property
    def may_be_mirrored(self) -> NDArray[np.bool_]:
        """Carts that lose little precision if their inverse is multiplied with images of F instead of F_Y.

        Every term of a cart's sum is below a bound times ‖f_i‖². The mirrored bound is larger if the cart's
        items are nearly dependent.
        """
        left, right = self.lengths
        bounds: Vector = np.einsum("gn,gn->g", left, right)
        mirrored: Vector = np.einsum("ga,gab,gb->g", right, np.abs(self.inverse), right)
        return np.asarray(mirrored <= _MIRROR_LOSS * bounds)


@dataclass(frozen=True, eq=False)
class ConditionalBatch:
    """A kernel conditioned on many carts; `conditionals[i]` is the `Conditional` of the i-th cart."""

    kernel: Kernel
    carts: tuple[Indices, ...]  # as given, each row once
    decoupling: float
    groups: tuple[CartGroup, ...]

    @cached_property
    def conditionals(self) -> tuple[Conditional, ...]:
        """The `Conditional` of each cart."""
        found: dict[int, Conditional] = {}
        for group in self.groups:
            stacked = zip(group.left, group.right, group.used, group.inverse, strict=True)
            for number, (left, right, *system) in zip(group.numbers.tolist(), stacked, strict=True):
                cart = self.carts[number]
                found[number] = Conditional(self.kernel, left, right, cart, self.decoupling, *system)
        return tuple(found[number] for number in range(len(self.carts)))

    def all_fast_gains(self) -> FloatArray:
        """`fast_gains` of every cart and item, (carts, M)."""
        factors = self.kernel.factors
        gains = np.empty((len(self.carts), len(factors)), dtype=factors.dtype)
        if not self.carts:
            return gains
        columns = len(self._columns[0])
        # Allocating memory for every strip would take longer than the computation.
        memory = np.empty((3, columns * min(_STRIP, len(factors))), dtype=factors.dtype)
        for start in range(0, len(factors), _STRIP):
            strip = factors[start : start + _STRIP]
            space = memory[:, : columns * len(strip)].reshape(3, columns, len(strip))
            terms = self._terms(strip, space)
            for group, part in zip(self.groups, self._parts, strict=True):
                shape = (*group.used.shape, len(strip))
                gains[group.numbers, start : start + _STRIP] = terms[part].reshape(shape).sum(axis=1)
        np.subtract(self.kernel.weights.astype(factors.dtype), gains, out=gains)
        return gains

    def _terms(self, factors: FloatArray, space: FloatArray) -> FloatArray:
        """(f_i·left_a)(f_i·right_a) for the N items a of all carts, (N, rows), in the memory `space`."""
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
    def _mirrored(self) -> bool:
        """Whether one product with F is enough for both sides.

        With Xᵀ = X Diag(1, …, 1, −1, …, −1) the images f_i X F_Yᵀ and f_i Xᵀ F_Yᵀ are the difference and the
        sum of two products with half of the columns each. L̃_Y⁻¹ is then multiplied with these images, in the
        precision of F.
        """
        return self.kernel.symmetric_columns is not None and all(
            group.may_be_mirrored.all() for group in self.groups
        )

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """The matrices that F is multiplied with, (N, R): leftᵀ and right, or right twice if mirrored."""
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
        """The transposed inverses for mirrored columns."""
        lengths = [_positive(group.lengths[1]) for group in self.groups]
        scaled = [
            group.inverse.transpose(0, 2, 1) * length * length.transpose(0, 2, 1)
            for group, length in zip(self.groups, lengths, strict=True)
        ]
        return [inverse.astype(self.kernel.factors.dtype) for inverse in scaled]

    @cached_property
    def _parts(self) -> list[slice]:
        """The columns of each group."""
        borders = [0, *accumulate(group.used.size for group in self.groups)]
        return [slice(first, last) for first, last in pairwise(borders)]


def condition_many(
    kernel: Kernel, carts: Iterable[ArrayLike], *, decoupling: float = 0.0
) -> ConditionalBatch:
    """Condition `kernel` on many carts at once."""
    check_decoupling(decoupling)
    rows = tuple(distinct(check_rows(cart, kernel.size, "cart row")) for cart in carts)
    numbers_of: dict[int, list[int]] = {}
    for number, cart in enumerate(rows):
        numbers_of.setdefault(len(cart), []).append(number)
    groups = [
        group
        for numbers in numbers_of.values()
        for group in _condition_group(
            kernel,
            np.array(numbers, dtype=np.intp),
            np.array([rows[number] for number in numbers], dtype=np.intp),
            decoupling,
        )
    ]
    return ConditionalBatch(kernel, rows, decoupling, tuple(groups))


def _condition_group(kernel: Kernel, numbers: Indices, carts: Indices, decoupling: float) -> list[CartGroup]:
    """`condition` for carts (g, n) of one size, as stacked products.

    A cart with an item that adds no information is conditioned alone; halving the group finds it.
    """
    ordered = np.sort(carts, axis=1)
    factors = kernel.rows(ordered)  # (g, n, R)
    right = kernel.times_core(factors)
    blocks = decoupled(right @ factors.transpose(0, 2, 1), kernel.weights[ordered], decoupling)
    inverses = invert_stack(blocks, kernel.item_scales[ordered])
    if inverses is not None:
        left = inverses.transpose(0, 2, 1) @ kernel.times_core_transposed(factors)  # (g, n, R)
        return [CartGroup(numbers, ordered, inverses, left.transpose(0, 2, 1), right)]
    if len(numbers) == 1:
        one = condition(kernel, carts[0], decoupling=decoupling)
        return [CartGroup(numbers, one.used[None], one.inverse[None], one.left[None], one.right[None])]
    halves = zip(np.array_split(numbers, 2), np.array_split(carts, 2), strict=True)
    return [group for half in halves for group in _condition_group(kernel, *half, decoupling)]


def _positive(lengths: Matrix) -> Matrix:
    """Lengths to divide by, (g, n, 1); 1 in place of 0."""
    return np.where(lengths > 0, lengths, 1.0)[:, :, None]
