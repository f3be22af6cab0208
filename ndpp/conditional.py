"""Conditioning on a cart: the gains of the other items, and the contribution of each cart item to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ndpp.conditional_kernel import ConditionalKernel
from ndpp.kernel import Indices, Kernel, Matrix, Vector
from ndpp.submatrix_inverse import decoupled, invert


@dataclass(frozen=True, eq=False)
class Conditional(ConditionalKernel):
    """The kernel given that the basket contains `cart`; immutable. Created by `condition`.

    Cart items that add no information to the others (repetitions of them) are `ignored`.
    """

    cart: Indices  # as given, each row once
    decoupling: float
    used: Indices  # the informative rows, ascending, so that the order of the cart does not matter
    inverse: Matrix  # L̃_Y⁻¹ (n, n), aligned with `used`

    @property
    def ignored(self) -> Indices:
        """Cart rows that add no information."""
        return self.cart[~np.isin(self.cart, self.used)]

    def gains(self) -> Vector:
        """Δ_i = det(L_{Y+i}) / det(L_Y) of all items in float64, never negative, 0 for rows in the cart."""
        gains = self.gains_of(np.arange(self.kernel.size))
        gains[self.cart] = 0.0
        return gains

    def contributions(self, row: int) -> Vector:
        """For each cart item y: gain(row | cart) − gain(row | cart without y), by `exact_gains`.

        It is positive for complements and negative for substitutes.
        """
        index = check_rows([row], self.kernel.size, "row")
        if row in self.cart:
            raise ValueError(f"row {row} is in the cart: only rows outside it have contributions")
        if len(self.ignored) or not _pivots_are_sound(self.inverse):
            return self._contributions_one_by_one(index)
        factor = self.kernel.factors[row].astype(np.float64)
        forward = factor @ self.left  # L_{row,Y} G
        backward = self.inverse @ (self.right @ factor)  # G L_{Y,row}
        terms = np.zeros(self.kernel.size)
        terms[self.used] = -forward * backward / np.diag(self.inverse)
        return terms[self.cart]

    def _contributions_one_by_one(self, row: Indices) -> Vector:
        """Condition on each smaller cart: without one item, an ignored item can become informative."""
        whole = self.exact_gains(row)[0]
        rest = [self.cart[self.cart != y] for y in self.cart]
        smaller = [condition(self.kernel, cart, decoupling=self.decoupling) for cart in rest]
        return np.array([whole - without.exact_gains(row)[0] for without in smaller])


def condition(kernel: Kernel, cart: ArrayLike | Sequence[int], *, decoupling: float = 0.0) -> Conditional:
    """Condition `kernel` on a cart of rows; `decoupling` is ω, from 0 (exact) to 1 (independent items)."""
    check_decoupling(decoupling)
    rows = distinct(check_rows(cart, kernel.size, "cart row"))
    used = np.sort(rows)
    factors = kernel.rows(used)
    right = kernel.times_core(factors)
    block = decoupled(right @ factors.T, kernel.weights[used], decoupling)
    kept, inverse = invert(block, kernel.item_scales[used])
    if len(kept) < len(used):
        used, factors, right = used[kept], factors[kept], right[kept]
    left = (inverse.T @ kernel.times_core_transposed(factors)).T
    return Conditional(kernel, left, right, rows, decoupling, used, inverse)


def distinct(rows: Indices) -> Indices:
    """Each row once, in the order of first appearance."""
    return np.array(list(dict.fromkeys(rows.tolist())), dtype=np.intp)


def check_rows(rows: ArrayLike, size: int, name: str) -> Indices:
    """Rows as an index array; ValueError with the first one that is outside the catalogue."""
    index = np.asarray(rows)
    if index.size == 0:
        return np.empty(0, dtype=np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(f"{name}s must be a list of whole numbers, got {rows!r}")
    index = index.astype(np.intp, copy=False)
    outside = index.view(np.uintp) >= size  # as unsigned, a negative number is larger than any size
    if outside.any():
        wrong = index[outside]
        raise ValueError(f"{name} {wrong[0]} is not in the catalogue, whose rows are 0 to {size - 1}")
    return index


def check_decoupling(decoupling: float) -> None:
    """ValueError unless ω is between 0 and 1."""
    if not 0 <= decoupling <= 1:
        raise ValueError(f"decoupling must be between 0 and 1, got {decoupling}")


def _pivots_are_sound(inverse: Matrix) -> bool:
    """Whether every item can be removed from the cart by its diagonal entry of the inverse alone."""
    own = np.abs(np.diag(inverse))
    strongest = np.sqrt(np.abs(inverse).max(axis=1, initial=0.0) * np.abs(inverse).max(axis=0, initial=0.0))
    return bool((own > 1e-9 * strongest).all())
