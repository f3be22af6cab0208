"""One model and the shop's overrides, merged: everything that a request needs to know, taken once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    out_of_stock: Indices
    boosts: Mapping[int, float]  # by row
    boosted: Indices
    boost_factors: Vector
    revision: int = 0  # how many changes of overrides it contains, the same number in all processes
    answers: Answers = field(default_factory=Answers)

    @classmethod
    def of(cls, model: LoadedModel, overrides: Mapping[str, Override]) -> Catalogue:
        """Apply the overrides to the items that this model knows."""
        prices, in_stock, boosts = model.prices.copy(), model.in_stock.copy(), {}
        for item_id, override in overrides.items():
            row = model.stored.items.row_of(item_id)
            if row is None:
                continue
            if override.price is not None:
                prices[row] = override.price
            if override.in_stock is not None:
                in_stock[row] = override.in_stock
            if override.boost is not None:
                boosts[row] = override.boost
        return cls(
            model=model,
            prices=prices,
            in_stock=in_stock,
            out_of_stock=np.flatnonzero(~in_stock),
            boosts=boosts,
            boosted=np.array(list(boosts), dtype=np.intp),
            boost_factors=np.array(list(boosts.values()), dtype=np.float64),
        )

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
