"""How well the items of a cart go together, beside real baskets of like size.

The measure is the mean log lift of a cart's pairs. Lift divides by what is expected by chance, so a cart of
best-sellers is not coherent because each of them is bought often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Matrix

SMALLEST = np.array([2, 3, 5, 9, 17, 33])  # the first basket size of each class


@dataclass(frozen=True, eq=False)
class CoherenceScale:
    """Mean log lifts of real baskets by size class, as quantiles."""

    quantiles: Matrix  # (classes, points), ascending; NaN for a class with too few baskets
    baskets: NDArray[np.int64]  # (classes,): how many baskets the quantiles are of

    def percentile(self, mean_log_lift: float, size: int) -> float | None:
        """The share of real baskets of that size class with a lower mean log lift, in percent.

        Equal ones count half. None for a single item, and where too few baskets of that size were seen.
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
            raise ValueError("the quantiles of the coherence scale do not ascend")


def size_class(size: int) -> int:
    """The class of a basket of two items or more: 2, 3–4, 5–8, 9–16, 17–32, 33 and more."""
    return int(np.searchsorted(SMALLEST, size, "right")) - 1
