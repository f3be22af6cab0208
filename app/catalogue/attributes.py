"""Columns of values that conditions ask for: the built-in fields of items and the shop's own attributes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.catalogue.categories import LEVELS, Categories
from app.catalogue.records import Attribute
from ndpp.kernel import Indices, Vector

Mask = NDArray[np.bool_]
Value = str | float | bool
BUILT_IN = ("id", "name", "category", "price", "in_stock", "parent_id")
KINDS = {str: "a text", float: "a number", bool: "true or false"}


@dataclass(frozen=True, eq=False)
class Texts:
    """The rows that have each text. Upper and lower case are the same."""

    _numbers: Mapping[str, int]
    _starts: Indices  # the rows of text number n are _rows[_starts[n]:_starts[n + 1]]
    _rows: NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, str]]) -> Texts:
        """The texts of rows, of which each may have several."""
        numbers: dict[str, int] = {}
        rows, codes = array("i"), array("i")
        for row, text in pairs:
            rows.append(row)
            codes.append(numbers.setdefault(text.casefold(), len(numbers)))
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(np.asarray(codes)[order], np.arange(len(numbers) + 1))
        return cls(numbers, starts, np.asarray(rows)[order])

    def __contains__(self, text: str) -> bool:
        return text.casefold() in self._numbers

    def rows(self, text: str) -> NDArray[np.int32]:
        """The rows with a text."""
        number = self._numbers.get(text.casefold())
        return (
            self._rows[:0] if number is None else self._rows[self._starts[number] : self._starts[number + 1]]
        )


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one field by type; None: no row has a value of this type. Attributes may have several."""

    present: Mask  # (size,): whether there is a value
    texts: Texts | None = None
    numbers: Vector | None = None  # (size,), NaN where there is no number
    booleans: NDArray[np.int8] | None = None  # (size,), 1 for true, 0 for false, −1 where there is neither

    @classmethod
    def of_texts(cls, texts: Sequence[str | None]) -> Column:
        """A column of one text in each row, or none."""
        pairs = ((row, text) for row, text in enumerate(texts) if text is not None)
        return cls(np.array([text is not None for text in texts], dtype=np.bool_), texts=Texts.of(pairs))

    @classmethod
    def of_attribute(cls, size: int, values: Iterable[tuple[int, object]]) -> Column:
        """A column of the values of rows. What is neither text, number, boolean nor list is no value."""
        pairs: list[tuple[int, str]] = []
        numbers: dict[int, float] = {}
        booleans: dict[int, bool] = {}
        lists: list[int] = []  # their rows: an empty list is a value too
        for row, value in values:
            if isinstance(value, str):
                pairs.append((row, value))
            elif isinstance(value, bool):
                booleans[row] = value
            elif isinstance(value, list):
                lists.append(row)
                pairs += [(row, member) for member in value if isinstance(member, str)]
            elif (number := finite(value)) is not None:
                numbers[row] = number
        present = np.zeros(size, dtype=np.bool_)
        present[[row for row, _ in pairs] + lists + list(numbers) + list(booleans)] = True
        return cls(
            present,
            texts=Texts.of(pairs) if pairs or lists else None,
            numbers=_filled(np.full(size, np.nan), numbers) if numbers else None,
            booleans=_filled(np.full(size, -1, dtype=np.int8), booleans) if booleans else None,
        )

    def allows(self, kind: type) -> bool:
        """Whether there may be values of a type: str, float or bool."""
        return {str: self.texts, float: self.numbers, bool: self.booleans}[kind] is not None

    def kinds(self) -> str:
        """The types of the values in words."""
        return " or ".join(word for kind, word in KINDS.items() if self.allows(kind))

    def equal(self, values: Sequence[Value]) -> Mask:
        """Which rows have one of the values; a list has each of its members."""
        found = np.zeros(len(self.present), dtype=np.bool_)
        for value in values:
            if isinstance(value, str) and self.texts is not None:
                found[self.texts.rows(value)] = True
            elif isinstance(value, bool) and self.booleans is not None:
                found |= self.booleans == int(value)
        numbers = [value for value in values if isinstance(value, float)]
        if numbers and self.numbers is not None:
            found |= np.isin(self.numbers, numbers)
        return found


