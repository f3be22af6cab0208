"""Drain the service's purchase log, a Redis stream, into Parquet files, exactly once.

A file is committed by renaming it. Entries are deleted from the stream only after that, and every drain
starts at the oldest entry and skips entries that are already in a file. So a crash before the renaming loses
nothing, and a crash after it repeats nothing.

Entry ids are timestamps: two Redis servers can produce the same ids, and a server whose clock was set back
can produce smaller ids than before. Each server therefore keeps a random name, its origin, which is part of
the file names and basket ids, so that entries of different servers are never confused.

An entry that is not a purchase stays in the stream, with a warning: nothing is lost, and no job fails.
"""

from __future__ import annotations

import io
import logging
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import fsspec
import polars as pl
from fsspec.implementations.local import LocalFileSystem
from pydantic import Field, TypeAdapter, ValidationError
from redis import Redis

_log = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 20_000  # per file
FOLDER = "purchases"
ORIGIN = "tripod:origin"  # the key that holds a server's origin
_FILE = re.compile(r"purchases_(?:([0-9a-f]+)_)?(\d+-\d+)_(\d+-\d+)\.parquet")  # release 0.1: no origin

_NAMED = 5  # entry ids listed in a warning

Id = tuple[int, int]
Line = tuple[Annotated[str, Field(min_length=1)], Annotated[int, Field(ge=-(2**63), lt=2**63)]]
_LINES = TypeAdapter(list[Line])


@dataclass(frozen=True)
class _Purchase:
    """An entry of the stream."""

    entry: str
    lines: list[Line]  # item and quantity

    @classmethod
    def of(cls, entry_id: bytes, fields: dict[bytes, bytes]) -> _Purchase | None:
        """Parse an entry; None if it is not a purchase."""
        try:
            return cls(entry_id.decode(), _LINES.validate_json(fields.get(b"lines", b"")))
        except ValidationError:
            return None


def purchases_folder(data: str) -> str:
    """The folder of the drained purchases: inside the data folder, or next to a single data file."""
    filesystem, path = fsspec.core.url_to_fs(data)
    folder = str(filesystem._parent(path)) if filesystem.isfile(path) else path.rstrip("/")
    return str(filesystem.unstrip_protocol(f"{folder}/{FOLDER}"))


def drain(client: Redis, stream: str, folder: str) -> int:
    """Move all purchases from the stream to files in the folder; returns the number of new purchases."""
    client.set(ORIGIN, secrets.token_hex(6), nx=True)
    kept: Any = client.get(ORIGIN)
    origin = kept.decode()
    files = _Files(folder)
    moved, unreadable = 0, list[str]()
    entries: Any = client.xrange(stream, count=ENTRIES_AT_ONCE)
    while entries:
        read = {entry_id: _Purchase.of(entry_id, fields) for entry_id, fields in entries}
        unreadable += [entry_id.decode() for entry_id, purchase in read.items() if purchase is None]
        moved += _move(client, stream, files, [purchase for purchase in read.values() if purchase], origin)
        if len(entries) < ENTRIES_AT_ONCE:  # entries added in the meantime wait for the next drain
            break
        entries = client.xrange(stream, min=f"({entries[-1][0].decode()}", count=ENTRIES_AT_ONCE)
    if unreadable:
        _log.warning(
            "%d entries of the stream %s are not purchases and stay there (XRANGE shows them, XDEL removes "
            "them); the first ids: %s",
            len(unreadable),
            stream,
            ", ".join(unreadable[:_NAMED]),
        )
    return moved


def _move(client: Redis, stream: str, files: _Files, purchases: list[_Purchase], origin: str) -> int:
    """Move purchases, in order, from the stream to one file; returns the number of new purchases."""
    if not purchases:
        return 0
    known = files.baskets(origin, _order(purchases[0].entry), _order(purchases[-1].entry))
    new = [purchase for purchase in purchases if not _is_known(purchase, origin, known)]
    if new:
        name = f"purchases_{origin}_{new[0].entry}_{new[-1].entry}.parquet"
        files.write(name, _as_parquet(new, origin))
    client.xdel(stream, *(purchase.entry for purchase in purchases))
    return len(new)


def _basket_id(purchase: _Purchase, origin: str) -> str:
    """The basket id; the prefix separates it from the ids in the shop's own data."""
    return f"purchase:{origin}:{purchase.entry}"


def _is_known(purchase: _Purchase, origin: str, known: dict[str, set[str]]) -> bool:
    """Whether it is in a file; files of release 0.1 do not name the server, so the items must match too."""
    items = {item for item, _ in purchase.lines}
    return _basket_id(purchase, origin) in known or known.get(f"purchase:{purchase.entry}") == items


def _as_parquet(purchases: list[_Purchase], origin: str) -> bytes:
    """The purchases as a basket table."""
    rows = [
        (_basket_id(purchase, origin), item, quantity, _order(purchase.entry)[0])
        for purchase in purchases
        for item, quantity in purchase.lines
    ]
    schema = {"basket_id": pl.String, "item_id": pl.String, "quantity": pl.Int64, "timestamp": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = frame.with_columns(pl.from_epoch("timestamp", time_unit="ms"))
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


class _Files:
    """The files of drained purchases, in a local folder or at a URL."""

    def __init__(self, folder: str) -> None:
        self.filesystem, self.path = fsspec.core.url_to_fs(folder, use_listings_cache=False)

    def baskets(self, origin: str, first: Id, last: Id) -> dict[str, set[str]]:
        """Baskets with their items from all files that may hold entries of this origin from first to last."""
        found: dict[str, set[str]] = {}
        for path in self._files(origin, first, last):
            table = pl.read_parquet(io.BytesIO(self.filesystem.cat_file(path)))
            for basket, items in table.group_by("basket_id").agg("item_id").iter_rows():
                found[basket] = set(items)
        return found

    def _files(self, origin: str, first: Id, last: Id) -> Iterator[str]:
        names = self.filesystem.ls(self.path, detail=False) if self.filesystem.exists(self.path) else []
        for path in names:
            match = _FILE.fullmatch(path.rsplit("/", 1)[-1])
            if (
                match
                and match[1] in (None, origin)
                and _order(match[2]) <= last
                and first <= _order(match[3])
            ):
                yield path

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically and durably."""
        self.filesystem.makedirs(self.path, exist_ok=True)
        if not isinstance(self.filesystem, LocalFileSystem):
            self.filesystem.pipe_file(f"{self.path}/{name}", content)  # object stores write atomically
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


def _order(entry_id: str) -> Id:
    milliseconds, number = entry_id.split("-")
    return int(milliseconds), int(number)
