"""Read baskets from any source, drop what the rules exclude, and count what was dropped.

Each basket gets a key that stays the same when data is added or reordered: a hash of its id in a table, or of
its contents in a file with one basket per line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from model_store.items import item_id_fault
from training.baskets import Baskets
from training.errors import DataError
from training.reading.shoppers import SHOPPER, ShopperRules, holds_hashes, numbered
from training.reading.sources import Source, read_sources
from training.reading.tables import LINE, read_basket_lines, read_table

_TIME_PATTERNS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d")  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """Rules for reading baskets; the defaults are those of the paper."""

    max_basket_size: int = 100
    min_item_count: int = 1
    format: str | None = None  # None: by the file name's suffix
    columns: Mapping[str, str] = field(default_factory=dict)  # our column name → the file's


@dataclass(frozen=True, slots=True)
class Dropped:
    """Counts of what was dropped, by reason."""

    rows_without_quantity: int = 0  # quantity of zero or less
    rows_with_unusable_ids: int = 0  # too long, with control characters, `.` or `..`
    duplicate_rows: int = 0  # the same item again in one basket
    oversize_baskets: int = 0  # more items than max_basket_size
    rare_items: int = 0  # in fewer baskets than min_item_count
    emptied_baskets: int = 0  # without items after the rules above
    unclear_shoppers: int = 0  # of baskets that name several: read without a shopper

    def as_dict(self) -> dict[str, int]:
        """The counts by reason."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class BasketData:
    """Baskets as read from a source, and counts of what was dropped."""

    baskets: Baskets
    dropped: Dropped
    basket_ids: tuple[str, ...] = ()
    shopper_hashes: tuple[str, ...] = ()  # by the number in `Baskets.shoppers`


def read_baskets(
    location: str,
    rules: ReadingRules | None = None,
    *,
    purchases: str | None = None,
    shoppers: ShopperRules | None = None,
) -> BasketData:
    """All baskets at `location` (a file, a folder or a URL), in order of first appearance.

    `purchases` is the folder of the drained purchase log; its baskets come last and use our column names.
    """
    rules, shoppers = rules or ReadingRules(), shoppers or ShopperRules()
    frames = [_pairs(source, rules.columns, shoppers) for source in read_sources(location, rules.format)]
    if purchases is not None:
        frames += [_pairs(source, {}, shoppers) for source in read_sources(purchases)]
    pairs = shoppers.without_forgotten(_with_ids(pl.concat(frames, how="diagonal")))
    if pairs.is_empty():
        raise DataError("there is no basket with an item in it", location)
    data = _apply_rules(pairs, rules)
    if len(data.baskets) == 0:
        raise DataError(
            f"the reading rules drop all baskets; dropped: {data.dropped.as_dict()}; relax --max-basket-size "
            "or --min-item-count",
            location,
        )
    return data


def _pairs(source: Source, columns: Mapping[str, str], shoppers: ShopperRules) -> pl.DataFrame:
    """The rows of one source: basket, item, timestamp, quantity, shopper; `first` begins a line's rows."""
    if source.format == "lines":
        frame = read_basket_lines(source)
        contents = frame["items"].list.unique().list.sort().list.join(" ")
        digests = pl.Series([_digest(text).hex() for text in contents], dtype=pl.String)
        rows = frame.with_columns(basket=digests).explode("items")
        first = pl.col(LINE) != pl.col(LINE).shift(1)
        return rows.select("basket", item="items", first=first.fill_null(True))
    optional = ("timestamp", "quantity", "shopper_id", SHOPPER)
    frame = read_table(source, ("basket_id", "item_id"), optional, columns)
    _refuse_missing(frame, source)
    chosen = [pl.col("basket_id").alias("basket"), pl.col("item_id").alias("item")]
    if "quantity" in frame.columns:
        chosen.append(_numbers(frame, "quantity", source).alias("quantity"))
    if "timestamp" in frame.columns:
        chosen.append(_times(frame, source).alias("timestamp"))
    if "shopper_id" in frame.columns:
        chosen.append(pl.lit(shoppers.hashed(frame["shopper_id"])))
    elif SHOPPER in frame.columns and holds_hashes(frame[SHOPPER]):
        chosen.append(pl.col(SHOPPER))
    return frame.select(chosen)


def _with_ids(pairs: pl.DataFrame) -> pl.DataFrame:
    """The id of a basket in a line file: its contents and a number among equal baskets.

    Without the number, equal baskets would be merged; line numbers would change with every re-export.
    """
    if "first" not in pairs.columns:
        return pairs
    number = pl.col("first").cum_sum().over("basket")
    lines = pl.col("first").is_not_null()
    return pairs.with_columns(
        pl.when(lines).then(pl.format("{}:{}", "basket", number)).otherwise("basket").alias("basket")
    )


def _refuse_missing(frame: pl.DataFrame, source: Source) -> None:
    for name in ("basket_id", "item_id"):
        missing = frame.filter(pl.col(name).is_null())
        if len(missing):
            raise DataError(f"the row has no {name}", source.name, missing[LINE][0])


def _numbers(frame: pl.DataFrame, name: str, source: Source) -> pl.Expr:
    numbers = frame[name].cast(pl.Float64, strict=False)
    wrong = frame.filter(frame[name].is_not_null() & ~numbers.is_finite().fill_null(False))
    if len(wrong):
        raise DataError(f"the {name} '{wrong[name][0]}' is not a number", source.name, wrong[LINE][0])
    return pl.lit(numbers)


