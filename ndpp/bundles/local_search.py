"""Greedy local search: start from greedy, then make the best swap as long as one improves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.greedy import greedy_items
from ndpp.bundles.problem import Bundle, Choice, Problem
from ndpp.gains import GainForm, limits
from ndpp.kernel import FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.scan import Scoring, best_row
from ndpp.tilt import Tilt

_IMPROVES = 1 + 1e-9


def map_local_search(
    kernel: Kernel, k: int, *, cart: ArrayLike = (), tilt: Tilt | None = None, decoupling: float = 0.0
) -> Bundle:
    """Greedy, then best swaps: at most k² log(10k) of them (Kathuria & Deshpande), each found in one pass."""
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    items = greedy_items(problem)
    for _ in range(swap_limit(len(items))):
        swap = _best_swap(problem, items)
        if swap is None:
            break
        position, row = swap
        items[position] = row
    return problem.bundle(items)


def swap_limit(k: int) -> int:
    """⌊k² log(10k)⌋."""
    return int(k**2 * np.log(10 * k)) if k else 0


def _best_swap(problem: Problem, items: list[int]) -> tuple[int, int] | None:
    """The position in `items` and the row that replaces it, or None when no swap improves."""
    form, choice = problem.given(items)
    if len(choice.rows) < len(items):
        return None
    swaps = Swaps(form, choice, problem.tilt.at(choice.rows))
    scoring = Scoring(problem.kernel, swaps.scan, swaps.rounding, swaps.exact, swaps.slope)
    banned = np.union1d(problem.state.cart, choice.rows)
    best = best_row(scoring, problem.tilt, banned, above=_IMPROVES)
    return None if best is None else (int(np.argmax(swaps.ratios(np.array([best]))[0])), best)


@dataclass(frozen=True, eq=False)
class Swaps:
    """det(K_{S−i+j}) / det(K_S) = G_ii s_j + (K_jS G)_i (G K_Sj)_i for every i in S and every item j.

    G = K_S⁻¹ and s_j is the gain of j given S, so one pass over F rates all swaps.
    """

    form: GainForm
    choice: Choice
    tilt: Vector  # τ² of the items in S: a swap gives it up

    @cached_property
    def _back(self) -> Matrix:
        return self.choice.inverse @ self.choice.right  # G F_S W (m, R)

    @cached_property
    def _lengths(self) -> Vector:
        """‖(W F_Sᵀ G)_i‖ · Σ_j |G_ij| ‖(F_S W)_j‖: times ‖f‖² it exceeds every term of a swap's product."""
        back = np.abs(self.choice.inverse) @ np.linalg.norm(self.choice.right, axis=1)
        lengths: Vector = np.linalg.norm(self.choice.left, axis=0) * back
        return lengths

    @property
    def _own(self) -> Vector:
        return np.diag(self.choice.inverse)

    def slope(self) -> tuple[float, float]:
        """Coefficients of L_jj and ‖f_j‖² in an upper bound on every swap with j."""
        aligned = np.einsum("rm,mr->m", self.choice.left, self._back)
        longest = np.linalg.norm(self.choice.left, axis=0) * np.linalg.norm(self._back, axis=1)
        own = np.maximum(self._own, 0.0)
        norm_part = (own * self.form.growth + (aligned + longest) / 2) / self.tilt
        return float((own / self.tilt).max()), float(norm_part.max())

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """The best swap with each row, in the precision of F."""
        dtype = factors.dtype
        gains = self.form.scan(factors, rows)
        forward, backward = factors @ self.choice.left.astype(dtype), factors @ self._back.T.astype(dtype)
        ratios = gains[:, None] * self._own.astype(dtype) + forward * backward
        best: FloatArray = (ratios / self.tilt.astype(dtype)).max(axis=1)
        return best

    def ratios(self, rows: Indices) -> Matrix:
        """Every swap (rows, items of S) in float64."""
        factors = self.form.kernel.factors[rows].astype(np.float64)[:, None, :]
        product = ((factors @ self.choice.left) * (factors @ self._back.T))[:, 0, :]
        ratios: Matrix = (self.form.exact(rows)[:, None] * self._own + product) / self.tilt
        return ratios

    def exact(self, rows: Indices) -> Vector:
        """The best swap with each row in float64."""
        best: Vector = self.ratios(rows).max(axis=1)
        return np.maximum(best, 0.0)

    def rounding(self, rows: slice | Indices, precision: np.dtype[np.floating[Any]]) -> Vector:
        """How far rounding in `precision` can move the best swap."""
        kernel, (eps, tiny) = self.form.kernel, limits(precision)
        steps = kernel.rank + len(self.choice.rows) + 8
        gains_part = float((np.abs(self._own) / self.tilt).max()) * self.form.rounding(rows, precision)
        product_part = float((self._lengths / self.tilt).max()) * kernel.squared_norms[rows]
        return gains_part + steps * (eps * product_part + tiny)