@dataclass(frozen=True, eq=False)
class CategoryColumn(Column):
    """The categories of rows: each has its own and those above it. `texts` holds numbers of categories."""

    categories: Categories = field(kw_only=True)

    @classmethod
    def of(cls, categories: Categories) -> CategoryColumn:
        """The categories as a column."""
        pairs = ((code, path) for code, name in enumerate(categories.names) for path in _paths(name))
        return cls(categories.codes >= 0, Texts.of(pairs), categories=categories)

    def equal(self, values: Sequence[Value]) -> Mask:
        """Which rows are in one of the categories or below it."""
        wanted = np.zeros(len(self.categories.names) + 1, dtype=np.bool_)  # the last one is that of −1
        for value in values:
            if isinstance(value, str) and self.texts is not None:
                wanted[self.texts.rows(value)] = True
        return wanted[self.categories.codes]


def finite(value: object) -> float | None:
    """A number as a float, None if it is none, not finite or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number + 0.0 if isfinite(number) else None  # never −0


def kind_of(value: Value) -> type:
    """The type by which a value is compared."""
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


@dataclass(frozen=True, eq=False)
class AttributeColumns:
    """The attributes of rows as columns, each built when a condition first asks for it."""

    size: int
    _attributes: Mapping[int, Mapping[str, Attribute]]
    _columns: dict[str, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, size: int, attributes: Mapping[int, Mapping[str, Attribute]]) -> AttributeColumns:
        """The columns of `size` rows; rows without attributes may be missing."""
        return cls(size, attributes)

    def column(self, name: str) -> Column | None:
        """The values of an attribute, None if no row has one."""
        column = self._columns.get(name)
        if column is None:
            values = ((row, own[name]) for row, own in self._attributes.items() if name in own)
            column = Column.of_attribute(self.size, values)
            if not column.present.any():  # not kept: requests may ask for any number of unknown names
                return None
            self._columns[name] = column
        return column

    @cached_property
    def names(self) -> list[str]:
        """The names of all attributes."""
        return sorted(
            {
                name
                for own in self._attributes.values()
                for name, value in own.items()
                if isinstance(value, str | bool | list) or finite(value) is not None
            }
        )


@dataclass(frozen=True, eq=False)
class Columns:
    """All fields of the rows of a catalogue."""

    ids: Sequence[str]
    names: Sequence[str | None]
    categories: Categories
    prices: Vector  # NaN where unknown
    in_stock: Mask
    parents: Sequence[str | None]
    attributes: AttributeColumns

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.ids)

    def column(self, name: str) -> Column | None:
        """The values of a field, None if there is no such field. A built-in one goes before an attribute."""
        return getattr(self, f"_{name}") if name in BUILT_IN else self.attributes.column(name)

    @cached_property
    def _id(self) -> Column:
        return Column.of_texts(self.ids)

    @cached_property
    def _name(self) -> Column:
        return Column.of_texts(self.names)

    @cached_property
    def _parent_id(self) -> Column:
        return Column.of_texts(self.parents)

    @cached_property
    def _price(self) -> Column:
        return Column(~np.isnan(self.prices), numbers=self.prices)

    @cached_property
    def _in_stock(self) -> Column:
        return Column(np.ones(self.size, dtype=np.bool_), booleans=self.in_stock.astype(np.int8))

    @cached_property
    def _category(self) -> CategoryColumn:
        return CategoryColumn.of(self.categories)


def _filled(array: NDArray[Any], values: Mapping[int, float]) -> NDArray[Any]:
    array[list(values)] = list(values.values())
    return array


def _paths(category: str) -> Iterator[str]:
    """A category and those above it."""
    yield category
    place = category.find(LEVELS)
    while place >= 0:
        yield category[:place]
        place = category.find(LEVELS, place + 1)
