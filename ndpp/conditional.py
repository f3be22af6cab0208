"""Conditioning on a cart: gains, next-item probabilities and what the rest of the basket looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.evidence import decoupled, invert
from ndpp.gains import GainForm
from ndpp.kernel import BLOCK, Indices, Kernel, Matrix, Vector, add_identity
from ndpp.marginal import Marginal
from ndpp.scan import BoolVector, is_among
from ndpp.tilt import NO_TILT, Tilt

_ROUNDED = 1e-3  # a sum whose worst case of rounding, never met in practice, is below this share is good
_CANCELLED = 1e-9  # a closed form that lost this many digits to cancellation is summed explicitly instead


@dataclass(frozen=True, eq=False)
class Conditional:
    """The kernel given that the basket contains `cart`; immutable. Make one with `condition`.

    `gains`, `probabilities`, `total`, `add` and `contributions` follow the decoupling ω. `log_probability`,
    `completeness`, `expected_further` and `inclusion` are statements about the basket's own distribution,
    so they always condition exactly (ω = 0). Rows in `ignored` add no information to the rest of the cart
    (they repeat it) and are left out of the arithmetic.
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

    @cached_property
    def _all_raw_gains(self) -> Vector:
        return self.form.everything()

    def gains(self, rows: ArrayLike | None = None) -> Vector:
        """Δ_i = det(L_{Y+i}) / det(L_Y) of `rows` (default: all), never negative, 0 for rows in the cart."""
        if rows is None:
            raw = self._all_raw_gains
            gains = np.where(raw > self.form.rounding(slice(None), np.dtype(np.float64)), raw, 0.0)
            gains[self.cart] = 0.0
            return gains
        index = check_rows(rows, self.kernel.size, "row")
        return np.where(self._in_cart(index), 0.0, self.form.gains(index))

    @cached_property
    def _ordered_cart(self) -> Indices:
        return np.sort(self.cart)

    def _in_cart(self, rows: Indices) -> BoolVector:
        return is_among(rows, self._ordered_cart)

    def total(self, tilt: Tilt | None = None) -> float:
        """Σ τ_j² Δ_j over the items not in the cart.

        In closed form when conditioning is exact, the tilt sparse and the catalogue large; summed explicitly
        otherwise, because clamped gains have no closed form: in the precision of F where that is good enough.
        """
        tilt = tilt or NO_TILT
        tilt.check(self.kernel.size)
        if self.decoupling == 0 and tilt.base is None and self.kernel.size > BLOCK:
            closed, magnitude = self._closed_total()
            changed = tilt.rows[~self._in_cart(tilt.rows)]
            value = closed + float((tilt.at(changed) - 1) @ self.gains(changed))
            if value > _CANCELLED * magnitude:
                return value
        factors = tilt.dense(self.kernel.size)
        if "_all_raw_gains" not in self.__dict__:
            value, error = self._scanned_total(factors)
            if error <= _ROUNDED * value:
                return value
        return float(factors @ self.gains())

    def _scanned_total(self, factors: Vector) -> tuple[float, float]:
        """Σ τ_j² Δ_j from a scan in the precision of F, and how far rounding can have moved it."""
        everything, gains = slice(None), np.maximum(self.form.scan(self.kernel.factors, slice(None)), 0.0)
        gains[self.cart] = 0.0
        errors = self.form.rounding(everything, self.kernel.factors.dtype)
        return float(factors @ gains), float(factors @ errors)

    def _closed_total(self) -> tuple[float, float]:
        """Σ_{j∉Y} d_j + ⟨W, FᵀF − F_YᵀF_Y⟩, and the size of the numbers it is a difference of."""
        gram = self._outside(self.kernel.gram, 0)
        diagonal = float(self.kernel.diagonal.sum() - self.kernel.diagonal[self.cart].sum())
        before = float(np.sum(self.kernel.core * gram))
        used_up = np.einsum("nr,rn->n", self.right @ gram, self.left)
        whole = float(self.kernel.weights.sum())
        return diagonal + before - float(used_up.sum()), whole + float(np.abs(used_up).sum())

    def probabilities(self, rows: ArrayLike | None = None, tilt: Tilt | None = None) -> Vector:
        """P(i is the next item | cart, one more item) ∝ τ_i² Δ_i: sums to 1 over the items not in the cart.

        When no candidate has any gain left the model has nothing to say: all are then equally likely,
        in proportion to τ².
        """
        tilt = tilt or NO_TILT
        tilt.check(self.kernel.size)
        if rows is None:
            weighted = tilt.dense(self.kernel.size) * self.gains()
            total = float(weighted.sum())
            index = np.arange(self.kernel.size)
        else:
            index = check_rows(rows, self.kernel.size, "row")
            weighted = tilt.at(index) * self.gains(index)
            total = self.total(tilt)
        return weighted / total if total > 0 else self._without_gains(index, tilt)

    def _without_gains(self, rows: Indices, tilt: Tilt) -> Vector:
        weights = tilt.dense(self.kernel.size)
        weights[self.cart] = 0.0
        total = float(weights.sum())
        return weights[rows] / total if total > 0 else np.zeros(len(rows))

    def add(self, row: int) -> Conditional:
        """The state with one more item. Gains already computed are updated in O(MR), not recomputed."""
        grown = condition(self.kernel, [*self.cart, row], decoupling=self.decoupling)
        if "_all_raw_gains" in self.__dict__ and len(grown.used) == len(self.used) + 1:
            grown.__dict__["_all_raw_gains"] = self._all_raw_gains - self._loss_from(row)
        return grown

    def _loss_from(self, row: int) -> Vector:
        """What conditioning on `row` as well takes from every gain: one term (f_i u)(w f_i)/Δ."""
        factor = self.kernel.factors[row].astype(np.float64)
        coupling = 1 - self.decoupling
        u = self.kernel.core @ factor - coupling * (self.left @ (self.right @ factor))
        back = factor @ self.kernel.core
        w = back - coupling * ((factor @ self.left) @ self.right)
        pivot = self.kernel.weights[row] - coupling**2 * float((factor @ self.left) @ (self.right @ factor))
        loss = np.empty(self.kernel.size)
        both = np.column_stack([u, w])
        for rows in self.kernel.blocks():
            images = self.kernel.factors[rows].astype(np.float64) @ both
            loss[rows] = images[:, 0] * images[:, 1] / pivot
        return loss

    @cached_property
    def _exact(self) -> Conditional:
        return self if self.decoupling == 0 else condition(self.kernel, self.cart)

    @cached_property
    def log_probability(self) -> float:
        """log P(basket = cart) = log det(L_Y) − log det(L + I), with the ignored rows left out."""
        exact = self._exact
        value = np.linalg.slogdet(self.kernel.submatrix(exact.used))[1] if len(exact.used) else 0.0
        return float(value) - self.kernel.log_normaliser

    @cached_property
    def _core(self) -> Matrix:
        """W of the exact conditional kernel Diag(d) + F W Fᵀ."""
        return self.kernel.core - self._exact.left @ self._exact.right

    def _outside(self, gram: Matrix, power: int) -> Matrix:
        """A Gram matrix over the items outside the cart; `power` of 1/(1+d) is its weight."""
        factors = self.kernel.factors[self.cart].astype(np.float64)
        return gram - factors.T @ (factors * (1 + self.kernel.diagonal[self.cart, None]) ** -float(power))

    @cached_property
    def completeness(self) -> float:
        """P(the cart is the whole basket | the basket contains it) = 1 / det(I + L^Y)."""
        diagonal = np.log1p(self.kernel.diagonal).sum() - np.log1p(self.kernel.diagonal[self.cart]).sum()
        return float(np.exp(-max(float(diagonal), 0.0) - self._with_identity[0]))

    @cached_property
    def _with_identity(self) -> tuple[float, Matrix]:
        """log det(I + W G), and (I + W G)⁻¹ W, the core of the marginal kernel of the remaining items."""
        whole = self.kernel.open_gram
        gram = self._outside(whole, 1)
        return add_identity(self._core, gram, self.kernel.core_norm, float(np.trace(whole)))

    def inclusion(self, rows: ArrayLike | None = None) -> Vector:
        """π_i = P(i is in the basket in the end | the basket contains the cart); 1 for rows in the cart."""
        index = np.arange(self.kernel.size) if rows is None else check_rows(rows, self.kernel.size, "row")
        inclusion = Marginal(self.kernel, self._with_identity[1]).inclusion(index)
        inclusion[self._in_cart(index)] = 1.0
        return inclusion

    @cached_property
    def expected_further(self) -> float:
        """The expected number of further items, Σ_{j∉Y} π_j, in closed form."""
        share = self.kernel.diagonal / (1 + self.kernel.diagonal)
        gram = self._outside(self.kernel.open_gram_squared, 2)
        spectral = float(np.sum(self._with_identity[1] * gram))
        return max(float(share.sum() - share[self.cart].sum()) + spectral, 0.0)

    def contributions(self, row: int) -> Vector:
        """For each cart item y: gain(row | cart) − gain(row | cart without y), before clamping.

        Above 0 the pair are complements, below 0 substitutes.
        """
        index = check_rows([row], self.kernel.size, "row")
        if self._in_cart(index).any():
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