def _times(frame: pl.DataFrame, source: Source) -> pl.Expr:
    column = frame["timestamp"]
    if column.dtype.is_temporal():
        return pl.lit(column.cast(pl.Datetime("us")))
    text = column.str.replace(" ", "T").str.strip_suffix("Z")
    seconds = pl.from_epoch(column.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False), "s")
    parsed = seconds.cast(pl.Datetime("us"))
    for pattern in _TIME_PATTERNS:
        parsed = parsed.fill_null(text.str.to_datetime(pattern, time_unit="us", strict=False))
    with_zone = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False)
    parsed = parsed.fill_null(with_zone.dt.convert_time_zone("UTC").dt.replace_time_zone(None))
    wrong = frame.filter(column.is_not_null() & parsed.is_null())
    if len(wrong):
        raise DataError(
            f"the timestamp '{wrong['timestamp'][0]}' is neither ISO 8601 nor seconds since 1970",
            source.name,
            wrong[LINE][0],
        )
    return pl.lit(parsed)


def _apply_rules(pairs: pl.DataFrame, rules: ReadingRules) -> BasketData:
    read = len(pairs)
    if "quantity" in pairs.columns:
        pairs = pairs.filter(pl.col("quantity").fill_null(1) > 0)
    with_quantity = len(pairs)
    # Integer codes instead of strings: a sort of 64-bit keys then finds the duplicates.
    ids, code = _coded(pairs["item"])
    usable = np.fromiter((item_id_fault(item) is None for item in ids), dtype=np.bool_, count=len(ids))
    if not usable.all():
        pairs, code = pairs.filter(usable[code]), code[usable[code]]
    baskets, number = _coded(pairs["basket"])
    timestamps = _timestamps(pairs, number)
    no_shoppers = None, tuple[str, ...](), 0
    shoppers, hashes, unclear = numbered(pairs, number) if SHOPPER in pairs.columns else no_shoppers
    number, code = _sorted_unique(number, code, len(ids))
    duplicates = len(pairs) - len(number)

    sizes = np.bincount(number, minlength=len(baskets))
    fits = (sizes <= rules.max_basket_size)[number]
    number, code = number[fits], code[fits]

    counts = np.bincount(code, minlength=len(ids))
    items = pl.DataFrame({"item": ids, "count": counts, "code": np.arange(len(ids))})
    kept_items = items.filter(pl.col("count") >= max(rules.min_item_count, 1))
    kept_items = kept_items.sort(["count", "item"], descending=[True, False])
    row_of = np.full(len(items), -1)
    row_of[kept_items["code"].to_numpy()] = np.arange(len(kept_items))
    rows = row_of[code]
    number, rows = _sorted_unique(number[rows >= 0], rows[rows >= 0], max(len(kept_items), 1))

    oversize = int((sizes > rules.max_basket_size).sum())
    kept_baskets = np.unique(number)
    dropped = Dropped(
        rows_without_quantity=read - with_quantity,
        rows_with_unusable_ids=with_quantity - len(pairs),
        duplicate_rows=duplicates,
        oversize_baskets=oversize,
        rare_items=int(((counts > 0) & (counts < rules.min_item_count)).sum()),
        emptied_baskets=len(baskets) - oversize - len(kept_baskets),
        unclear_shoppers=unclear,
    )
    return BasketData(
        Baskets(
            catalogue=tuple(kept_items["item"].to_list()),
            items=rows.astype(np.int32),
            offsets=np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(number)).astype(np.int64),
            timestamps=None if timestamps is None else timestamps[kept_baskets],
            keys=_keys(baskets.gather(kept_baskets)),
            shoppers=None if shoppers is None else shoppers[kept_baskets],
        ),
        dropped,
        tuple(baskets.gather(kept_baskets)),
        hashes,
    )


def _coded(texts: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
    """The distinct texts in order of appearance, and the index of each text among them."""
    run = texts.rle_id().to_numpy()  # rows of a basket are mostly adjacent: look up each run only once
    heads = texts.gather(np.flatnonzero(np.diff(run.astype(np.int64), prepend=-1)))
    distinct = heads.unique(maintain_order=True)
    numbers = pl.DataFrame({"text": distinct, "number": np.arange(len(distinct))})
    found = heads.alias("text").to_frame().join(numbers, on="text", how="left", maintain_order="left")
    return distinct, found["number"].to_numpy()[run]


def _sorted_unique(
    number: NDArray[np.int64], code: NDArray[np.int64], codes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct (number, code) pairs, sorted."""
    keys = np.sort(number * codes + code)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return keys // codes, keys % codes


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


def _keys(ids: pl.Series) -> NDArray[np.float64]:
    """The first 53 bits of each id's hash, the precision of a float, as a fraction in [0, 1)."""
    hashes = np.frombuffer(b"".join(_digest(text) for text in ids), dtype=">u8")
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _timestamps(pairs: pl.DataFrame, number: NDArray[np.int64]) -> NDArray[np.datetime64] | None:
    """The latest timestamp of each basket's rows; None unless every row has one."""
    if "timestamp" not in pairs.columns or pairs["timestamp"].has_nulls():
        return None
    latest = pairs.select("timestamp", number=number).group_by("number").max().sort("number")
    return latest["timestamp"].to_numpy().astype("datetime64[us]")
