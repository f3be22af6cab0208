"""Learn the coherence scale: quantiles of the mean log lift of real baskets, by basket size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndpp.coherence import SMALLEST, CoherenceScale, size_class
from ndpp.kernel import Indices, Vector
from training.baskets import Baskets

_POINTS = 200
_FEWEST = 20  # fewest baskets of a size class for its quantiles


def learn_coherence(lifts: Callable[[Indices, Indices], Vector], baskets: Baskets) -> CoherenceScale:
    """The scale from baskets that were not counted for `lifts`, a function of first and second rows of pairs.

    A counted basket raises the lifts of its own pairs. With counted baskets as reference, unseen ones would
    look less coherent than they are (on UK Retail a mean percentile of 33 instead of 52).
    """
    values: list[list[float]] = [[] for _ in SMALLEST]
    for rows in (basket.astype(np.intp) for basket in baskets):
        if len(rows) >= SMALLEST[0]:
            first, second = np.triu_indices(len(rows), 1)
            values[size_class(len(rows))].append(float(np.log(lifts(rows[first], rows[second])).mean()))
    shares = (np.arange(_POINTS) + 0.5) / _POINTS
    return CoherenceScale(
        quantiles=np.array(
            [
                np.quantile(found, shares, method="inverted_cdf")
                if len(found) >= _FEWEST
                else shares * np.nan
                for found in values
            ]
        ),
        baskets=np.array([len(found) for found in values]),
    )
