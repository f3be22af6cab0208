"""Dataclasses of arrays and numbers as safetensors files; large arrays are memory-mapped, not copied."""

from __future__ import annotations

import json
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

Part = TypeVar("Part")

# A process dies if a file that it has mapped is truncated, so arrays up to this size are copied.
_COPIED_BYTES = 64 << 20
_TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "I64": np.int64,
    "I32": np.int32,
    "U16": np.uint16,
    "U8": np.uint8,
}


def write_arrays(part: Any, path: Path) -> None:
    """Write a dataclass whose fields are arrays, numbers, or None (left out)."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    tensors = {name: np.ascontiguousarray(value) for name, value in values.items() if value is not None}
    safetensors.numpy.save_file(tensors, path)


def read_arrays(kind: type[Part], path: Path) -> Part:
    """Read what `write_arrays` wrote; an array that is missing in the file must be optional in `kind`."""
    header, start = _header(path)
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, hint in hints.items():
        if name in header:
            array = _read(path, header[name], start)
            values[name] = hint(array.item()) if hint in (int, float) else array
    return kind(**values)


def read_array(path: Path, name: str) -> NDArray[Any]:
    """One array of a safetensors file."""
    header, start = _header(path)
    return _read(path, header[name], start)


def _header(path: Path) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(length))
    return header, 8 + length


def _read(path: Path, entry: dict[str, Any], start: int) -> NDArray[Any]:
    if entry["dtype"] not in _TYPES:
        raise ValueError(f"an array is stored as {entry['dtype']}, expected one of {', '.join(_TYPES)}")
    dtype, shape = np.dtype(_TYPES[entry["dtype"]]), tuple(entry["shape"])
    offset = start + entry["data_offsets"][0]
    if dtype.itemsize * prod(shape) > _COPIED_BYTES:
        return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)
    with path.open("rb") as file:
        file.seek(offset)
        array = np.fromfile(file, dtype=dtype, count=prod(shape))
    return array.reshape(shape)
