"""How much a basket counts by its age."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.baskets import Baskets
from training.errors import OptionError

Weights = NDArray[np.float64]  # (n,)


def recency_weights(baskets: Baskets, half_life_days: float | None) -> Weights | None:
    """Half for every half-life of age before the newest basket; None: all count the same."""
    if half_life_days is None:
        return None
    if baskets.timestamps is None:
        raise OptionError("--half-life-days needs a timestamp for every basket, and the data has none")
    age = (baskets.timestamps.max() - baskets.timestamps) / np.timedelta64(1, "D")
    weights: Weights = 0.5 ** (age / half_life_days)
    return weights


def effective_size(weights: Weights) -> float:
    """How many baskets of equal weight would say as much: (Σw)² / Σw²."""
    return float(weights.sum() ** 2 / (weights**2).sum())
