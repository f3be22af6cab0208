"""Conditioning on a cart: the gains of the other items, and what each cart item contributes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.evidence import decoupled, invert
from ndpp.gains import GainForm
from ndpp.kernel import Indices, Kernel, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Conditional:
    """The kernel given that the basket contains `cart`; immutable. Make one with `condition`.

    Rows in `ignored` add no information to the rest of the cart (they repeat it) and are left out of the
    arithmetic.
    """

    kernel: Kernel
    cart: Indices  # as given, each row once
    decoupling: float
    used: Indices  # the informative rows, ascending: the cart's order cannot matter
    inverse: Matrix  # L̃_Y⁻¹ (n, n), aligned with `used`
    left: Matrix  # X F_Yᵀ L̃_Y⁻¹ (R, n)
    right: Matrix  # F_Y X (n, R)

    @property
    def ignored(self) -> Indices:
        """Cart rows that added no information."""
        return self.cart[~np.isin(self.cart, self.used)]

    @cached_property
    def form(self) -> GainForm:
        """How gains are computed from rows of F."""
        return GainForm(self.kernel, self.left, self.right)

    def gains(self) -> Vector:
        """Δ_i = det(L_{Y+i}) / det(L_Y) of all items in float64, never negative, 0 for rows in the cart."""
        gains = self.form.gains(np.arange(self.kernel.size))
        gains[self.cart] = 0.0
        return gains

    def contributions(self, row: int) -> Vector:
        """For each cart item y: gain(row | cart) − gain(row | cart without y), before clamping.

        Above 0 the pair are complements, below 0 substitutes.
        """
        index = check_rows([row], self.kernel.size, "row")
        if row in self.cart:
            raise ValueError(f"row {row} is in the cart: contributions explain items that are not")
        if len(self.ignored) or not _all_pivots_sound(self.inverse):
            return self._contributions_one_by_one(index)
        factor = self.kernel.factors[row].astype(np.float64)
        forward = factor @ self.left  # L_{row,Y} G
        backward = self.inverse @ (self.right @ factor)  # G L_{Y,row}
        terms = np.zeros(self.kernel.size)
        terms[self.used] = -forward * backward / np.diag(self.inverse)
        return terms[self.cart]

    def _contributions_one_by_one(self, row: Indices) -> Vector:
        """Leaving an item out can let an ignored one back in, so each smaller cart is conditioned anew."""
        whole = self.form.exact(row)[0]
        rest = [self.cart[self.cart != y] for y in self.cart]
        smaller = [condition(self.kernel, cart, decoupling=self.decoupling) for cart in rest]
        return np.array([whole - state.form.exact(row)[0] for state in smaller])


def condition(kernel: Kernel, cart: ArrayLike | Sequence[int], *, decoupling: float = 0.0) -> Conditional:
    """Condition `kernel` on a cart of rows; `decoupling` is ω, from 0 (exact) to 1 (independent evidence)."""
    check_decoupling(decoupling)
    rows = distinct(check_rows(cart, kernel.size, "cart row"))
    candidates = np.sort(rows)
    factors = kernel.rows(candidates)
    right = kernel.times_core(factors)
    block = decoupled(right @ factors.T, kernel.weights[candidates], decoupling)
    kept, inverse = invert(block, kernel.item_scales[candidates])
    if len(kept) < len(candidates):
        candidates, factors, right = candidates[kept], factors[kept], right[kept]
    left = (inverse.T @ kernel.times_core_transposed(factors)).T
    return Conditional(kernel, rows, decoupling, candidates, inverse, left, right)


def distinct(rows: Indices) -> Indices:
    """Each row once, in the order of first appearance."""
    return np.array(list(dict.fromkeys(rows.tolist())), dtype=np.intp)


def check_rows(rows: ArrayLike, size: int, name: str) -> Indices:
    """Rows as an index array, or an error that names the first one outside the catalogue."""
    index = np.asarray(rows)
    if index.size == 0:
        return np.empty(0, dtype=np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(f"{name}s must be a list of whole numbers, got {rows!r}")
    index = index.astype(np.intp, copy=False)
    outside = index.view(np.uintp) >= size  # a negative number is a huge one without its sign
    if outside.any():
        wrong = index[outside]
        raise ValueError(f"{name} {wrong[0]} is not in the catalogue, whose rows are 0 to {size - 1}")
    return index


def check_decoupling(decoupling: float) -> None:
    """Refuse an ω outside its range."""
    if not 0 <= decoupling <= 1:
        raise ValueError(f"decoupling must lie between 0 and 1, got {decoupling}")


def _all_pivots_sound(inverse: Matrix) -> bool:
    """Whether every item can be taken out of the cart by its own pivot alone."""
    own = np.abs(np.diag(inverse))
    strongest = np.sqrt(np.abs(inverse).max(axis=1, initial=0.0) * np.abs(inverse).max(axis=0, initial=0.0))
    return bool((own > 1e-9 * strongest).all())
