"""Calibration of next-item probabilities: of all items with a probability of 3 %, do 3 % come next?

The event is the same as in fitting the mixture: the items of a basket are in random order and at least one
more follows the cart; the next one is this item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndpp import NextItem
from training.baskets import UNKNOWN
from training.evaluation.queries import Queries

SHOWN = 10  # suggestions per query
BINS = 10  # with equal numbers of suggestions
ENOUGH_QUERIES = 100  # with fewer queries the observed shares are too noisy
TOLERANCE = 0.03  # largest gap between claimed and true share of the first suggestion
_Z = 1.96  # 95 %
_LEAST = 1e-9

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """A mean predicted probability, and the share of cases in which the prediction was right."""

    claimed: float
    true: float

    @property
    def gap(self) -> float:
        """Claimed minus true; above 0 the model is overconfident."""
        return self.claimed - self.true


@dataclass(frozen=True)
class CalibrationBin:
    """Suggestions with similar probabilities."""

    claimed: float  # their mean probability
    true: float  # the share of them that came next
    interval: tuple[float, float]  # 95 % Wilson interval of that share
    suggestions: int


@dataclass(frozen=True)
class NextItemCalibration:
    """Calibration of the first ten suggestions of each query."""

    queries: int
    first: Claim  # the first suggestion
    first_ten: Claim  # the sum of the ten probabilities, and how often the next item is among the ten
    expected_error: float  # expected calibration error: the mean of |claimed − true| over the bins
    nll: float  # mean negative log-likelihood of the item that came next
    bins: tuple[CalibrationBin, ...]

    @property
    def verdict(self) -> str:
        """One sentence for the report."""
        first, ten = self.first, self.first_ten
        if self.queries < ENOUGH_QUERIES:
            judged = "There are too few carts to judge the probabilities"
        elif abs(first.gap) <= TOLERANCE:
            judged = "The probabilities are well calibrated"
        else:
            judged = f"The probabilities are too {'high' if first.gap > 0 else 'low'}"
        carts = "1 held-out cart" if self.queries == 1 else f"{self.queries:,} held-out carts"
        return (
            f"{judged}: on {carts} the first suggestion has a mean probability of "
            f"{100 * first.claimed:.1f} % and is right in {100 * first.true:.1f} % of cases; the first ten "
            f"together have {100 * ten.claimed:.1f} % and contain the next item in {100 * ten.true:.1f} %."
        )


def calibration_of(model: NextItem, queries: Queries) -> NextItemCalibration | None:
    """The calibration on these queries; None if there is no suggestion."""
    n, shown = len(queries), min(SHOWN, model.kernel.size)
    claimed, right = np.zeros((n, shown)), np.zeros((n, shown), dtype=np.bool_)
    offered = np.zeros((n, shown), dtype=np.bool_)  # in a small catalogue fewer than ten are not in the cart
    target_probability = np.zeros(n)
    for number, prediction in enumerate(model.given_each(queries.carts, queries.histories)):
        probabilities, target = prediction.probabilities, queries.targets[number]
        likely = np.flatnonzero(probabilities >= np.partition(probabilities, -shown)[-shown])
        best = likely[np.argsort(-probabilities[likely], kind="stable")[:shown]]
        claimed[number], right[number] = probabilities[best], best == target
        offered[number] = ~np.isin(best, queries.carts[number])
        target_probability[number] = 0.0 if target == UNKNOWN else probabilities[target]
    if not offered.any():
        return None
    bins = _bins(claimed[offered], right[offered])
    return NextItemCalibration(
        queries=n,
        first=Claim(float(claimed[:, 0].mean()), float(right[:, 0].mean())),
        first_ten=Claim(float(claimed.sum(axis=1).mean()), float(right.any(axis=1).mean())),
        expected_error=float(
            np.average(
                [abs(part.claimed - part.true) for part in bins], weights=[b.suggestions for b in bins]
            )
        ),
        nll=float(-np.log(np.maximum(target_probability, _LEAST)).mean()),
        bins=bins,
    )


def _bins(claimed: Vector, right: NDArray[np.bool_]) -> tuple[CalibrationBin, ...]:
    parts = [part for part in np.array_split(np.argsort(claimed, kind="stable"), BINS) if len(part)]
    return tuple(
        CalibrationBin(
            float(claimed[part].mean()),
            float(right[part].mean()),
            wilson(int(right[part].sum()), len(part)),
            len(part),
        )
        for part in parts
    )


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share."""
    share, z2 = hits / n, _Z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
