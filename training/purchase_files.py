"""The Parquet files of drained purchases, in a local folder or at a URL.

The name of a file has the origin of its purchases and the first and last entry of the log that it may hold.
Files of release 0.1 have no origin; those of releases before 0.3 have no column `shopper`. A file is changed
by replacing it as a whole, so a crash leaves either the old or the new one.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
from fsspec.implementations.local import LocalFileSystem

FOLDER = "purchases"
_FILE = re.compile(r"purchases_(?:([0-9a-f]+)_)?(\d+-\d+)_(\d+-\d+)\.parquet")
_UNFINISHED = ".tmp"
_SCHEMA = {
    "basket_id": pl.String,
    "item_id": pl.String,
    "quantity": pl.Int64,
    "timestamp": pl.Int64,  # in milliseconds; written as a time
    "shopper": pl.String,  # a hash
}

EntryId = tuple[int, int]
Line = tuple[str, int]  # item and quantity


@dataclass(frozen=True)
class Basket:
    """A purchase as it is written to a file."""

    basket_id: str
    entry: str  # of the log
    lines: Sequence[Line]
    timestamp: int  # milliseconds since 1970
    shopper: str | None


@dataclass(frozen=True)
class CorrectedBasket:
    """The new lines of a basket that may be in a file; without lines it is removed."""

    basket_id: str
    entry: str  # of the purchase
    lines: Sequence[Line]


@dataclass(frozen=True)
class _File:
    path: str
    origin: str | None
    first: EntryId
    last: EntryId

    def may_hold(self, origin: str, first: EntryId, last: EntryId) -> bool:
        """Whether it may hold entries of this origin from first to last."""
        return self.origin in (None, origin) and self.first <= last and first <= self.last


def purchases_folder(data: str) -> str:
    """The folder of the drained purchases: inside the data folder, or next to a single data file."""
    filesystem, path = fsspec.core.url_to_fs(data)
    folder = str(filesystem._parent(path)) if filesystem.isfile(path) else path.rstrip("/")
    return str(filesystem.unstrip_protocol(f"{folder}/{FOLDER}"))


def entry_order(entry: str) -> EntryId:
    """The id of an entry as numbers, which are in the order of the log."""
    milliseconds, number = entry.split("-")
    return int(milliseconds), int(number)


class PurchaseFiles:
    """Reads, writes and corrects the files."""

    def __init__(self, folder: str) -> None:
        self._filesystem, self._path = fsspec.core.url_to_fs(folder, use_listings_cache=False)
        self._local = isinstance(self._filesystem, LocalFileSystem)

    def baskets(self, origin: str, first: EntryId, last: EntryId) -> dict[str, set[str]]:
        """Baskets with their items from all files that may hold entries of this origin from first to last."""
        found: dict[str, set[str]] = {}
        for file in self._files():
            if file.may_hold(origin, first, last):
                for basket, items in self._read(file).group_by("basket_id").agg("item_id").iter_rows():
                    found[basket] = set(items)
        return found

    def add(self, origin: str, baskets: Sequence[Basket]) -> None:
        """Write baskets, in the order of the log, to a new file."""
        rows = [
            (basket.basket_id, item, quantity, basket.timestamp, basket.shopper)
            for basket in baskets
            for item, quantity in basket.lines
        ]
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        frame = frame.with_columns(pl.from_epoch("timestamp", time_unit="ms"))
        self._write(f"purchases_{origin}_{baskets[0].entry}_{baskets[-1].entry}.parquet", frame)

    def change(self, origin: str, corrections: Iterable[CorrectedBasket], forgotten: Iterable[str]) -> None:
        """Correct baskets of this origin and remove those of forgotten shoppers. It may be repeated.

        Other servers may drain to the same folder: a shopper is forgotten in their files, too.
        """
        given, shoppers = list(corrections), list(forgotten)
        if not given and not shoppers:
            return
        for file in list(self._files()):
            lines = {
                basket.basket_id: basket.lines
                for basket in given
                if file.may_hold(origin, entry_order(basket.entry), entry_order(basket.entry))
            }
            if lines or shoppers:
                table = self._read(file)
                changed = _corrected(_without(table, shoppers), lines)
                if changed.is_empty():
                    self._remove(file)
                elif not changed.equals(table):
                    self._write(file.path.rsplit("/", 1)[-1], changed)

    def remove_unfinished(self) -> None:
        """Remove what a killed process has left behind."""
        for path in Path(self._path).glob(f"purchases_*{_UNFINISHED}") if self._local else ():
            path.unlink()

    def _files(self) -> Iterator[_File]:
        found = self._filesystem.ls(self._path, detail=False) if self._filesystem.exists(self._path) else []
        for path in sorted(found):
            if match := _FILE.fullmatch(path.rsplit("/", 1)[-1]):
                yield _File(path, match[1], entry_order(match[2]), entry_order(match[3]))

    def _read(self, file: _File) -> pl.DataFrame:
        return pl.read_parquet(io.BytesIO(self._filesystem.cat_file(file.path)))

    def _write(self, name: str, table: pl.DataFrame) -> None:
        """Write a file atomically and durably."""
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        self._filesystem.makedirs(self._path, exist_ok=True)
        if not self._local:
            self._filesystem.pipe_file(f"{self._path}/{name}", buffer.getvalue())  # object stores are atomic
            return
        temporary = Path(self._path) / f"{name}{_UNFINISHED}"
        with temporary.open("wb") as file:
            file.write(buffer.getvalue())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(Path(self._path) / name)
        self._sync_folder()

    def _remove(self, file: _File) -> None:
        self._filesystem.rm_file(file.path)
        if self._local:
            self._sync_folder()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _without(table: pl.DataFrame, shoppers: Sequence[str]) -> pl.DataFrame:
    if not shoppers or "shopper" not in table.columns:
        return table
    return table.filter(pl.col("shopper").is_null() | ~pl.col("shopper").is_in(shoppers))


def _corrected(table: pl.DataFrame, lines: Mapping[str, Sequence[Line]]) -> pl.DataFrame:
    """The table with other lines in some of its baskets."""
    if table.filter(pl.col("basket_id").is_in(list(lines))).is_empty():
        return table
    rows, done = list[dict[str, Any]](), set[str]()
    for row in table.iter_rows(named=True):
        basket = row["basket_id"]
        if basket not in lines:
            rows.append(row)
        elif basket not in done:
            done.add(basket)
            rows += [{**row, "item_id": item, "quantity": quantity} for item, quantity in lines[basket]]
    return pl.DataFrame(rows, schema=table.schema)
