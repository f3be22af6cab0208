"""Dataclasses of arrays and numbers as safetensors files; large arrays are memory-mapped."""

from __future__ import annotations

import json
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_type_hints

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

Part = TypeVar("Part")

# Truncating a mapped file kills the processes that read it, so arrays up to this size are copied.
_COPIED_BYTES = 1 << 20
_TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "I64": np.int64,
    "I32": np.int32,
    "U16": np.uint16,
    "U8": np.uint8,
}


def write_arrays(part: Any, path: Path) -> None:
    """Write a dataclass whose fields are arrays, numbers or None; None is left out."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    tensors = {name: np.ascontiguousarray(value) for name, value in values.items() if value is not None}
    safetensors.numpy.save_file(tensors, path)


def read_arrays(kind: type[Part], path: Path) -> Part:
    """Read a file of `write_arrays`; a field missing in the file needs a default in `kind`."""
    header, start = _header(path)
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, hint in hints.items():
        if name in header:
            array = _read(path, header[name], start)
            values[name] = hint(array.item()) if hint in (int, float) else array
    return kind(**values)


def read_array(path: Path, name: str) -> NDArray[Any]:
    """Read one array of a safetensors file."""
    header, start = _header(path)
    return _read(path, header[name], start)


def read_header(file: BinaryIO) -> tuple[dict[str, Any], int]:
    """The header of an open safetensors file, and the position from which its offsets count."""
    length = int.from_bytes(file.read(8), "little")
    header: dict[str, Any] = json.loads(file.read(length))
    return header, 8 + length


def is_large(size: int) -> bool:
    """Whether an array of this many bytes is memory-mapped when it is read."""
    return size > _COPIED_BYTES


def _header(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        return read_header(file)


def dtype_of(entry: dict[str, Any]) -> np.dtype[Any]:
    """The type of an array, from its entry in the header; ValueError if no model has arrays of this type."""
    if entry["dtype"] not in _TYPES:
        raise ValueError(f"an array is stored as {entry['dtype']}, expected one of {', '.join(_TYPES)}")
    return np.dtype(_TYPES[entry["dtype"]])


def _read(path: Path, entry: dict[str, Any], start: int) -> NDArray[Any]:
    dtype, shape = dtype_of(entry), tuple(entry["shape"])
    offset = start + entry["data_offsets"][0]
    if is_large(dtype.itemsize * prod(shape)):
        mapped = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)
        return mapped.view(np.ndarray)  # whose methods are faster
    with path.open("rb") as file:
        file.seek(offset)
        array = np.fromfile(file, dtype=dtype, count=prod(shape))
    return array.reshape(shape)
