"""The factors τ² on the gains of items in a bundle: filters, boosts, popularity and relevance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Kernel, Vector
from ndpp.relevance import Relevance
from ndpp.sparse import find, nothing


@dataclass(frozen=True, eq=False)
class Tilt:
    """τ²: a dense `base` (None means ones), multiplied by `factors` at the sparse `rows`.

    Diag(τ) L Diag(τ) is again a kernel, whose gains are τ_i² Δ_i; a factor of 0 excludes an item. A row that
    is listed several times gets the product of its factors. `*` combines two tilts.
    """

    base: Vector | None = None
    rows: Indices = field(default_factory=lambda: nothing()[0])
    factors: Vector = field(default_factory=lambda: nothing()[1])

    def __post_init__(self) -> None:
        rows, factors = _merged(self.rows, self.factors)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "factors", _checked(factors, "factors"))
        if self.base is not None:
            object.__setattr__(self, "base", _checked(np.asarray(self.base, dtype=np.float64), "base"))

    @classmethod
    def excluding(cls, rows: ArrayLike) -> Tilt:
        """Exclude these rows."""
        return cls.boosting(rows, 0.0)

    @classmethod
    def boosting(cls, rows: ArrayLike, factors: ArrayLike) -> Tilt:
        """Multiply the gains of these rows by one factor each, or by one factor for all."""
        index = np.asarray(rows, dtype=np.intp)
        return cls(None, index, np.broadcast_to(np.asarray(factors, dtype=np.float64), index.shape))

    @classmethod
    def popularity(cls, kernel: Kernel, exponent: float) -> Tilt:
        """L_ii^(−γ): less popular items for γ > 0, more popular ones for γ < 0."""
        if exponent == 0:
            return cls()
        return cls(np.exp(-exponent * kernel.log_weights))

    @classmethod
    def relevance(cls, relevance: Relevance, cart: ArrayLike, exponent: float) -> Tilt:
        """(r_i(cart)/floor)^β, which is 1 for all rows but those with a relevance above the floor.

        Dividing by floor^β changes no ranking and no probability, and keeps the list sparse.
        """
        if exponent == 0:
            return cls()
        rows, values = relevance.above_floor(cart)
        return cls(None, rows, (values / relevance.floor) ** exponent)

    def __mul__(self, other: Tilt) -> Tilt:
        if self.base is None or other.base is None:
            base = other.base if self.base is None else self.base
        else:
            base = self.base * other.base
        return Tilt(
            base,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.factors, other.factors]),
        )

    def at(self, rows: Indices) -> Vector:
        """τ² at `rows`."""
        values = np.ones(len(rows)) if self.base is None else self.base[rows]
        if len(self.rows):
            place, found = find(rows, self.rows)
            values = np.where(found, values * self.factors[place], values)
        return values

    def dense(self, size: int) -> Vector:
        """τ² of all items of a catalogue of `size` items."""
        values = np.ones(size) if self.base is None else self.base.copy()
        values[self.rows] *= self.factors
        return values

    def check(self, size: int) -> None:
        """ValueError unless the tilt fits a catalogue of `size` items."""
        if self.base is not None and self.base.shape != (size,):
            raise ValueError(f"the tilt's base has shape {self.base.shape}, the catalogue {size} items")
        if len(self.rows) and (self.rows[0] < 0 or self.rows[-1] >= size):
            wrong = self.rows[0] if self.rows[0] < 0 else self.rows[-1]
            raise ValueError(f"the tilt names row {wrong}, but the catalogue has rows 0 to {size - 1}")


def _merged(rows: Indices, factors: Vector) -> tuple[Indices, Vector]:
    """Each row once, ascending, with the product of its factors."""
    index, values = np.asarray(rows, dtype=np.intp), np.asarray(factors, dtype=np.float64)
    if index.ndim != 1 or index.shape != values.shape:
        raise ValueError(f"a tilt needs one factor per row, got shapes {index.shape} and {values.shape}")
    if (index[1:] > index[:-1]).all():
        return index, values
    unique, place = np.unique(index, return_inverse=True)
    product = np.ones(len(unique))
    np.multiply.at(product, place, values)
    return unique, product


def _checked(values: NDArray[np.floating[Any]], name: str) -> Vector:
    if values.size and not 0 <= values.min() <= values.max() < np.inf:  # the comparison is false for NaN
        raise ValueError(f"the tilt's {name} must be finite and not negative")
    return np.asarray(values, dtype=np.float64)
