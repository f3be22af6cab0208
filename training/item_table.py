"""The optional table of items: names, categories, prices and stock for what the baskets only call by id."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from model_store import Items
from model_store.items import MAX_CATEGORY_LENGTH, item_id_fault
from training.baskets import Baskets
from training.errors import DataError, OptionError
from training.evaluation.queries import translate
from training.sources import Source, read_sources
from training.tables import LINE, read_table

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
            f"item '{first['item_id']}' is listed twice (lines {first[LINE]} and {second[LINE]}); keep one",
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
            raise DataError(f"{item_id[:40]!r} cannot be an item_id: {fault}", source.name, line)
    wrong = frame.filter(pl.col("category").str.len_chars() > MAX_CATEGORY_LENGTH)
    if len(wrong):
        message = f"the category '{wrong['category'][0][:40]}…' has over {MAX_CATEGORY_LENGTH} characters"
        raise DataError(message, source.name, wrong[LINE][0])
    prices = frame["price"].cast(pl.Float64, strict=False)
    wrong = frame.filter(
        frame["price"].is_not_null() & ~(prices.is_finite() & (prices >= 0)).fill_null(False)
    )
    if len(wrong):
        raise DataError(
            f"the price '{wrong['price'][0]}' is not a number of zero or more", source.name, wrong[LINE][0]
        )
    lower = pl.col("in_stock").str.to_lowercase()
    wrong = frame.filter(pl.col("in_stock").is_not_null() & ~lower.is_in(_YES + _NO))
    if len(wrong):
        message = f"in_stock is '{wrong['in_stock'][0]}', not one of {', '.join(_YES + _NO)}"
        raise DataError(message, source.name, wrong[LINE][0])
    stock = pl.when(pl.col("in_stock").is_not_null()).then(lower.is_in(_YES))
    return frame.select(LINE, "item_id", "name", "category", prices.alias("price"), stock.alias("in_stock"))


def keep_listed(baskets: Baskets, table: pl.DataFrame | None) -> Baskets:
    """The baskets without the items that the table does not list."""
    if table is None:
        raise OptionError("--only-listed-items needs an item table: name it with --items")
    listed = set(table["item_id"])
    kept = translate(baskets, [item for item in baskets.catalogue if item in listed])
    if len(kept) == 0:
        raise OptionError(
            "--only-listed-items leaves no basket: the item table lists no item that was bought"
        )
    return kept


def describe_items(baskets: Baskets, table: pl.DataFrame | None) -> Items:
    """What the model store keeps about every item of the catalogue, in its order."""
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
