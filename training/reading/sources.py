"""Data files from a path, a folder or an fsspec URL, decompressed and checked to be UTF-8 text."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath

import fsspec

from training.errors import DataError

FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "lines"}


@dataclass(frozen=True, slots=True)
class Source:
    """One file's name, format ("lines", "csv", "parquet" or "jsonl") and decompressed content."""

    name: str
    format: str
    content: bytes


def read_sources(location: str, file_format: str | None = None) -> list[Source]:
    """The data files at `location`, sorted by name; subfolders are not read."""
    filesystem, path = fsspec.core.url_to_fs(location)
    if not filesystem.exists(path):
        raise DataError("there is no such file or folder", location)
    if not filesystem.isdir(path):
        return [_read(filesystem, path, location, file_format)]
    names = sorted(name for name in filesystem.ls(path, detail=False) if _format_of(name) is not None)
    if not names:
        raise DataError(f"the folder has no data file ({', '.join(FORMATS)}, optionally .gz)", location)
    return [_read(filesystem, name, name, file_format) for name in names]


def has_data(location: str) -> bool:
    """Whether the location is a file, or a folder with a data file."""
    filesystem, path = fsspec.core.url_to_fs(location)
    if not filesystem.isdir(path):
        return bool(filesystem.exists(path))
    return any(_format_of(name) is not None for name in filesystem.ls(path, detail=False))


def _format_of(name: str) -> str | None:
    path = PurePosixPath(name)
    if path.suffix == ".gz":
        path = path.with_suffix("")
    return FORMATS.get(path.suffix.lower())


def _read(filesystem: fsspec.AbstractFileSystem, path: str, name: str, file_format: str | None) -> Source:
    try:
        content: bytes = filesystem.cat_file(path)
    except OSError as error:
        raise DataError(f"the file cannot be read ({error.strerror or error})", name) from error
    if name.endswith(".gz"):
        content = _unpack(content, name)
    chosen = file_format or _format_of(name) or "lines"
    if not content.strip():
        raise DataError("the file is empty", name)
    if chosen != "parquet":
        _check_text(content, name)
    return Source(name, chosen, content)


def _unpack(content: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"the file name ends in .gz, but it is not a complete gzip file ({error}); download it again, or "
            "rename it if it is not compressed",
            name,
        ) from error


def _check_text(content: bytes, name: str) -> None:
    nul = content.find(b"\0")
    try:
        content.decode("utf-8")
        invalid = -1
    except UnicodeDecodeError as error:
        invalid = error.start
    bad = min((position for position in (nul, invalid) if position >= 0), default=-1)
    if bad >= 0:
        line = content.count(b"\n", 0, bad) + 1
        raise DataError(
            f"the file is not UTF-8 text (byte 0x{content[bad]:02x}); is it another format, or compressed?",
            name,
            line,
        )
