"""The coefficients of P(set | cart); see `probability` for the formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ndpp.kernel import Vector


class Coefficients(NamedTuple):
    """The coefficients of P(S | Y); m = |S|, n = |Y|, f = further items in the counted baskets."""

    # logit P_model of a single item
    item_constant: float
    item_further: float  # times log E[further items]: E f for a single item, else by the basket sizes
    item_size: float  # times log n
    item_next: float  # times log P(i | Y)
    item_common: float  # times log of the share of baskets that hold i
    item_strength: float  # a
    item_strength_by_size: float  # b
    item_strength_power: float  # q
    # log P_model of a set of several items
    set_items: float  # times Σ log P(i joins | Y)
    set_constant: float  # times m − 1, and so on
    set_size: float  # times log n
    set_spread: float  # times log (E f² / (E f)²): in large baskets all items are more likely
    set_lift: float  # times the mean log lift of the pairs of S
    set_lift_by_size: float  # times the mean log lift · log n
    set_strength: float
    set_strength_by_size: float
    set_strength_power: float
    # log weights of baskets that miss one or two items of the cart
    one_missing: float
    two_missing: float
    missing_by_size: float  # times log n, added to both
    # logit P of the best set, which is too high without a correction: the best of many noisy estimates
    best_constant: float
    best_by_size: float  # times log n
    best_slope: float  # times logit P(S | Y)
    best_noise: float  # times c / (c + s · P_model) / √(c + 1)

    def levels(self, size: int) -> Vector:
        """The weights of baskets that miss none, one or two items of a cart of `size` items."""
        by_size = self.missing_by_size * float(np.log(size))
        return np.exp([0.0, self.one_missing + by_size, self.two_missing + by_size])


@dataclass(frozen=True, eq=False)
class SetModel:
    """The coefficients for a single given item and for a cart in the making, which are different events."""

    single: Vector  # `Coefficients` as an array
    cart: Vector

    @classmethod
    def of(cls, single: Coefficients, cart: Coefficients) -> Self:
        """Store the coefficients."""
        return cls(np.array(single), np.array(cart))

    def coefficients(self, *, as_cart: bool) -> Coefficients:
        """The coefficients for a cart in the making, or for a single given item."""
        return Coefficients(*(self.cart if as_cart else self.single).tolist())

    def check(self, _: int) -> None:
        """ValueError unless all coefficients are there and finite."""
        for values in (self.single, self.cart):
            if values.shape != (len(Coefficients._fields),) or not np.isfinite(values).all():
                raise ValueError(f"P(set | cart) needs {len(Coefficients._fields)} finite coefficients")
