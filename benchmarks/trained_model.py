"""A model trained on single supermarket products, which `benchmarks.large_model` enlarges.

The 3,300 most frequent products of The Complete Journey, the package of the demo's groceries. The fit takes
minutes, so the model is kept in a folder, together with baskets that it has not seen.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from model_store import Items, ModelStore, StoredModel
from training.baskets import Baskets
from training.demo import sold_goods
from training.options import FitOptions
from training.pipeline import train_model
from training.publishing import Publication, publish
from training.reading import read_baskets
from training.reading.item_table import describe_items, read_item_table
from training.recipe import Recipe
from training.splitting import HELD_OUT_SHARE, split, validation_size

ITEMS = 3_300
OPTIONS = FitOptions(rank=50, skew_rank=150)  # R = 200
_UNSEEN = "unseen.npz"


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, and baskets that it has not seen, as rows of its catalogue."""

    stored: StoredModel
    unseen: list[NDArray[np.int32]]


def trained_model(folder: Path) -> Trained:
    """The model in the folder; it is trained if there is none."""
    if not (folder / _UNSEEN).exists():
        train(*products(ITEMS), folder)
    with np.load(folder / _UNSEEN) as unseen:
        baskets = np.split(unseen["items"], unseen["offsets"][1:-1])
    return Trained(ModelStore(folder).open(), baskets)


def train(baskets: Baskets, items: Items, folder: Path, options: FitOptions = OPTIONS) -> None:
    """Train as `python -m training fit` does, and keep the model and the baskets held out."""
    parts = split(
        baskets,
        validation=validation_size(len(baskets), tuned=True),
        holdout=int(HELD_OUT_SHARE * len(baskets)),
        seed=options.seed,
    )
    learned = train_model(parts, options, effort="quick")
    publication = Publication(learned, parts, items, baskets.fingerprint(), Recipe(options))
    store = ModelStore(folder)
    store.activate(publish(store, publication, report=False))
    np.savez(folder / _UNSEEN, items=parts.test.items, offsets=parts.test.offsets)


def products(count: int) -> tuple[Baskets, Items]:
    """The baskets and the item table of the most frequent single products."""
    rows = sold_goods().with_columns(item_id=pl.format("product-{}", "product_id"))
    frequent = (
        rows.group_by("item_id")
        .agg(
            name=pl.concat_str("product_type", "package_size", separator=", ", ignore_nulls=True).first(),
            category=pl.col("department").first(),
            price=(pl.col("sales_value").sum() / pl.col("quantity").sum()).round(2),
            baskets=pl.col("basket_id").n_unique(),
        )
        .sort("baskets", "item_id", descending=(True, False))
        .head(count)
    )
    pairs = (
        rows.join(frequent, on="item_id", how="semi")
        .select("basket_id", "item_id", timestamp="transaction_timestamp", shopper_id="household_id")
        .unique(("basket_id", "item_id"))
        .sort("timestamp", "basket_id", "item_id")
    )
    with tempfile.TemporaryDirectory() as scratch:
        baskets, items = Path(scratch) / "baskets.parquet", Path(scratch) / "items.parquet"
        pairs.unique(("basket_id", "item_id")).sort("timestamp", "basket_id", "item_id").write_parquet(
            baskets
        )
        frequent.drop("baskets").write_parquet(items)
        known = read_baskets(str(baskets)).baskets
        return known, describe_items(known, read_item_table(str(items)))
