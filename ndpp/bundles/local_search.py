"""Local search: exchanges of one and of two items as long as one improves the bundle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndpp.best_row import Score, best_row
from ndpp.bundles.greedy import best_item, greedy_items
from ndpp.bundles.problem import Bundle, ChosenItems, Problem
from ndpp.conditional_kernel import ConditionalKernel, limits
from ndpp.kernel import FloatArray, Indices, Kernel, Matrix, Vector
from ndpp.tilt import Tilt

_IMPROVES = 1 + 1e-9


def map_local_search(
    kernel: Kernel, k: int, *, cart: ArrayLike = (), tilt: Tilt | None = None, decoupling: float = 0.0
) -> Bundle:
    """Greedy and greedy by pairs, each improved by exchanges of one and of two items; the better result.

    Each step makes the best exchange of one item, or, if none improves, the best exchange of two; the search
    ends when neither improves, or after k² log(10k) steps (Kathuria & Deshpande). Single items are searched
    exactly, over all rows. Pairs are searched over all rows only if there are at most 1,024 candidates (fewer
    from k = 6 on, see `pool_size`), else over the strongest ones, by a bound on the determinant of a pair.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    starts = [greedy_items(problem), pair_greedy_items(problem)]
    bundles = [problem.bundle(_improved(problem, problem.bundle(start).items)) for start in starts]
    return max(bundles, key=lambda bundle: (len(bundle.items), bundle.log_det))


def pair_greedy_items(problem: Problem) -> list[int]:
    """Add the pair with the highest gain; if k is odd, a single item as soon as it gains more per item."""
    items: list[int] = []
    while len(items) < problem.k:
        left = problem.k - len(items)
        pair, gain = problem.pool.best_pair(np.array(items, dtype=np.intp)) if left > 1 else ([], 0.0)
        if left % 2 or not pair:
            conditional, _ = problem.given(items)
            single = best_item(problem, conditional, items)
            if single and _gain(problem, conditional, single) ** 2 > gain:
                pair = single
        if not pair:
            break
        items += pair
    return items


def _gain(problem: Problem, conditional: ConditionalKernel, single: list[int]) -> float:
    row = np.array(single, dtype=np.intp)
    return float((problem.tilt.at(row) * conditional.gains_of(row))[0])


def step_limit(k: int) -> int:
    """⌊k² log(10k)⌋."""
    return int(k**2 * np.log(10 * k)) if k else 0


def _improved(problem: Problem, items: Indices) -> Indices:
    for _ in range(step_limit(len(items))):
        exchanged = _best_swap(problem, items)
        if exchanged is None:
            exchanged = _best_pair_swap(problem, items)
        if exchanged is None:
            break
        items = exchanged
    return items


def _best_swap(problem: Problem, items: Indices) -> Indices | None:
    """The items after the best exchange of one; None if no exchange improves the bundle."""
    conditional, chosen = problem.given(items.tolist())
    if len(chosen.rows) < len(items):
        return None
    swaps = Swaps(conditional, chosen, problem.tilt.at(chosen.rows))
    score = Score(problem.kernel, swaps.fast, swaps.rounding, swaps.exact, swaps.slopes)
    banned = np.union1d(problem.conditional.cart, chosen.rows)
    best = best_row(score, problem.tilt, banned, above=_IMPROVES)
    if best is None:
        return None
    exchanged = items.copy()
    exchanged[np.argmax(swaps.ratios(np.array([best]))[0])] = best
    return exchanged


def _best_pair_swap(problem: Problem, items: Indices) -> Indices | None:
    """The items after the best exchange of two with rows of the pool; None if none improves the bundle."""
    exchanges = problem.pool.given(items) if len(items) > 1 else None
    move = None if exchanges is None else exchanges.best_exchange()
    if move is None or move.ratio <= _IMPROVES:
        return None
    exchanged = items.copy()
    exchanged[list(move.leaving)] = problem.pool.rows[list(move.entering)]
    if problem.log_det(exchanged) <= problem.log_det(items):  # the ratio was a rounding error
        return None
    return exchanged


@dataclass(frozen=True, eq=False)
class Swaps:
    """det(K_{S−i+j}) / det(K_S) = G_ii s_j + (K_jS G)_i (G K_Sj)_i for every i in S and every item j.

    K is the kernel given the cart, G = K_S⁻¹ and s_j the gain of j given S: one pass over F scores all swaps.
    """

    conditional: ConditionalKernel  # given the cart and S
    chosen: ChosenItems  # S
    tilt: Vector  # τ² of the items in S: the score is divided by that of the removed item

    @cached_property
    def _back(self) -> Matrix:
        return self.chosen.inverse @ self.chosen.right  # G F_S W (m, R)

    @cached_property
    def _lengths(self) -> Vector:
        """‖(W F_Sᵀ G)_i‖ · Σ_j |G_ij| ‖(F_S W)_j‖: times ‖f‖², a bound on the terms of a swap's product."""
        back = np.abs(self.chosen.inverse) @ np.linalg.norm(self.chosen.right, axis=1)
        lengths: Vector = np.linalg.norm(self.chosen.left, axis=0) * back
        return lengths

    @property
    def _own(self) -> Vector:
        return np.diag(self.chosen.inverse)

    def slopes(self) -> tuple[float, float]:
        """Coefficients of L_jj and ‖f_j‖² in an upper bound on every swap with j."""
        aligned = np.einsum("rm,mr->m", self.chosen.left, self._back)
        longest = np.linalg.norm(self.chosen.left, axis=0) * np.linalg.norm(self._back, axis=1)
        own = np.maximum(self._own, 0.0)
        norm_part = (own * self.conditional.growth + (aligned + longest) / 2) / self.tilt
        return float((own / self.tilt).max()), float(norm_part.max())

    def fast(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """The ratio of the best swap with each row, in the precision of F."""
        dtype = factors.dtype
        gains = self.conditional.fast_gains(factors, rows)
        forward, backward = factors @ self.chosen.left.astype(dtype), factors @ self._back.T.astype(dtype)
        ratios = gains[:, None] * self._own.astype(dtype) + forward * backward
        best: FloatArray = (ratios / self.tilt.astype(dtype)).max(axis=1)
        return best

    def ratios(self, rows: Indices) -> Matrix:
        """The ratio of every swap (rows, items of S) in float64."""
        factors = self.conditional.kernel.rows(rows)[:, None, :]
        product = ((factors @ self.chosen.left) * (factors @ self._back.T))[:, 0, :]
        ratios: Matrix = (self.conditional.exact_gains(rows)[:, None] * self._own + product) / self.tilt
        return ratios

    def exact(self, rows: Indices) -> Vector:
        """The ratio of the best swap with each row in float64."""
        best: Vector = self.ratios(rows).max(axis=1)
        return np.maximum(best, 0.0)

    def rounding(self, rows: slice | Indices, precision: np.dtype[np.floating[Any]]) -> Vector:
        """A bound on the rounding errors of `fast` in `precision`."""
        kernel, (eps, tiny) = self.conditional.kernel, limits(precision)
        steps = kernel.rank + len(self.chosen.rows) + 8
        gains_part = float((np.abs(self._own) / self.tilt).max()) * self.conditional.rounding(rows, precision)
        product_part = float((self._lengths / self.tilt).max()) * kernel.squared_norms[rows]
        return gains_part + steps * (eps * product_part + tiny)
