"""The optional item table: name, category, price and stock of each item id."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from model_store import Items
from model_store.items import MAX_CATEGORY_LENGTH, item_id_fault
from training.baskets import Baskets, translate
from training.errors import DataError, OptionError
from training.reading.sources import Source, read_sources
from training.reading.tables import LINE, read_table

_OPTIONAL = ("name", "category", "price", "in_stock")
ITEM_COLUMNS = ("item_id", *_OPTIONAL)
_YES, _NO = ["true", "1", "yes", "y", "t"], ["false", "0", "no", "n", "f"]


def read_item_table(location: str, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Columns item_id, name, category (text), price (float), in_stock (bool); null where unknown."""
    frames = [_read(source, columns or {}) for source in read_sources(location)]
    table = pl.concat(frames)
    twice = table.filter(pl.col("item_id").is_duplicated()).sort("item_id")
    if len(twice):
        first, second = twice.row(0, named=True), twice.row(1, named=True)
        raise DataError(
            f"item '{first['item_id']}' is listed twice (lines {first[LINE]} and {second[LINE]}); remove one",
            location,
        )
    return table.drop(LINE)


def _read(source: Source, columns: Mapping[str, str]) -> pl.DataFrame:
    frame = read_table(source, ("item_id",), _OPTIONAL, columns)
    frame = frame.with_columns(
        pl.lit(None, pl.String).alias(name) for name in _OPTIONAL if name not in frame.columns
    )
    missing = frame.filter(pl.col("item_id").is_null())
    if len(missing):
        raise DataError("the row has no item_id", source.name, missing[LINE][0])
    for item_id, line in frame.select("item_id", LINE).iter_rows():
        if fault := item_id_fault(item_id):
            raise DataError(f"{item_id[:40]!r} is not a valid item_id: {fault}", source.name, line)
    wrong = frame.filter(pl.col("category").str.len_chars() > MAX_CATEGORY_LENGTH)
    if len(wrong):
        message = f"the category '{wrong['category'][0][:40]}…' has over {MAX_CATEGORY_LENGTH} characters"
        raise DataError(message, source.name, wrong[LINE][0])
    prices = frame["price"].cast(pl.Float64, strict=False)
    wrong = frame.filter(
        frame["price"].is_not_null() & ~(prices.is_finite() & (prices >= 0)).fill_null(False)
    )
    if len(wrong):
        raise DataError(f"the price '{wrong['price'][0]}' is not a number ≥ 0", source.name, wrong[LINE][0])
    lower = pl.col("in_stock").str.to_lowercase()
    wrong = frame.filter(pl.col("in_stock").is_not_null() & ~lower.is_in(_YES + _NO))
    if len(wrong):
        message = f"in_stock is '{wrong['in_stock'][0]}', not one of {', '.join(_YES + _NO)}"
        raise DataError(message, source.name, wrong[LINE][0])
    stock = pl.when(pl.col("in_stock").is_not_null()).then(lower.is_in(_YES))
    return frame.select(LINE, "item_id", "name", "category", prices.alias("price"), stock.alias("in_stock"))


def keep_listed(baskets: Baskets, table: pl.DataFrame | None) -> Baskets:
    """The baskets without items that are missing from the item table."""
    if table is None:
        raise OptionError("--only-listed-items needs an item table: give one with --items")
    listed = set(table["item_id"])
    kept = translate(baskets, [item for item in baskets.catalogue if item in listed])
    if len(kept) == 0:
        raise OptionError(
            "--only-listed-items drops all baskets: no item of the baskets is in the item table"
        )
    return kept


def describe_items(baskets: Baskets, table: pl.DataFrame | None) -> Items:
    """The items of the catalogue, in its order, as the model store keeps them."""
    frame = pl.DataFrame({"item_id": baskets.catalogue}, schema={"item_id": pl.String})
    if table is None:
        return Items(ids=baskets.catalogue, counts=tuple(baskets.counts.tolist()))
    frame = frame.join(table, on="item_id", how="left", maintain_order="left")
    return Items(
        ids=baskets.catalogue,
        names=tuple(frame["name"]),
        categories=tuple(frame["category"]),
        prices=tuple(frame["price"]),
        in_stock=tuple(frame["in_stock"]),
        counts=tuple(baskets.counts.tolist()),
    )
