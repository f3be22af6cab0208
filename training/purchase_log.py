"""The purchase log of the service, drained into Parquet files beside the shop's own baskets, exactly once.

The log is a Redis stream. A file is named by the ids of its first and last entry and appears whole, by
renaming: that is the moment of commitment. Draining begins after the last id that any file names, so a crash
before the renaming loses nothing and one after it repeats nothing; trimming the stream is only tidying up.
Should two drains ever overlap, their files hold the same basket ids, which reading counts once.
"""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
from fsspec.implementations.local import LocalFileSystem
from redis import Redis

ENTRIES_AT_ONCE = 20_000  # in one file
FOLDER = "purchases"
_FILE = re.compile(r"purchases_(\d+-\d+)_(\d+-\d+)\.parquet")

Entries = list[tuple[bytes, dict[bytes, bytes]]]


def purchases_folder(data: str) -> str:
    """Where the drained log of some data goes: into its folder, or beside it if it is one file."""
    filesystem, path = fsspec.core.url_to_fs(data)
    folder = str(filesystem._parent(path)) if filesystem.isfile(path) else path.rstrip("/")
    return str(filesystem.unstrip_protocol(f"{folder}/{FOLDER}"))


def drain(client: Redis, stream: str, folder: str) -> int:
    """Move all entries of the stream into files of the folder; returns how many baskets that were."""
    files = _Files(folder)
    last = files.last_id()
    moved = 0
    while True:
        if last is not None:
            client.xtrim(stream, minid=_successor(last), approximate=False)
        entries: Any = client.xrange(stream, min="-" if last is None else f"({last}", count=ENTRIES_AT_ONCE)
        if not entries:
            return moved
        first, last = entries[0][0].decode(), entries[-1][0].decode()
        files.write(f"purchases_{first}_{last}.parquet", _as_parquet(entries))
        moved += len(entries)
        if len(entries) < ENTRIES_AT_ONCE:  # what comes in meanwhile is for the next time
            client.xtrim(stream, minid=_successor(last), approximate=False)
            return moved


def _as_parquet(entries: Entries) -> bytes:
    """Rows of a basket table; the prefix keeps these basket ids apart from the shop's own."""
    rows = [
        (f"purchase:{entry_id.decode()}", str(item_id), int(quantity), int(entry_id.split(b"-")[0]))
        for entry_id, fields in entries
        for item_id, quantity in json.loads(fields[b"lines"])
    ]
    frame = pl.DataFrame(rows, schema=["basket_id", "item_id", "quantity", "timestamp"], orient="row")
    frame = frame.with_columns(pl.from_epoch("timestamp", time_unit="ms"))
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


class _Files:
    """The files of drained purchases, on a disk or behind a URL."""

    def __init__(self, folder: str) -> None:
        self.filesystem, self.path = fsspec.core.url_to_fs(folder, use_listings_cache=False)

    def last_id(self) -> str | None:
        """The greatest id that any file ends with."""
        names = self.filesystem.ls(self.path, detail=False) if self.filesystem.exists(self.path) else []
        found = (_FILE.fullmatch(name.rsplit("/", 1)[-1]) for name in names)
        return max((match[2] for match in found if match), key=_order, default=None)

    def write(self, name: str, content: bytes) -> None:
        """Make a file appear whole and stay, whatever happens to this process or machine."""
        self.filesystem.makedirs(self.path, exist_ok=True)
        if not isinstance(self.filesystem, LocalFileSystem):
            self.filesystem.pipe_file(f"{self.path}/{name}", content)  # an object appears whole or not at all
            return
        folder = Path(self.path)
        temporary = folder / f"{name}.tmp"
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / name)
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, number = entry_id.split("-")
    return int(milliseconds), int(number)


def _successor(entry_id: str) -> str:
    milliseconds, number = _order(entry_id)
    return f"{milliseconds}-{number + 1}"
