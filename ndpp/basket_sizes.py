"""Forecast of the final basket size (number of distinct items), given the cart.

A logistic regression gives the probability that the cart is complete. If it is not, a zero-truncated negative
binomial regression gives the number of further items. Items are assumed to be added in random order. The
features are the cart's size (piecewise linear in its logarithm) and the mean, over its items, of the log size
of the baskets that hold the item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Vector

LEVEL = 0.8  # the least probability of a range of sizes
_KNOTS = np.log([1, 2, 4, 8, 16, 32])  # of the piecewise linear effect of the cart's log size
FEATURES = len(_KNOTS) + 3


@dataclass(frozen=True, slots=True)
class SizeRange:
    """The final size of the basket is between `low` and `high`, inclusive, with this probability."""

    low: int
    high: int
    probability: float


@dataclass(frozen=True, slots=True)
class SizeForecast:
    """The forecast for a cart."""

    complete: float  # P(nothing more is added)
    further: float  # the expected number of further items
    size: SizeRange  # of the whole basket: the shortest range with a probability of at least LEVEL


@dataclass(frozen=True, eq=False)
class BasketSizes:
    """The fitted regressions and the statistics they use."""

    item_log_sizes: NDArray[np.float32]  # (M,): mean log size of the baskets that hold the item, shrunk
    usual_log_size: float  # the same for an unknown item
    complete: Vector  # (FEATURES,): log odds of being complete
    further: Vector  # (FEATURES,): log mean of the negative binomial before truncation
    dispersion: float  # r: its variance is mean + mean²/r
    counts: NDArray[np.int64]  # (largest size + 1,): number of training baskets of each size

    def forecast(self, rows: ArrayLike, others: int = 0) -> SizeForecast:
        """The forecast for a cart of these rows and `others` items that the model does not know."""
        index = np.asarray(rows, dtype=np.intp)
        size = len(index) + others
        if size == 0:
            return self._empty_cart()
        excess = float((self.item_log_sizes[index] - self.usual_log_size).sum()) / size
        seen = min(size, len(self.counts) - 1)  # a cart larger than every basket is treated as the largest
        x = features(np.array([seen]), np.array([excess]))[0]
        complete = float(1 + np.tanh(x @ self.complete / 2)) / 2  # the logistic function, without overflow
        mean = float(np.exp(np.clip(x @ self.further, -20, np.log(len(self.counts)))))
        spread = np.log1p(mean / self.dispersion)
        truncated = float(-np.expm1(-self.dispersion * spread))  # P(at least one further item)
        # By Markov's inequality for the square, less than 1 % of the probability is beyond the last number.
        square = (mean + mean**2 * (1 + 1 / self.dispersion)) / truncated
        number = np.arange(1, int(10 * np.sqrt(square)) + 2)
        steps = np.log1p((self.dispersion - 1) / number)  # log P(k) − log P(k − 1), without the common factor
        log_mass = np.cumsum(steps) - self.dispersion * spread - number * np.log1p(self.dispersion / mean)
        mass = np.concatenate([[complete], (1 - complete) * np.exp(log_mass) / truncated])
        return SizeForecast(complete, (1 - complete) * mean / truncated, _shortest_range(mass, size))

    def _empty_cart(self) -> SizeForecast:
        """The distribution of all basket sizes."""
        shares = self.counts / self.counts.sum()
        return SizeForecast(0.0, float(shares @ np.arange(len(shares))), _shortest_range(shares, 0))

    def check(self, size: int) -> None:
        """ValueError unless the model is for `size` items and its numbers are valid."""
        if self.item_log_sizes.shape != (size,):
            raise ValueError(f"the kernel has {size} items, the basket sizes {len(self.item_log_sizes)}")
        if self.complete.shape != (FEATURES,) or self.further.shape != (FEATURES,):
            raise ValueError(f"the basket sizes need {FEATURES} coefficients per regression")
        numbers = (self.item_log_sizes, self.complete, self.further, [self.usual_log_size, self.dispersion])
        if not all(np.isfinite(array).all() for array in numbers) or self.dispersion <= 0:
            raise ValueError("the basket sizes need finite numbers and a dispersion above 0")
        if self.counts.ndim != 1 or len(self.counts) < 2 or self.counts.min() < 0 or not self.counts.any():
            raise ValueError("the basket sizes need the counts of at least one basket")


def features(sizes: NDArray[np.int64], excess: Vector) -> NDArray[np.float64]:
    """Features (n, FEATURES) of carts, from their sizes and the mean excess of their items' log sizes."""
    log_sizes = np.log(sizes)
    bends = [np.interp(log_sizes, _KNOTS, at_knots) for at_knots in np.eye(len(_KNOTS))]
    return np.column_stack([np.ones(len(sizes)), *bends, excess, excess * log_sizes])


def _shortest_range(mass: Vector, first: int) -> SizeRange:
    """The shortest range with a probability of at least LEVEL; `mass[0]` is that of the size `first`."""
    below = np.concatenate([[0.0], np.cumsum(mass)])
    ends = np.searchsorted(below, below[:-1] + LEVEL * (1 - 1e-9))
    starts = np.flatnonzero(ends < len(below))
    start = int(starts[np.argmin(ends[starts] - starts)])
    end = int(ends[start])
    return SizeRange(first + start, first + end - 1, float(min(below[end] - below[start], 1.0)))
