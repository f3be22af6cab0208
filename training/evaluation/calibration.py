"""Are next-item probabilities true: of all items given 3 %, did 3 % come next?

The event is the one that the mixture is fitted on: a basket's items come in random order; given that one more
comes after the cart, it is this item.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndpp import NextItem
from training.evaluation.queries import UNKNOWN, Queries

SHOWN = 10  # suggestions that are judged
BINS = 10  # of equal mass
ENOUGH_QUERIES = 100  # with fewer, chance decides the share that comes true
TOLERANCE = 0.03  # the first suggestion may claim this much more or less than comes true
_Z = 1.96  # 95 %
_LEAST = 1e-9

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """A mean probability that was claimed, and the share that came true."""

    claimed: float
    true: float

    @property
    def gap(self) -> float:
        """Above 0 it is too sure."""
        return self.claimed - self.true


@dataclass(frozen=True)
class CalibrationBin:
    """Suggestions whose probability lies in one range."""

    claimed: float  # their mean probability
    true: float  # the share of them that came next
    interval: tuple[float, float]  # 95 % (Wilson) around that share
    suggestions: int


@dataclass(frozen=True)
class NextItemCalibration:
    """Claimed against true for the first ten suggestions of each query."""

    queries: int
    first: Claim  # the first suggestion
    first_ten: Claim  # the sum of ten probabilities, and how often the item is among the ten
    expected_error: float  # the mean of |claimed − true| over bins of equal mass
    nll: float  # mean negative log-likelihood of the item that came next
    bins: tuple[CalibrationBin, ...]

    @property
    def verdict(self) -> str:
        """One sentence for the report."""
        first, ten = self.first, self.first_ten
        if self.queries < ENOUGH_QUERIES:
            judged = "There are too few carts to judge the probabilities"
        elif abs(first.gap) <= TOLERANCE:
            judged = "The probabilities hold"
        else:
            judged = f"The probabilities are too {'high' if first.gap > 0 else 'low'}"
        carts = "1 cart" if self.queries == 1 else f"{self.queries:,} carts"
        return (
            f"{judged}: on {carts} that the model has not seen, the first suggestion claims "
            f"{100 * first.claimed:.1f} % on average and is right in {100 * first.true:.1f} % of cases; "
            f"the first ten together claim "
            f"{100 * ten.claimed:.1f} % and hold the next item in {100 * ten.true:.1f} %."
        )

    def as_dict(self) -> dict[str, Any]:
        """For the manifest and `report.json`."""
        return {
            **asdict(self),
            "bins": [{**asdict(part), "interval": [*part.interval]} for part in self.bins],
        }


def calibration_of(model: NextItem, queries: Queries) -> NextItemCalibration | None:
    """Ask for the next item of every query; None if there is no suggestion to judge."""
    n, shown = len(queries), min(SHOWN, model.kernel.size)
    claimed, right = np.zeros((n, shown)), np.zeros((n, shown), dtype=np.bool_)
    offered = np.zeros((n, shown), dtype=np.bool_)  # in a small catalogue not all are: the cart holds some
    target_probability = np.zeros(n)
    for number, prediction in enumerate(model.given_each(queries.carts)):
        probabilities, target = prediction.probabilities, queries.targets[number]
        best = np.argsort(-probabilities, kind="stable")[:shown]
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
    """The 95 % interval of a share."""
    share, z2 = hits / n, _Z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
