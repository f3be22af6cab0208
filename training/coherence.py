"""What is usual for real baskets: the quantiles of their mean log lift."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndpp.coherence import SMALLEST, CoherenceScale, mean_log_lift, size_class
from ndpp.kernel import Matrix
from training.baskets import Baskets, ItemRows

_POINTS = 200
_FEWEST = 20  # baskets of a size class, for a statement about them


def learn_coherence(lifts: Callable[[ItemRows], Matrix], baskets: Baskets) -> CoherenceScale:
    """From baskets that had no part in the counts behind `lifts`.

    A basket's own pairs raise their lifts: by baskets that were counted, unseen ones would look torn (on UK
    Retail a mean percentile of 33 instead of 52).
    """
    values: list[list[float]] = [[] for _ in SMALLEST]
    for rows in baskets:
        if len(rows) >= SMALLEST[0]:
            values[size_class(len(rows))].append(mean_log_lift(lifts(rows)))
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
