"""The paper's five data sets: their files, readers, and the paper's settings for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from training.baskets import Baskets
from training.errors import DataError
from training.options import KernelKind
from training.reading import ReadingRules, read_baskets


@dataclass(frozen=True)
class Setting:
    """Hyperparameters of a kernel, from the paper's appendix B."""

    rank: int  # K, or D
    alpha: float
    skew_rank: int | None = None  # columns of B and C together: twice the D' of the 2019 NDPP
    batch_size: int = 200


@dataclass(frozen=True)
class DataSet:
    """One of the paper's data sets."""

    title: str
    files: tuple[str, ...]  # the first one found in the folder is read
    read: Callable[[Path], Baskets]
    settings: Mapping[KernelKind, Setting]


def read_lines(path: Path) -> Baskets:
    """One basket per line, ids separated by blanks."""
    return read_baskets(str(path), ReadingRules(format="lines")).baskets


def read_uk_retail(path: Path) -> Baskets:
    """One basket per line; items are numbered in order of their first sale, as in the authors' code.

    This matters for the `published` protocol, which holds out the item with the largest number.
    """
    baskets = read_lines(path)
    rows, first = np.unique(baskets.items, return_index=True)
    number = np.empty(len(rows), dtype=np.int64)
    number[np.argsort(first)] = np.arange(1, len(rows) + 1)
    return replace(baskets, catalogue=tuple(map(str, number)))


def read_instacart(path: Path) -> Baskets:
    """Instacart's `order_products__*.csv`; the paper drops baskets of more than 100 items."""
    columns = {"basket_id": "order_id", "item_id": "product_id"}
    return read_baskets(str(path), ReadingRules(max_basket_size=100, format="csv", columns=columns)).baskets


def read_million_song(path: Path, max_basket_size: int = 150) -> Baskets:
    """The Echo Nest taste profile, lines of `user <tab> song <tab> plays`: a user's songs are one basket."""
    names = ["user", "song", "plays"]
    try:
        # 48 million lines: categoricals keep a number instead of the text of each id.
        pairs = pl.read_csv(
            path,
            separator="\t",
            has_header=False,
            new_columns=names,
            quote_char=None,
            schema_overrides=[pl.Categorical, pl.Categorical, pl.Int64],
        ).select("user", "song")
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"expected lines of user, song and plays, separated by tabs ({reason})", str(path)
        ) from error
    pairs = pairs.unique().filter(pl.len().over("user") <= max_basket_size)
    songs = pairs.group_by("song").len().with_columns(pl.col("song").cast(pl.String).alias("id"))
    songs = songs.sort(["len", "id"], descending=[True, False]).with_row_index("row")
    pairs = pairs.join(songs.select("song", "row"), on="song")
    pairs = pairs.select(pl.col("user").to_physical(), pl.col("row").cast(pl.Int32)).sort(["user", "row"])
    users = pairs["user"].to_numpy()
    starts = np.flatnonzero(np.diff(users.astype(np.int64), prepend=-1))
    offsets = np.append(starts, len(users)).astype(np.int64)
    return Baskets(tuple(songs["id"]), pairs["row"].to_numpy().astype(np.int32), offsets)


DATASETS: dict[str, DataSet] = {
    "amazon_apparel": DataSet(
        "Amazon: apparel",
        ("amazon_apparel.txt.gz", "amazon_apparel.txt", "1_100_100_100_apparel_regs.csv"),
        read_lines,
        {"symmetric": Setting(30, 0), "ndpp2019": Setting(30, 0, 60), "tied": Setting(30, 0, batch_size=800)},
    ),
    "amazon_3category": DataSet(
        "Amazon: 3-category",
        ("amazon_3category.txt.gz", "amazon_3category.txt", "1_100_100_100_apparel-diaper-feeding_regs.csv"),
        read_lines,
        {
            "symmetric": Setting(30, 0),
            "ndpp2019": Setting(30, 0, 200),
            "tied": Setting(100, 1, batch_size=800),
        },
    ),
    "uk_retail": DataSet(
        "UK Retail",
        ("uk_retail.txt.gz", "uk_retail.txt"),
        read_uk_retail,
        {"symmetric": Setting(100, 1), "ndpp2019": Setting(100, 1, 40), "tied": Setting(100, 0.01)},
    ),
    "instacart": DataSet(
        "Instacart",
        # The 49,677 products in the paper are those of the prior orders.
        ("order_products__prior.csv", "order_products__train.csv"),
        read_instacart,
        {"symmetric": Setting(100, 0.001), "tied": Setting(100, 0.001, batch_size=800)},
    ),
    "million_song": DataSet(
        "Million Song",
        ("train_triplets.txt", "train_triplets.txt.gz"),
        read_million_song,
        {"symmetric": Setting(150, 0.0001), "tied": Setting(150, 0.01, batch_size=800)},
    ),
}


def find_datasets(folder: Path) -> dict[str, Path]:
    """The data sets in the folder: name → file."""
    found = {}
    for name, data in DATASETS.items():
        present = [folder / file for file in data.files if (folder / file).is_file()]
        if present:
            found[name] = present[0]
    if not found:
        known = ", ".join(data.files[0] for data in DATASETS.values())
        raise DataError(f"no data set of the paper found: expected one of {known}", str(folder))
    return found
