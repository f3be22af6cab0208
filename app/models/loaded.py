"""A model in memory with everything that requests look up in it, computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model_store import Knobs, StoredModel
from ndpp import Kernel, PairTable, Relations, Tilt, condition, top_k
from ndpp.kernel import Indices, Vector

# A table of pairs takes 8 M² bytes in each worker: 87 MB for 3,300 items, 134 MB for these.
_TABLE_ITEMS = 4_096


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """Immutable: a request takes one reference to it and never sees another version."""

    stored: StoredModel
    prices: Vector  # (M,), NaN where unknown
    in_stock: NDArray[np.bool_]  # (M,), what is unknown counts as in stock
    categories: dict[str, Indices]
    search_names: tuple[str, ...]  # name and id of each item, in one case
    popularity: Vector | None  # the standing factor L_ii^(−γ) of the model's own γ
    pairs: PairTable | None  # in a small catalogue: gains without a product with F
    relations: Relations | None  # versions of release 0.1 have no lifts

    @classmethod
    def of(cls, stored: StoredModel) -> LoadedModel:
        """Prepare a stored model for requests."""
        items, knobs = stored.items, stored.manifest.knobs
        rows_by_category: dict[str, list[int]] = {}
        for row, category in enumerate(items.categories):
            if category is not None:
                rows_by_category.setdefault(category, []).append(row)
        return cls(
            stored=stored,
            prices=np.array([np.nan if price is None else price for price in items.prices], dtype=np.float64),
            in_stock=np.array([stock is not False for stock in items.in_stock], dtype=np.bool_),
            categories={name: np.array(rows, dtype=np.intp) for name, rows in rows_by_category.items()},
            search_names=tuple(
                f"{name or ''}\n{item_id}".casefold()
                for name, item_id in zip(items.names, items.ids, strict=True)
            ),
            popularity=Tilt.popularity(stored.kernel, knobs.popularity).base,
            pairs=PairTable.of(stored.kernel) if stored.kernel.size <= _TABLE_ITEMS else None,
            relations=None if stored.lifts is None else Relations(stored.kernel, stored.lifts),
        )

    @property
    def version(self) -> str:
        """The version's name in the store."""
        return self.stored.version

    @property
    def kernel(self) -> Kernel:
        """The kernel over the catalogue's rows."""
        return self.stored.kernel

    @property
    def knobs(self) -> Knobs:
        """ω, β and γ as the training job chose them."""
        return self.stored.manifest.knobs

    def popularity_factors(self, exponent: float) -> Vector | None:
        """L_ii^(−γ) of every item, None for ones."""
        if exponent == self.knobs.popularity:
            return self.popularity
        return Tilt.popularity(self.kernel, exponent).base

    def operations(self, cart_size: int) -> float:
        """Multiply-adds of a pass over F for a cart, to decide where it runs."""
        return float(self.kernel.size) * self.kernel.rank * (cart_size + 1)

    def operations_of_one(self, cart_size: int) -> float:
        """The same for a single recommendation, which has the table of pairs."""
        if self.pairs is not None and self.pairs.suits(cart_size):
            return self.pairs.operations(cart_size)
        return self.operations(cart_size)

    def warm_up(self) -> None:
        """Touch all pages and fill all caches, so that the first request is as fast as the next."""
        state = condition(self.kernel, [0], decoupling=self.knobs.decoupling)
        ranking = top_k(state, 10)
        numbers = [state.total(), state.completeness, state.expected_further, state.log_probability]
        if self.relations is not None and self.kernel.size > 1:
            numbers += self.relations.between([0], [1]).lift.tolist()
        if not (np.isfinite(ranking.scores).all() and np.isfinite(numbers).all()):
            raise ValueError("a first recommendation gives numbers that are not finite")
