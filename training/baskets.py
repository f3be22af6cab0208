"""Baskets in memory: a flat array of item rows with offsets, and the catalogue of item ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

ItemRows = NDArray[np.int32]
UNKNOWN = -1  # the row of an item that is not in the catalogue
NOBODY = -1  # the number of an unknown shopper


@dataclass(frozen=True, slots=True, eq=False)
class Baskets:
    """n baskets over M items; basket b is `items[offsets[b]:offsets[b + 1]]`, without duplicates."""

    catalogue: tuple[str, ...]  # item ids, most frequent first, ties by id; an item's row is its index here
    items: ItemRows  # (total,)
    offsets: NDArray[np.int64]  # (n + 1,)
    timestamps: NDArray[np.datetime64] | None = None  # (n,)
    keys: NDArray[np.float64] | None = None  # (n,): hash of each basket's id in [0, 1), see `basket_reader`
    shoppers: NDArray[np.int64] | None = None  # (n,): a number for each shopper, NOBODY where unknown

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, basket: int) -> ItemRows:
        return self.items[self.offsets[basket] : self.offsets[basket + 1]]

    def __iter__(self) -> Iterator[ItemRows]:
        return (self[basket] for basket in range(len(self)))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items in each basket, (n,)."""
        return np.diff(self.offsets)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of baskets that hold each item, (M,)."""
        return np.bincount(self.items, minlength=len(self.catalogue))

    def fingerprint(self) -> str:
        """A checksum of the content, independent of the file format."""
        digest = hashlib.sha256("\n".join(self.catalogue).encode())
        digest.update(np.ascontiguousarray(self.items).tobytes())
        digest.update(np.ascontiguousarray(self.offsets).tobytes())
        return digest.hexdigest()

    def select(self, chosen: NDArray[np.int64]) -> Baskets:
        """The baskets with these indices, in that order, over the same catalogue."""
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        positions = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return replace(
            self,
            items=self.items[positions],
            offsets=offsets,
            timestamps=None if self.timestamps is None else self.timestamps[chosen],
            keys=None if self.keys is None else self.keys[chosen],
            shoppers=None if self.shoppers is None else self.shoppers[chosen],
        )


def merge(first: Baskets, second: Baskets) -> Baskets:
    """Concatenate baskets over the same catalogue."""

    def both(name: str) -> Any:
        parts = getattr(first, name), getattr(second, name)
        return None if parts[0] is None or parts[1] is None else np.concatenate(parts)

    offsets = np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]])
    rest = {name: both(name) for name in ("items", "timestamps", "keys", "shoppers")}
    return replace(first, offsets=offsets, **rest)


def rows_in(catalogue: Sequence[str], items: Sequence[str]) -> ItemRows:
    """The row of each item in the catalogue; UNKNOWN if it is not there."""
    rows = {item: row for row, item in enumerate(catalogue)}
    return np.array([rows.get(item, UNKNOWN) for item in items], dtype=np.int32)


def translate(baskets: Baskets, catalogue: Sequence[str]) -> Baskets:
    """The same baskets in the rows of another catalogue, without unknown items and empty baskets."""
    if tuple(catalogue) == baskets.catalogue:
        return baskets
    items = rows_in(catalogue, baskets.catalogue)[baskets.items]
    owner = np.repeat(np.arange(len(baskets)), baskets.sizes)[items != UNKNOWN]
    sizes = np.bincount(owner, minlength=len(baskets))
    kept = np.flatnonzero(sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes[kept])])
    known = items[items != UNKNOWN]
    return replace(baskets.select(kept), catalogue=tuple(catalogue), items=known, offsets=offsets)
