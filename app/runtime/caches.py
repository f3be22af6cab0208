"""LRU caches bounded by bytes."""

from __future__ import annotations

from collections.abc import Hashable
from operator import itemgetter
from threading import Lock
from typing import Any

from cachetools import LRUCache

_ENTRY = 1_000  # bytes of an entry and its key


class ByteCache:
    """The values used last, as many as fit into `most_bytes` by the estimates of their sizes.

    It may be used from several threads. Copy a value before changing it.
    """

    def __init__(self, most_bytes: int) -> None:
        self._entries: LRUCache[Hashable, tuple[int, Any]] = LRUCache(most_bytes, getsizeof=itemgetter(0))
        self._lock = Lock()

    def get(self, key: Hashable) -> Any:
        """The value, None if there is none."""
        with self._lock:
            entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def put(self, key: Hashable, value: object, size: int) -> None:
        """Keep a value of `size` bytes, unless it alone is too large."""
        size += _ENTRY
        if size <= self._entries.maxsize:
            with self._lock:
                self._entries[key] = size, value

    def drop(self, key: Hashable) -> None:
        """Forget a value."""
        with self._lock:
            self._entries.pop(key, None)

    @property
    def bytes(self) -> int:
        """The estimated size of all entries."""
        return int(self._entries.currsize)

    def __len__(self) -> int:
        return len(self._entries)
