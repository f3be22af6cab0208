"""The MAP problem: the most probable k items given a cart, under a tilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.pool import Pool, least_gains, pool_size
from ndpp.conditional import Conditional, condition
from ndpp.conditional_kernel import ConditionalKernel
from ndpp.kernel import Indices, Kernel, Matrix, Vector
from ndpp.submatrix_inverse import invert
from ndpp.tilt import Tilt


@dataclass(frozen=True, eq=False)
class Bundle:
    """Items in the order in which they were chosen, without the cart.

    `log_det` is the log-determinant of the tilted conditional kernel restricted to the items. `gains` are its
    factors, one per item; items that have a gain only as a pair share it equally. A bundle has fewer than k
    items if there are too few candidates or no further item has a gain.
    """

    items: Indices
    log_det: float
    gains: Vector


@dataclass(frozen=True, eq=False)
class Problem:
    """The kernel K given the cart, a tilt, and the number of items to choose."""

    conditional: Conditional
    k: int
    tilt: Tilt

    @classmethod
    def of(cls, kernel: Kernel, k: int, cart: ArrayLike, tilt: Tilt | None, decoupling: float) -> Problem:
        """Check the arguments and condition on the cart."""
        if k < 0:
            raise ValueError(f"the size of a bundle must be at least 0, got {k}")
        tilt = tilt or Tilt()
        tilt.check(kernel.size)
        return cls(condition(kernel, cart, decoupling=decoupling), k, tilt)

    @property
    def kernel(self) -> Kernel:
        """The kernel before conditioning."""
        return self.conditional.kernel

    @cached_property
    def candidates(self) -> Indices:
        """Rows outside the cart with τ² > 0, ascending.

        With decoupling a gain can be negative. The determinant of two such rows can be positive, so they are
        not candidates.
        """
        allowed = self.tilt.dense(self.kernel.size) > 0
        allowed[self.conditional.cart] = False
        if self.conditional.decoupling > 0:
            errors = self.conditional.rounding(slice(None), self.kernel.factors.dtype)
            allowed &= self.conditional.all_fast_gains() >= -errors
        return np.flatnonzero(allowed)

    @cached_property
    def pool(self) -> Pool:
        """The candidates among which pairs are searched."""
        return Pool.of(self.conditional, self.tilt, self.candidates, pool_size(self.k))

    def given(self, items: Sequence[int]) -> tuple[ConditionalKernel, ChosenItems]:
        """The kernel given the cart and the items chosen so far."""
        chosen, cart = ChosenItems.of(self.conditional, items), self.conditional
        left, right = np.hstack([cart.left, chosen.left]), np.vstack([cart.right, chosen.right])
        return ConditionalKernel(self.kernel, left, right), chosen

    def block(self, rows: Indices) -> Matrix:
        """The tilted K restricted to `rows`."""
        tau = np.sqrt(self.tilt.at(rows))
        block: Matrix = self.conditional.submatrix(rows) * np.outer(tau, tau)
        return block

    def log_det(self, rows: Indices) -> float:
        """log det of the tilted K restricted to `rows`, −∞ if the determinant is not positive."""
        sign, value = np.linalg.slogdet(self.block(rows))
        return float(value) if sign > 0 else -np.inf

    def bundle(self, items: Sequence[int] | Indices) -> Bundle:
        """The bundle of the chosen items, up to the first one without a gain."""
        rows = np.array(items, dtype=np.intp)
        gains = sequential_gains(self.block(rows), least_gains(self.conditional, self.tilt, rows))
        return Bundle(rows[: len(gains)], float(np.log(gains).sum()), gains)


@dataclass(frozen=True, eq=False)
class ChosenItems:
    """A set S of chosen items under the conditional kernel K = Diag(d) + F W Fᵀ."""

    rows: Indices
    inverse: Matrix  # K_S⁻¹ (m, m)
    left: Matrix  # W F_Sᵀ K_S⁻¹ (R, m)
    right: Matrix  # F_S W (m, R)

    @classmethod
    def of(cls, conditional: ConditionalKernel, items: Sequence[int]) -> ChosenItems:
        """Invert K_S, without the items that add no information to the others."""
        rows, kernel = np.array(items, dtype=np.intp), conditional.kernel
        factors = kernel.rows(rows)
        right, columns = conditional.rows_and_columns(factors)
        kept, inverse = invert(right @ factors.T + np.diag(kernel.diagonal[rows]), kernel.item_scales[rows])
        return cls(rows[kept], inverse, columns[:, kept] @ inverse, right[kept])


def sequential_gains(block: Matrix, least: Vector) -> Vector:
    """The ratios of consecutive leading minors of `block`, up to the first item whose gain is below `least`.

    If a leading minor is 0 but a later one is not (items with a gain only as a pair), the items in between
    share the ratio equally.
    """
    gains: list[float] = []
    log_before, waiting = 0.0, 0
    for size in range(1, len(block) + 1):
        waiting += 1
        sign, log_minor = np.linalg.slogdet(block[:size, :size])
        floor = np.log(np.maximum(least[size - waiting : size], np.finfo(np.float64).tiny)).sum()
        if sign > 0 and log_minor - log_before > floor:
            gains += [float(np.exp((log_minor - log_before) / waiting))] * waiting
            log_before, waiting = float(log_minor), 0
    return np.array(gains)
