"""Accuracy of basket-size forecasts, on one random prefix of each held-out basket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndpp.basket_sizes import BasketSizes
from training.baskets import Baskets
from training.statistics.basket_sizes import random_prefixes


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Carts with similar P(complete): the mean probability and the share that was complete."""

    carts: int
    claimed: float
    true: float


@dataclass(frozen=True, slots=True)
class SizeAccuracy:
    """Forecast (claimed) and observed (true) values on held-out baskets."""

    carts: int
    complete_claimed: float  # mean P(complete)
    complete_true: float  # the share of carts that were complete
    further_claimed: float  # mean expected number of further items
    further_true: float
    further_correlation: float | None  # of expected and true further items; None if either is constant
    range_claimed: float  # mean probability of the range of final sizes
    range_true: float  # the share of baskets whose size was in the range
    complete_bins: tuple[SizeBin, ...]  # deciles of P(complete)


def size_accuracy(model: BasketSizes, held_out: Baskets, seed: int = 0) -> SizeAccuracy | None:
    """The accuracy on held-out baskets in the rows of the model; None if there are none."""
    held_out = held_out.select(np.flatnonzero(held_out.sizes))
    if not len(held_out):
        return None
    carts = random_prefixes(held_out, np.random.default_rng(seed))
    forecasts = [model.forecast(rows) for rows in np.split(carts.items, carts.offsets[1:-1])]
    claimed = np.array([forecast.complete for forecast in forecasts])
    expected = np.array([forecast.further for forecast in forecasts])
    complete = carts.further == 0
    sizes = carts.sizes + carts.further
    ranges = [forecast.size for forecast in forecasts]
    inside = [found.low <= size <= found.high for found, size in zip(ranges, sizes, strict=True)]
    varies = expected.std() > 0 and carts.further.std() > 0
    tenths = [part for part in np.array_split(np.argsort(claimed, kind="stable"), 10) if len(part)]
    return SizeAccuracy(
        carts=len(forecasts),
        complete_claimed=float(claimed.mean()),
        complete_true=float(complete.mean()),
        further_claimed=float(expected.mean()),
        further_true=float(carts.further.mean()),
        further_correlation=float(np.corrcoef(expected, carts.further)[0, 1]) if varies else None,
        range_claimed=float(np.mean([found.probability for found in ranges])),
        range_true=float(np.mean(inside)),
        complete_bins=tuple(
            SizeBin(len(part), float(claimed[part].mean()), float(complete[part].mean())) for part in tenths
        ),
    )
