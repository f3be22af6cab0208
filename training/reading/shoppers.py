"""Who bought each basket: ids are hashed while they are read, and forgotten shoppers are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from model_store import ModelStore
from model_store.items import MAX_ID_LENGTH
from model_store.shopper_ids import HASH, ShopperIds
from training.baskets import NOBODY

SHOPPER = "shopper"  # the column of hashes; drained purchases have it, other tables have `shopper_id`


@dataclass(frozen=True, slots=True)
class ShopperRules:
    """How shopper ids are hashed, None to keep them as they are, and whose baskets are skipped."""

    ids: ShopperIds | None = None
    forgotten: Mapping[str, int] = field(default_factory=dict)  # marks, each with seconds since 1970

    @classmethod
    def of(cls, store: ModelStore, key: str | None) -> ShopperRules:
        """With this key, or that of the model store, and the forgotten shoppers of the model store."""
        return cls(store.shopper_ids(key), store.forgotten_shoppers())

    def hashed(self, column: pl.Series) -> pl.Series:
        """The hash of each shopper id."""
        if self.ids is None:
            return column.alias(SHOPPER)
        # The service accepts no longer ids: such a shopper could be neither served nor forgotten.
        column = column.set(column.str.len_chars() > MAX_ID_LENGTH, None)
        distinct = column.unique().drop_nulls()
        hashes = [self.ids.hashed(shopper_id) for shopper_id in distinct]
        return column.replace_strict(distinct, hashes, return_dtype=pl.String).alias(SHOPPER)

    def without_forgotten(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """The rows without baskets that shoppers bought before they were forgotten, or at an unknown time."""
        if self.ids is None or not self.forgotten or SHOPPER not in pairs.columns:
            return pairs
        marks = {hashed: self.ids.mark(hashed) for hashed in pairs[SHOPPER].unique().drop_nulls()}
        times = {hashed: self.forgotten[mark] for hashed, mark in marks.items() if mark in self.forgotten}
        if not times:
            return pairs
        until = pl.from_epoch(
            pl.col(SHOPPER).replace_strict(list(times), list(times.values()), default=None), "s"
        )
        later = pl.col("timestamp") > until if "timestamp" in pairs.columns else pl.lit(value=False)
        return pairs.filter(until.is_null() | later.fill_null(value=False))


def holds_hashes(column: pl.Series) -> bool:
    """Whether all values are hashes, as in drained purchases; another table may use the name otherwise."""
    return column.dtype == pl.String and bool(column.str.contains(HASH).fill_null(value=True).all())


def numbered(
    pairs: pl.DataFrame, basket: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[str, ...], int]:
    """The number of each basket's shopper, the hashes by number, and how many baskets name several shoppers.

    `basket` is the basket of each row. A basket that names several shoppers belongs to nobody.
    """
    named = pl.col(SHOPPER).drop_nulls()
    found = (
        pairs.select(SHOPPER, number=basket)
        .group_by("number")
        .agg(named.first(), several=named.n_unique() > 1)
        .sort("number")
    )
    first = found[SHOPPER].set(found["several"], None)
    hashes = first.unique(maintain_order=True).drop_nulls()
    numbers = first.replace_strict(hashes, np.arange(len(hashes)), default=NOBODY, return_dtype=pl.Int64)
    return numbers.fill_null(NOBODY).to_numpy(), tuple(hashes), int(found["several"].sum())
