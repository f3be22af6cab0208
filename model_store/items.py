"""The item table of a model, in the order of the kernel's rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat
from math import isfinite

MAX_ID_LENGTH = 256
MAX_CATEGORY_LENGTH = 256
ID_PATTERN = r"^[^\x00-\x1f\x7f]+$"
_ID = re.compile(ID_PATTERN)

_COLUMNS: dict[str, tuple[str, set[type]]] = {
    # field: (column in items.json, types of its values)
    "ids": ("id", {str}),
    "names": ("name", {str, type(None)}),
    "categories": ("category", {str, type(None)}),
    "prices": ("price", {int, float, type(None)}),
    "in_stock": ("in_stock", {bool, type(None)}),
    "counts": ("count", {int, type(None)}),
}


@dataclass(frozen=True, eq=False)
class Items:
    """Columns with one value per item, None where unknown. An omitted column is all None."""

    ids: tuple[str, ...]
    names: tuple[str | None, ...] = ()
    categories: tuple[str | None, ...] = ()
    prices: tuple[float | None, ...] = ()
    in_stock: tuple[bool | None, ...] = ()
    counts: tuple[int | None, ...] = ()
    _rows: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for attribute, (column, types) in _COLUMNS.items():
            given: Iterable[object] = getattr(self, attribute)
            values = tuple(given) or (None,) * len(self.ids)
            _check_column(column, values, types, len(self.ids))
            object.__setattr__(self, attribute, values)
        object.__setattr__(self, "_rows", {item_id: row for row, item_id in enumerate(self.ids)})
        if len(self._rows) < len(self.ids):
            twice = next(item_id for row, item_id in enumerate(self.ids) if self._rows[item_id] != row)
            raise ValueError(f"item id {twice!r} occurs twice: ids must be unique")
        if not all(isfinite(price) for price in self.prices if price is not None):
            raise ValueError("items column 'price' holds a value that is not finite: use null if unknown")

    def __len__(self) -> int:
        return len(self.ids)

    def row_of(self, item_id: str) -> int | None:
        """The kernel row of an item, None for an unknown item."""
        return self._rows.get(item_id)

    def rows_of_each(self, item_ids: Iterable[str]) -> list[int]:
        """The kernel row of each item, -1 for unknown items."""
        return list(map(self._rows.get, item_ids, repeat(-1)))

    def to_json(self) -> bytes:
        """JSON with one list per column."""
        columns = {column: getattr(self, attribute) for attribute, (column, _) in _COLUMNS.items()}
        return json.dumps(columns, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Items:
        """Parse the output of `to_json`; ValueError names the fault."""
        columns = json.loads(data)
        names = [column for column, _ in _COLUMNS.values()]
        if not isinstance(columns, dict) or not all(isinstance(columns.get(name), list) for name in names):
            raise ValueError(f"it is not an object of the lists {', '.join(names)}")
        return cls(**{attribute: columns[column] for attribute, (column, _) in _COLUMNS.items()})


def item_id_fault(text: str, what: str = "an item id") -> str | None:
    """Why a text is not a valid item id, or an id of another kind, None if it is valid.

    Applies to new data and requests, not to stored models: release 0.1 published any id.
    """
    if not 1 <= len(text) <= MAX_ID_LENGTH:
        return f"{what} has 1 to {MAX_ID_LENGTH} characters"
    if not _ID.fullmatch(text):
        return f"{what} has no control characters, such as tabs and line breaks"
    if text in (".", ".."):
        return f"{what} is neither `.` nor `..`: in an address these mean a folder"
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        return f"{what} is Unicode text; this one has half of a surrogate pair"
    return None


def _check_column(column: str, values: tuple[object, ...], types: set[type], length: int) -> None:
    if len(values) != length:
        raise ValueError(f"items column {column!r} has {len(values)} values for {length} items")
    if strange := set(map(type, values)) - types:
        allowed = " or ".join(sorted("null" if t is type(None) else t.__name__ for t in types))
        raise ValueError(f"items column {column!r} holds {strange.pop().__name__}, expected {allowed}")
