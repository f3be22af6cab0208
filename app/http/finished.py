"""Answers as finished JSON, which differ between requests in `cart_id` and `took_ms` only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

_CART_ID, _TOOK = b'"cart_id":', b'"took_ms":'


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """The JSON of an answer without the values of `cart_id`, in its cart, and `took_ms`."""

    start: bytes
    middle: bytes
    end: bytes

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Cut the values null and 0.0 out. No text in the JSON has these names: it has no plain quotes."""
        start, rest = text.split(_CART_ID + b"null", 1)
        middle, end = rest.rsplit(_TOOK + b"0.0", 1)
        return cls(start + _CART_ID, middle + _TOOK, end)

    def json(self, cart_id: str | None, took_ms: float) -> bytes:
        """The whole answer."""
        shown = json.dumps(cart_id).encode(), json.dumps(took_ms).encode()
        return b"".join((self.start, shown[0], self.middle, shown[1], self.end))

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.start) + len(self.middle) + len(self.end)
