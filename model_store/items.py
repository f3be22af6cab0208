"""The item table of a model, in the order of the kernel's rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from model_store.columns import Coded, Numbers, Texts, encoded

MAX_ID_LENGTH = 256
MAX_CATEGORY_LENGTH = 256
ID_PATTERN = r"^[^\x00-\x1f\x7f]+$"
_ID = re.compile(ID_PATTERN)
_NO_STOCK, _NO_COUNT = 2, -1  # where unknown

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
class ItemArrays:
    """The columns as arrays, as `items.safetensors` holds them, and a hash table of the ids.

    The rows whose id has the hash h are `hashed[buckets[h]:buckets[h + 1]]`.
    """

    id_offsets: NDArray[np.int64]  # (M + 1,), see `Texts`
    id_bytes: NDArray[np.uint8]
    buckets: NDArray[np.int32]  # (a power of 2, + 1)
    hashed: NDArray[np.int32]  # (M,)
    name_offsets: NDArray[np.int64]
    name_bytes: NDArray[np.uint8]
    category_codes: NDArray[np.int32]  # (M,), −1 where unknown
    category_offsets: NDArray[np.int64]
    category_bytes: NDArray[np.uint8]
    prices: NDArray[np.float64]  # (M,), NaN where unknown
    in_stock: NDArray[np.uint8]  # (M,): 0, 1, or 2 where unknown
    counts: NDArray[np.int64]  # (M,), −1 where unknown

    @property
    def size(self) -> int:
        """M, the number of items."""
        return len(self.hashed)

    @property
    def ids(self) -> Texts:
        """The ids."""
        return Texts(self.id_offsets, self.id_bytes)

    @property
    def names(self) -> Texts:
        """The names."""
        return Texts(self.name_offsets, self.name_bytes)

    @property
    def categories(self) -> Coded:
        """The categories."""
        return Coded(self.category_codes, Texts(self.category_offsets, self.category_bytes))

    def check(self, size: int) -> None:
        """ValueError unless the arrays are for `size` items and fit together."""
        self.ids.check("item ids")
        self.names.check("item names")
        self.categories.texts.check("categories")
        columns = (self.prices, self.in_stock, self.counts, self.category_codes, self.hashed)
        lengths = {len(self.ids), len(self.names), *(len(column) for column in columns)}
        if lengths != {size}:
            raise ValueError(f"the kernel has {size} items, the columns of items {sorted(lengths)}")
        buckets = self.buckets
        if len(buckets) - 1 != _bucket_count(size) or buckets[0] != 0 or (np.diff(buckets) < 0).any():
            raise ValueError("the hash table of item ids has a wrong size")
        if buckets[-1] != size or not 0 <= self.hashed.min() <= self.hashed.max() < size:
            raise ValueError("the hash table of item ids names rows that do not exist")
        if not -1 <= self.category_codes.min() <= self.category_codes.max() < len(self.category_offsets) - 1:
            raise ValueError("an item has a category that does not exist")


@dataclass(frozen=True, eq=False)
class Items:
    """Columns with one value per item, None where unknown. An omitted column is all None."""

    ids: Sequence[str]
    names: Sequence[str | None] = ()
    categories: Sequence[str | None] = ()
    prices: Sequence[float | None] = ()
    in_stock: Sequence[bool | None] = ()
    counts: Sequence[int | None] = ()
    arrays: ItemArrays = field(init=False, repr=False)
    _texts: Texts = field(init=False, repr=False)  # the ids
    _buckets: memoryview[int] = field(init=False, repr=False)  # faster than the array

    def __post_init__(self) -> None:
        given: dict[str, Any] = {}
        for name, (column, types) in _COLUMNS.items():
            given[name] = tuple(getattr(self, name)) or (None,) * len(self.ids)
            _check_column(column, given[name], types, len(self.ids))
        if not all(isfinite(price) for price in given["prices"] if price is not None):
            raise ValueError("items column 'price' holds a value that is not finite: use null if unknown")
        self._show(_arrays_of(**given))

    @classmethod
    def of(cls, arrays: ItemArrays) -> Self:
        """The items in these arrays."""
        items = cls.__new__(cls)
        items._show(arrays)
        return items

    def _show(self, arrays: ItemArrays) -> None:
        columns = {
            "ids": arrays.ids,
            "names": arrays.names,
            "categories": arrays.categories,
            "prices": Numbers(arrays.prices, np.nan, float),
            "in_stock": Numbers(arrays.in_stock, _NO_STOCK, bool),
            "counts": Numbers(arrays.counts, _NO_COUNT, int),
            "arrays": arrays,
            "_texts": arrays.ids,
            "_buckets": memoryview(arrays.buckets),  # type: ignore[arg-type]
        }
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return self.arrays.size

    def row_of(self, item_id: str) -> int | None:
        """The kernel row of an item, None for an unknown item."""
        text, buckets = encoded(item_id), self._buckets
        place = crc32(text) & (len(buckets) - 2)
        rows: list[int] = self.arrays.hashed[buckets[place] : buckets[place + 1]].tolist()
        return next((row for row in rows if self._texts.encoded(row) == text), None)

    def rows_of_each(self, item_ids: Iterable[str]) -> list[int]:
        """The kernel row of each item, -1 for unknown items."""
        rows = map(self.row_of, item_ids)
        return [-1 if row is None else row for row in rows]

    def to_json(self) -> bytes:
        """JSON with one list per column."""
        columns = {column: list(getattr(self, attribute)) for attribute, (column, _) in _COLUMNS.items()}
        return json.dumps(columns, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Items:
        """Parse the output of `to_json`; ValueError names the fault."""
        columns = json.loads(data)
        names = [column for column, _ in _COLUMNS.values()]
        if not isinstance(columns, dict) or not all(isinstance(columns.get(name), list) for name in names):
            raise ValueError(f"it is not an object of the lists {', '.join(names)}")
        return cls(**{attribute: columns[column] for attribute, (column, _) in _COLUMNS.items()})


def _arrays_of(
    *,
    ids: Sequence[str],
    names: Sequence[str | None],
    categories: Sequence[str | None],
    prices: Sequence[float | None],
    in_stock: Sequence[bool | None],
    counts: Sequence[int | None],
) -> ItemArrays:
    rows = {item_id: row for row, item_id in enumerate(ids)}
    if len(rows) < len(ids):
        twice = next(item_id for row, item_id in enumerate(ids) if rows[item_id] != row)
        raise ValueError(f"item id {twice!r} occurs twice: ids must be unique")
    id_texts, name_texts, category_codes = Texts.of(ids), Texts.of(names), Coded.of(categories)
    buckets, hashed = _hash_table(ids)
    return ItemArrays(
        id_offsets=id_texts.offsets,
        id_bytes=id_texts.data,
        buckets=buckets,
        hashed=hashed,
        name_offsets=name_texts.offsets,
        name_bytes=name_texts.data,
        category_codes=category_codes.codes,
        category_offsets=category_codes.texts.offsets,
        category_bytes=category_codes.texts.data,
        prices=np.array([np.nan if price is None else price for price in prices], dtype=np.float64),
        in_stock=np.array([_NO_STOCK if stock is None else stock for stock in in_stock], dtype=np.uint8),
        counts=np.array([_NO_COUNT if count is None else count for count in counts], dtype=np.int64),
    )


def _bucket_count(size: int) -> int:
    """A power of 2, so that a bucket has about one row."""
    return 1 << max(size - 1, 0).bit_length()


def _hash_table(ids: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """`buckets` and `hashed` of `ItemArrays`."""
    count = _bucket_count(len(ids))
    hashes = np.fromiter((crc32(encoded(item_id)) for item_id in ids), dtype=np.int64, count=len(ids))
    hashes &= count - 1
    order = np.argsort(hashes, kind="stable")
    buckets = np.searchsorted(hashes[order], np.arange(count + 1))
    return buckets.astype(np.int32), order.astype(np.int32)


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
