"""Tilt: what multiplies the gains of a bundle (filters, boosts, popularity, relevance), as one vector τ²."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Kernel, Vector
from ndpp.relevance import Relevance

_SMALLEST_WEIGHT = 1e-30  # an item without any weight would otherwise get an infinite popularity factor


def _no_rows() -> Indices:
    return np.empty(0, dtype=np.intp)


def _no_factors() -> Vector:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Tilt:
    """τ²: a dense `base` (None stands for ones) times, at the sparse `rows`, `factors`.

    Diag(τ) L Diag(τ) is again a kernel and multiplies every gain by τ_i²; a factor of 0 excludes the item.
    A row listed several times gets the product of its factors. Tilts are merged with `*`.
    """

    base: Vector | None = None
    rows: Indices = field(default_factory=_no_rows)
    factors: Vector = field(default_factory=_no_factors)

    def __post_init__(self) -> None:
        rows, factors = _merged(self.rows, self.factors)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "factors", _checked(factors, "factors"))
        if self.base is not None:
            object.__setattr__(self, "base", _checked(np.asarray(self.base, dtype=np.float64), "base"))

    @classmethod
    def excluding(cls, rows: ArrayLike) -> Tilt:
        """Keep these rows out of every answer."""
        return cls.boosting(rows, 0.0)

    @classmethod
    def boosting(cls, rows: ArrayLike, factors: ArrayLike) -> Tilt:
        """Multiply the gains of these rows by a factor each, or by one factor for all."""
        index = np.asarray(rows, dtype=np.intp)
        return cls(None, index, np.broadcast_to(np.asarray(factors, dtype=np.float64), index.shape))

    @classmethod
    def popularity(cls, kernel: Kernel, exponent: float) -> Tilt:
        """L_ii^(−γ): play popularity down (γ > 0) or up (γ < 0)."""
        if exponent == 0:
            return cls()
        return cls(np.maximum(kernel.weights, _SMALLEST_WEIGHT) ** -exponent)

    @classmethod
    def relevance(cls, relevance: Relevance, cart: ArrayLike, exponent: float) -> Tilt:
        """(r_i(cart)/floor)^β at the rows with evidence above the floor, 1 elsewhere.

        Dividing by floor^β changes no ranking and no probability, and keeps the list sparse.
        """
        if exponent == 0:
            return cls()
        rows, values = relevance.evidence(cart)
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
            place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            values = np.where(self.rows[place] == rows, values * self.factors[place], values)
        return values

    def dense(self, size: int) -> Vector:
        """τ² for a whole catalogue of `size` items."""
        values = np.ones(size) if self.base is None else self.base.copy()
        values[self.rows] *= self.factors
        return values

    def check(self, size: int) -> None:
        """Refuse a tilt that was made for another catalogue."""
        if self.base is not None and self.base.shape != (size,):
            raise ValueError(f"the tilt's base has shape {self.base.shape}, but the catalogue {size} items")
        if len(self.rows) and (self.rows[0] < 0 or self.rows[-1] >= size):
            wrong = self.rows[0] if self.rows[0] < 0 else self.rows[-1]
            raise ValueError(f"the tilt names row {wrong}, but the catalogue has rows 0 to {size - 1}")


def _merged(rows: Indices, factors: Vector) -> tuple[Indices, Vector]:
    """Rows ascending and once each, with the product of their factors."""
    index, values = np.asarray(rows, dtype=np.intp), np.asarray(factors, dtype=np.float64)
    if index.ndim != 1 or index.shape != values.shape:
        raise ValueError(f"a tilt needs one factor a row, got {index.shape} rows and {values.shape} factors")
    if (index[1:] > index[:-1]).all():
        return index, values
    unique, place = np.unique(index, return_inverse=True)
    product = np.ones(len(unique))
    np.multiply.at(product, place, values)
    return unique, product


def _checked(values: NDArray[np.floating[Any]], name: str) -> Vector:
    if values.size and not 0 <= values.min() <= values.max() < np.inf:  # false for NaN too
        raise ValueError(f"the tilt's {name} must be finite and not negative")
    return np.asarray(values, dtype=np.float64)


NO_TILT = Tilt()
