"""One model and the shop's overrides, merged: everything that a request needs to know, taken once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan

import numpy as np
from numpy.typing import NDArray

from app.answers import Answers
from app.items.store import Override
from app.models.loaded import LoadedModel
from ndpp.kernel import Indices, Vector


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Immutable; a change of the model or of an override makes a new one."""

    model: LoadedModel
    prices: Vector  # (M,), NaN where unknown
    in_stock: NDArray[np.bool_]  # (M,)
    boosts: Vector  # (M,), 1 where the shop has said nothing
    revision: int = 0  # the number of the latest change of an override that is in it
    answers: Answers = field(default_factory=Answers)

    @classmethod
    def of(cls, model: LoadedModel, overrides: Mapping[str, Override], revision: int = 0) -> Catalogue:
        """Apply the overrides to the items that this model knows."""
        untouched = cls(model, model.prices, model.in_stock, np.ones(model.kernel.size))
        return untouched.changed(overrides, revision)

    def changed(self, overrides: Mapping[str, Override], revision: int) -> Catalogue:
        """The catalogue with the overrides of these items replaced; those of all others stay."""
        prices, in_stock, boosts = self.prices.copy(), self.in_stock.copy(), self.boosts.copy()
        for item_id, override in overrides.items():
            row = self.row_of(item_id)
            if row is None:
                continue
            prices[row] = self.model.prices[row] if override.price is None else override.price
            in_stock[row] = self.model.in_stock[row] if override.in_stock is None else override.in_stock
            boosts[row] = 1.0 if override.boost is None else override.boost
        return Catalogue(self.model, prices, in_stock, boosts, revision)

    @cached_property
    def out_of_stock(self) -> Indices:
        """The rows of what is sold out."""
        return np.flatnonzero(~self.in_stock)

    @cached_property
    def boosted(self) -> Indices:
        """The rows whose boost is not neutral."""
        return np.flatnonzero(self.boosts != 1)

    @cached_property
    def boost_factors(self) -> Vector:
        """The boosts of those rows."""
        return self.boosts[self.boosted]

    def row_of(self, item_id: str) -> int | None:
        """The row of an item, None if the model does not know it."""
        return self.model.stored.items.row_of(item_id)

    def rows_of(self, item_ids: list[str]) -> list[int]:
        """The rows of those of the items that the model knows."""
        return [row for item_id in item_ids if (row := self.row_of(item_id)) is not None]

    def item_id(self, row: int) -> str:
        """The id of a row's item."""
        return self.model.stored.items.ids[row]

    def name(self, row: int) -> str | None:
        """The name of a row's item."""
        return self.model.stored.items.names[row]

    def category(self, row: int) -> str | None:
        """The category of a row's item."""
        return self.model.stored.items.categories[row]

    def price(self, row: int) -> float | None:
        """The price of a row's item, None if unknown."""
        price = float(self.prices[row])
        return None if isnan(price) else price
