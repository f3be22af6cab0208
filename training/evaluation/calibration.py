"""Are next-item probabilities true: of all items given 3 %, did 3 % come next?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.baselines.base import Scores
from training.evaluation.queries import UNKNOWN

BINS_PER_DECADE = 3
LOWEST_POWER = -7  # smaller probabilities share the first bin
ENOUGH = 5  # predicted or observed next items that a bin needs to be shown
_Z = 1.96  # 95 %


@dataclass(frozen=True)
class CalibrationBin:
    """(cart, item) pairs whose probability lies in one range."""

    predicted: float  # their mean probability
    observed: float  # the share of them that came next
    interval: tuple[float, float]  # 95 % (Wilson) around the observed share
    pairs: int


class Calibration:
    """Watches scores batch by batch, normalised to probabilities over the items not in the cart."""

    def __init__(self) -> None:
        bins = BINS_PER_DECADE * -LOWEST_POWER + 1
        self.pairs, self.hits, self.predicted = np.zeros(bins), np.zeros(bins), np.zeros(bins)

    def __call__(self, scores: Scores, targets: NDArray[np.int64]) -> None:
        """Add a batch (−inf marks items in the cart)."""
        known = targets != UNKNOWN
        gains = np.maximum(scores[known].astype(np.float64), 0)
        totals = gains.sum(axis=1, keepdims=True)
        probabilities = gains / np.where(totals > 0, totals, 1)
        with np.errstate(divide="ignore"):
            power = np.maximum(np.log10(probabilities), LOWEST_POWER)
        bins = ((power - LOWEST_POWER) * BINS_PER_DECADE).astype(np.intp)
        possible = scores[known] > -np.inf
        count = len(self.pairs)
        self.pairs += np.bincount(bins[possible], minlength=count)
        self.predicted += np.bincount(bins[possible], weights=probabilities[possible], minlength=count)
        self.hits += np.bincount(bins[np.arange(known.sum()), targets[known]], minlength=count)

    def bins(self) -> tuple[CalibrationBin, ...]:
        """The ranges with enough in them, from small to large probabilities."""
        chosen = np.flatnonzero(np.maximum(self.predicted, self.hits) >= ENOUGH)
        return tuple(
            CalibrationBin(
                self.predicted[i] / self.pairs[i],
                self.hits[i] / self.pairs[i],
                _wilson(self.hits[i], self.pairs[i]),
                int(self.pairs[i]),
            )
            for i in chosen
        )


def _wilson(hits: float, n: float) -> tuple[float, float]:
    share, z2 = hits / n, _Z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
