"""Columns of a table as arrays, which may be memory-mapped; a value is made when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isnan
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Value_co = TypeVar("Value_co", covariant=True)

NO_TEXT = b"\xff"  # stands for None: no UTF-8 text has this byte


class Column(Sequence[Value_co], Generic[Value_co]):
    """A sequence whose values are made from arrays; equal to another sequence of the same values."""

    @abstractmethod
    def _value(self, row: int) -> Value_co:
        """The value of one row, 0 ≤ row < length."""

    @overload
    def __getitem__(self, row: int) -> Value_co: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[Value_co, ...]: ...
    def __getitem__(self, row: int | slice) -> Value_co | tuple[Value_co, ...]:
        if isinstance(row, slice):
            return tuple(map(self._value, range(*row.indices(len(self)))))
        if not -len(self) <= row < len(self):
            raise IndexError(f"there is no row {row} among {len(self)}")
        return self._value(row % len(self))

    def __iter__(self) -> Iterator[Value_co]:
        return map(self._value, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


class Texts(Column[Any]):  # of str if none is None
    """Texts, or None, in one block of UTF-8: text i is `data[offsets[i]:offsets[i + 1]]`."""

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.offsets, self.data = offsets, data
        self._offsets, self._data = memoryview(offsets), memoryview(data)  # type: ignore[arg-type]  # faster

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Texts:
        """Store texts; half of a surrogate pair, which release 0.1 allowed, is kept."""
        parts = [NO_TEXT if text is None else encoded(text) for text in texts]
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return cls(ends, np.frombuffer(b"".join(parts), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def encoded(self, row: int) -> memoryview:
        """The bytes of a text."""
        return self._data[self._offsets[row] : self._offsets[row + 1]]

    def _value(self, row: int) -> str | None:
        found = self.encoded(row)
        return None if found == NO_TEXT else str(found, "utf-8", "surrogatepass")

    def check(self, what: str) -> None:
        """ValueError unless the offsets fit the bytes."""
        offsets, length = self.offsets, len(self.data)
        if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != length or (np.diff(offsets) < 0).any():
            raise ValueError(f"the offsets of the {what} do not fit their texts")


class Coded(Column[str | None]):
    """Few different texts in many rows: the number of each row's text, −1 for None."""

    def __init__(self, codes: NDArray[np.int32], texts: Texts) -> None:
        self.codes, self.texts = codes, texts

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Coded:
        """Number the texts in the order of appearance."""
        numbers: dict[str, int] = {}
        codes = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in texts]
        return cls(np.array(codes, dtype=np.int32), Texts.of(numbers))

    def __len__(self) -> int:
        return len(self.codes)

    def _value(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.texts[code]


class Numbers(Column[Any]):
    """Numbers, or None, which one value stands for, also NaN."""

    def __init__(self, values: NDArray[Any], unknown: float, kind: Callable[[Any], object]) -> None:
        self.values, self._unknown, self._kind = values, unknown, kind

    def __len__(self) -> int:
        return len(self.values)

    def _value(self, row: int) -> object:
        value = self.values[row].item()
        return None if value == self._unknown or isnan(value) else self._kind(value)


def encoded(text: str) -> bytes:
    """The bytes of a text in `Texts`."""
    return text.encode("utf-8", "surrogatepass")
