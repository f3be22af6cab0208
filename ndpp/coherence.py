"""Coherence: how well the items of a cart go together, compared with real baskets of similar size.

The measure is the mean log lift of the cart's pairs. Lift divides by the number expected by chance, so a cart
of best-sellers is not coherent merely because each of them is bought often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Matrix
from ndpp.lifts import SIZE_CLASSES

SMALLEST = np.array(SIZE_CLASSES[1:])  # the smallest basket of each class: a single item has no pair


@dataclass(frozen=True, eq=False)
class CoherenceScale:
    """Quantiles of the mean log lift of real baskets, by size class."""

    quantiles: Matrix  # (classes, points), ascending; NaN for a class with too few baskets
    baskets: NDArray[np.int64]  # (classes,): number of baskets behind the quantiles

    def percentile(self, mean_log_lift: float, size: int) -> float | None:
        """The share of real baskets of the same size class with a lower mean log lift, in percent.

        Ties count half. None for a single item, and for a size class with too few baskets.
        """
        if size < SMALLEST[0]:
            return None
        quantiles = self.quantiles[size_class(size)]
        if np.isnan(quantiles).any():
            return None
        below = np.searchsorted(quantiles, mean_log_lift, "left")
        not_above = np.searchsorted(quantiles, mean_log_lift, "right")
        return 100 * float(below + not_above) / (2 * len(quantiles))

    def check(self, _size: int) -> None:
        """ValueError unless the arrays fit together."""
        if self.quantiles.ndim != 2 or len(self.quantiles) != len(SMALLEST) or not self.quantiles.size:
            raise ValueError(f"the coherence scale needs quantiles for {len(SMALLEST)} size classes")
        if self.baskets.shape != SMALLEST.shape:
            raise ValueError(f"the coherence scale needs counts for {len(SMALLEST)} size classes")
        if np.isinf(self.quantiles).any() or (np.diff(self.quantiles, axis=1) < 0).any():
            raise ValueError("the quantiles of the coherence scale must be ascending")


def size_class(size: int) -> int:
    """The size class of a basket of two or more items: 2, 3–4, 5–8, 9–16, 17–32, 33 and more."""
    return int(np.searchsorted(SMALLEST, size, "right")) - 1
