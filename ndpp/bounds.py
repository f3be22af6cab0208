"""Bounds of P(i | cart) for blocks of rows about which there is no evidence but their gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndpp.kernel import Vector
from ndpp.mixture import Line, at
from ndpp.next_item import BASKETS, HABIT, NO_VOTE, OWN, NextItem, Prediction
from ndpp.normalisers import Normalisers

BLOCK = 1_024  # rows with one bound
CERTAIN = 3.0  # standard errors of an estimate that count as certain
_ROUNDING = 1 + 1e-5  # of gains in the precision of F


@dataclass(frozen=True, eq=False)
class Bounds:
    """The extremes of each block of rows."""

    weights: tuple[Vector, Vector]  # log L_ii: lowest and highest
    first: tuple[Vector, Vector]  # log P(i follows an empty cart)
    lengths: Vector  # the highest ‖f_i‖² / L_ii

    @classmethod
    def of(cls, model: NextItem) -> Bounds:
        """Compute them for the blocks of a catalogue."""
        kernel = model.kernel
        starts = np.arange(0, kernel.size, BLOCK)
        logs = kernel.log_weights
        first = np.zeros(kernel.size) if model.baskets is None else model.baskets.log_first
        return cls(
            (np.minimum.reduceat(logs, starts), np.maximum.reduceat(logs, starts)),
            (np.minimum.reduceat(first, starts), np.maximum.reduceat(first, starts)),
            np.maximum.reduceat(kernel.squared_norms * np.exp(-logs), starts),
        )

    def of_probabilities(self, prediction: Prediction, norms: Normalisers) -> Vector | None:
        """A bound of P(i | cart) for the rows of each block that are not listed; None if there is none.

        Δ_i ≤ L_ii + μ ‖f_i‖² = L_ii (1 + μ ‖f_i‖² / L_ii).
        """
        mixture, size = prediction.model.mixture, len(prediction.cart)
        growth = np.log1p(prediction.conditional.growth * self.lengths)
        together, habit, own = mixture.together, mixture.habit, mixture.own_at(size)
        total = np.zeros(len(self.lengths))
        for expert, (weight, norm) in enumerate(zip(prediction.weights, norms.logs, strict=True)):
            if weight == 0 or norm == np.inf:
                continue
            if expert == BASKETS:
                assert mixture.baskets is not None
                logs = np.full(len(total), at(mixture.baskets.power, size) * np.log(NO_VOTE))
            elif expert == OWN:
                assert own is not None
                if at(own.cart, size) < 0:
                    return None
                logs = at(own.cart, size) * np.log(total)
                logs += self._highest(own.popularity, size, self.weights)
                logs += self._highest(own.first, size, self.first)
            else:
                gain, popularity = together.gain, together.popularity
                if expert == HABIT:
                    assert habit is not None
                    gain, popularity = habit.gain, habit.popularity
                if at(gain, size) < 0:
                    return None
                both = gain[0] + popularity[0], gain[1] + popularity[1]
                logs = at(gain, size) * growth + self._highest(both, size, self.weights)
                if expert == HABIT and habit is not None:
                    logs += self._highest(habit.first, size, self.first)
            total += weight * np.exp(logs - norm)
        certain: Vector = total * (1 + CERTAIN * norms.errors.max()) * _ROUNDING
        return certain

    @staticmethod
    def _highest(line: Line, size: int, extremes: tuple[Vector, Vector]) -> Vector:
        factor = at(line, size)
        return factor * extremes[factor > 0]
