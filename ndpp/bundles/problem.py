"""What every MAP method is asked and answers: the most probable k items, given a cart or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.conditional import Conditional, condition
from ndpp.evidence import invert
from ndpp.gains import GainForm
from ndpp.kernel import Indices, Kernel, Matrix, Vector
from ndpp.tilt import NO_TILT, Tilt

_NO_GAIN = 1e-10  # a pivot below this share of the item's scale is rounding


@dataclass(frozen=True, eq=False)
class Bundle:
    """Items in the order they were chosen (the cart is not among them).

    `log_det` is log det of the tilted kernel given the cart, restricted to the items, and `gains` are its
    factors, one an item (items that only have a gain as a pair share it equally). Fewer than k items come
    back when fewer were `available` or when no further item adds anything.
    """

    items: Indices
    log_det: float
    gains: Vector
    available: int  # items outside the cart with τ² > 0


@dataclass(frozen=True, eq=False)
class Problem:
    """The kernel given the cart, K = Diag(d) + F (X − left · right) Fᵀ, under a tilt."""

    state: Conditional
    k: int
    tilt: Tilt

    @classmethod
    def of(cls, kernel: Kernel, k: int, cart: ArrayLike, tilt: Tilt | None, decoupling: float) -> Problem:
        """Check what was asked and condition on the cart."""
        if k < 0:
            raise ValueError(f"a bundle needs a size of at least 0, got {k}")
        tilt = tilt or NO_TILT
        tilt.check(kernel.size)
        return cls(condition(kernel, cart, decoupling=decoupling), k, tilt)

    @property
    def kernel(self) -> Kernel:
        """The kernel before conditioning."""
        return self.state.kernel

    @cached_property
    def candidates(self) -> Indices:
        """Rows that may enter a bundle, ascending."""
        allowed = self.tilt.dense(self.kernel.size) > 0
        allowed[self.state.cart] = False
        return np.flatnonzero(allowed)

    @cached_property
    def available(self) -> int:
        """How many rows may enter a bundle."""
        excluded = self.tilt.rows[self.tilt.at(self.tilt.rows) == 0]
        if self.tilt.base is not None:
            return len(self.candidates)
        return self.kernel.size - len(np.union1d(excluded, self.state.cart))

    def rows_and_columns(self, factors: Matrix) -> tuple[Matrix, Matrix]:
        """F_S W and W F_Sᵀ for the factors (m, R) of a set S, without forming W."""
        kernel, left, right = self.kernel, self.state.left, self.state.right
        rows = kernel.times_core(factors) - (factors @ left) @ right
        return rows, kernel.times_core_transposed(factors).T - left @ (right @ factors.T)

    def block(self, rows: ArrayLike) -> Matrix:
        """The tilted kernel given the cart, restricted to `rows`."""
        index = np.asarray(rows, dtype=np.intp)
        factors = self.kernel.factors[index].astype(np.float64)
        plain = self.rows_and_columns(factors)[0] @ factors.T + np.diag(self.kernel.diagonal[index])
        tau = np.sqrt(self.tilt.at(index))
        return np.asarray(plain * np.outer(tau, tau))

    def given(self, items: Sequence[int]) -> tuple[GainForm, Choice]:
        """The gains given the cart and the items chosen so far."""
        choice = Choice.of(self, items)
        left = np.hstack([self.state.left, choice.left])
        return GainForm(self.kernel, left, np.vstack([self.state.right, choice.right])), choice

    def bundle(self, items: Sequence[int]) -> Bundle:
        """The answer for chosen items, cut where they stop adding anything."""
        rows = np.array(items, dtype=np.intp)
        gains = marginal_gains(self.block(rows), self._scales(rows))
        log_det = float(np.log(gains).sum())
        return Bundle(rows[: len(gains)], log_det, gains, self.available)

    def _scales(self, rows: Indices) -> Vector:
        scales: Vector = self.kernel.item_scales[rows] ** 2 * self.tilt.at(rows)
        return scales


@dataclass(frozen=True, eq=False)
class Choice:
    """The small system of the chosen items S, as the cart's: K_S⁻¹, W F_Sᵀ K_S⁻¹ and F_S W."""

    rows: Indices
    inverse: Matrix  # (m, m)
    left: Matrix  # (R, m)
    right: Matrix  # (m, R)

    @classmethod
    def of(cls, problem: Problem, items: Sequence[int]) -> Choice:
        """Solve for `items`, leaving out any that add nothing to the others."""
        rows = np.array(items, dtype=np.intp)
        factors = problem.kernel.factors[rows].astype(np.float64)
        right, columns = problem.rows_and_columns(factors)
        block = right @ factors.T + np.diag(problem.kernel.diagonal[rows])
        kept, inverse = invert(block, problem.kernel.item_scales[rows])
        return cls(rows[kept], inverse, columns[:, kept] @ inverse, right[kept])


def marginal_gains(block: Matrix, scales: Vector) -> Vector:
    """The ratios of the leading minors of `block`, up to the first item that adds nothing.

    Where a leading minor is 0 but a later one is not (items with a gain only as a pair), those items share
    the ratio equally.
    """
    gains: list[float] = []
    log_before, waiting = 0.0, 0
    for size in range(1, len(block) + 1):
        waiting += 1
        sign, log_minor = np.linalg.slogdet(block[:size, :size])
        floor = np.log(np.maximum(_NO_GAIN * scales[size - waiting : size], np.finfo(np.float64).tiny)).sum()
        if sign > 0 and log_minor - log_before > floor:
            gains += [float(np.exp((log_minor - log_before) / waiting))] * waiting
            log_before, waiting = float(log_minor), 0
    return np.array(gains)
