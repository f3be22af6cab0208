"""Recency weights of baskets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.baskets import Baskets
from training.errors import OptionError

Weights = NDArray[np.float64]  # (n,)


def recency_weights(baskets: Baskets, half_life_days: float | None) -> Weights | None:
    """0.5^(age / half-life), with age relative to the newest basket; None without a half-life."""
    if half_life_days is None:
        return None
    if baskets.timestamps is None:
        raise OptionError("--half-life-days needs a timestamp in every row of the baskets")
    age = (baskets.timestamps.max() - baskets.timestamps) / np.timedelta64(1, "D")
    weights: Weights = 0.5 ** (age / half_life_days)
    return weights


def effective_size(weights: Weights) -> float:
    """The effective number of baskets: (Σw)² / Σw²."""
    return float(weights.sum() ** 2 / (weights**2).sum())
