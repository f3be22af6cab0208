"""P(S | Y) of sets of candidates, for one cart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.sets.coefficients import Coefficients

RAREST = 1e-3  # s does not grow further for rarer sets: P_model of large sets is far too low
_LEAST = 1e-250  # keeps logits finite
_LEAST_LOG_SET, _HIGHEST_LOG = -500.0, float(np.log(0.99))


@dataclass(frozen=True, eq=False)
class SetPrediction:
    """P(S | Y) of sets of candidates; sets are given by positions in `candidates`."""

    model: Coefficients
    cart: Indices
    candidates: Indices  # (C,): rows, ascending
    log_next: Vector  # (C,): log P(i | Y)
    log_common: Vector  # (C,): log of the share of baskets that hold the candidate
    log_lifts: Matrix  # (C, C)
    log_further: float
    log_spread: float  # log (E f² / (E f)²), f = further items in the counted baskets
    members: NDArray[np.float32]  # (baskets, C): 1 where the basket holds the candidate
    missing: Indices  # (baskets,): items of the cart that the basket lacks
    weights: Vector  # (baskets,)
    alone: float  # the weight of baskets that hold a single given item and nothing else

    @cached_property
    def total(self) -> float:
        """n: the weight of all baskets."""
        return float(self.weights.sum()) + self.alone

    @cached_property
    def singles(self) -> Vector:
        """P(i | Y) of each candidate: the basket holds it in the end, (C,)."""
        expected = self._expected_singles
        return self._joined(self.weights @ self.members, expected, self._strength("item", expected))

    def probability(self, chosen: Sequence[int]) -> float:
        """P(S | Y) of one set."""
        return float(self.adding(chosen[:-1])[chosen[-1]])

    def probability_of_best(self, chosen: Sequence[int]) -> float:
        """P(S | Y) of a set that was found best, corrected; a single item needs no correction."""
        if len(chosen) == 1:
            return self.probability(chosen)
        model = self.model
        correction = (model.best_constant, model.best_by_size, model.best_slope, model.best_noise)
        return float(1 / (1 + np.exp(-(self.features_of_best(chosen) @ correction))))

    def features_of_best(self, chosen: Sequence[int]) -> Vector:
        """1, log |Y|, logit P(S | Y), and c / (c + s · P_model) / √(c + 1).

        The last is the part of the counts, times their relative error; c is in baskets of the usual size, or
        in baskets for a single given item.
        """
        chance = min(max(self.probability(chosen), _LEAST), 1 - 1e-9)
        count = float(self._of(chosen)[1].sum())
        of_counts = min(count / (chance * (self.total + self._strength_of(chosen))), 1.0)
        return np.array(
            [1.0, np.log(len(self.cart)), np.log(chance / (1 - chance)), of_counts / np.sqrt(count + 1)]
        )

    def adding(self, chosen: Sequence[int]) -> Vector:
        """P(S + i | Y) of every candidate i, (C,); meaningless for candidates in S."""
        if not chosen:
            return self.singles
        rows, weights, summed, lifts = self._of(chosen)
        return self._several(
            len(chosen) + 1,
            weights @ rows,
            summed + self._log_singles,
            lifts + self.log_lifts[:, chosen].sum(axis=1),
        )

    def adding_two(self, chosen: Sequence[int]) -> Matrix:
        """P(S + i + j | Y) of every two candidates, (C, C); meaningless on the diagonal and for S."""
        rows, weights, summed, lifts = self._of(chosen)
        to_chosen = self.log_lifts[:, chosen].sum(axis=1)
        return self._several(
            len(chosen) + 2,
            (rows * weights[:, None]).T @ rows,
            summed + self._log_singles[:, None] + self._log_singles,
            lifts + to_chosen[:, None] + to_chosen + self.log_lifts,
        )

    @cached_property
    def _log_singles(self) -> Vector:
        logs: Vector = np.log(self.singles)
        return logs

    def _of(self, chosen: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32], float, float]:
        """The baskets that hold S and their weights; Σ log P(i | Y) and Σ log lift of S."""
        rows, weights = self.members, self.weights.astype(np.float32)
        places = list(chosen)
        if places:
            holding = np.flatnonzero(rows[:, places].all(axis=1))
            rows, weights = rows[holding], weights[holding]
        lifts = self.log_lifts[np.ix_(places, places)].sum() / 2
        return rows, weights, float(self._log_singles[places].sum()), float(lifts)

    def _several(
        self, size: int, counts: NDArray[np.floating], summed: NDArray[np.float64], lifts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """P(S | Y) from the weighted count, Σ log P(i | Y) and Σ log lift of sets of `size` items."""
        expected = self._expected(size, summed, lifts)
        return self._joined(counts, expected, self._strength("set", expected))

    def _expected(
        self, size: int, summed: NDArray[np.float64] | float, lifts: NDArray[np.float64] | float
    ) -> NDArray[np.float64]:
        """P_model of sets of `size` items."""
        model, log_size = self.model, float(np.log(len(self.cart)))
        mean_lift = lifts / (size * (size - 1) / 2)
        logs = model.set_items * summed + (size - 1) * (
            model.set_constant
            + model.set_size * log_size
            + model.set_spread * self.log_spread
            + (model.set_lift + model.set_lift_by_size * log_size) * mean_lift
        )
        return np.asarray(np.exp(np.clip(logs, _LEAST_LOG_SET, _HIGHEST_LOG)))

    @cached_property
    def _expected_singles(self) -> Vector:
        """P_model of each candidate."""
        model, log_size = self.model, float(np.log(len(self.cart)))
        logits = (
            model.item_constant
            + model.item_further * self.log_further
            + model.item_size * log_size
            + model.item_next * self.log_next
            + model.item_common * self.log_common
        )
        expected: Vector = 1 / (1 + np.exp(-np.clip(logits, -40.0, 40.0)))
        return expected

    def _strength(self, kind: Literal["item", "set"], expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """s = exp(a + b log|Y|) · max(P_model, RAREST)^(−q)."""
        model, log_size = self.model, float(np.log(len(self.cart)))
        if kind == "item":
            a, b, q = model.item_strength, model.item_strength_by_size, model.item_strength_power
        else:
            a, b, q = model.set_strength, model.set_strength_by_size, model.set_strength_power
        strength: NDArray[np.float64] = np.exp(a + b * log_size - q * np.log(np.maximum(expected, RAREST)))
        return strength

    def _strength_of(self, chosen: Sequence[int]) -> float:
        if len(chosen) == 1:
            return float(self._strength("item", self._expected_singles[list(chosen)])[0])
        _, _, summed, lifts = self._of(chosen)
        return float(self._strength("set", self._expected(len(chosen), summed, lifts)))

    def _joined(
        self, counts: NDArray[np.floating], expected: NDArray[np.float64], strength: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(c + s · P_model) / (n + s)."""
        joined: NDArray[np.float64] = (counts + strength * expected) / (self.total + strength)
        return joined
