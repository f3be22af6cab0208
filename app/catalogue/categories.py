"""The categories of a catalogue. A category may be a path, such as "Drinks > Wine", and is below "Drinks"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from model_store.columns import Coded
from ndpp.kernel import Indices

LEVELS = " > "
_NEAR = 3  # names that are proposed instead of an unknown one


def normal(category: str) -> str:
    """A path with the same blanks around each `>`."""
    return LEVELS.join(level.strip() for level in category.split(">"))


def folded(category: str) -> str:
    """The form in which equal categories are the same text."""
    return normal(category).casefold()


def is_same(one: str | None, other: str | None) -> bool:
    """Whether two categories, None without one, are equal; upper and lower case are the same."""
    return one == other or (one is not None and other is not None and folded(one) == folded(other))


@dataclass(frozen=True, eq=False)
class Categories:
    """The category of each row, by its number; −1 without one. Names are in the order of appearance.

    Upper and lower case are the same: all rows of a category have the spelling of the first one.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]  # (size,)
    deleted: NDArray[np.bool_] | None = None  # (size,): rows whose items the shop no longer has, if any

    @classmethod
    def of(cls, names: Coded) -> Categories:
        """The categories of a column of an item table."""
        numbers, spellings = dict[str, int](), dict[str, str]()
        merged = [_number(name, numbers, spellings) for name in names.texts]
        codes = np.array([*merged, -1], dtype=np.int32)[names.codes]  # the last one is that of −1
        return cls(tuple(numbers), codes)

    def changed(self, names: Mapping[int, str | None], deleted: NDArray[np.bool_]) -> Categories:
        """Those of at least as many rows as before, in which some have another category or are deleted."""
        codes = np.full(len(deleted), -1, dtype=np.int32)
        codes[: len(self.codes)] = self.codes
        numbers, spellings = dict(self._numbers), dict(self._spellings)
        for row, name in names.items():
            codes[row] = _number(name, numbers, spellings)
        return Categories(tuple(numbers), codes, deleted)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _spellings(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in self.names:
            _spelled(name, found)
        return found

    @cached_property
    def _folded(self) -> list[str]:
        return [name.casefold() for name in self.names]

    @cached_property
    def paths(self) -> list[str]:
        """The categories that have items, and the levels above them."""
        codes = self.codes if self.deleted is None else self.codes[~self.deleted]
        used = np.bincount(codes[codes >= 0], minlength=len(self.names)) > 0
        names = [name for name, is_used in zip(self.names, used.tolist(), strict=True) if is_used]
        paths = [name.split(LEVELS) for name in names]
        above = (LEVELS.join(path[:depth]) for path in paths for depth in range(1, len(path)))
        return list(dict.fromkeys([*names, *above]))

    def is_known(self, category: str) -> bool:
        """Whether rows are in the category or below it; upper and lower case are the same."""
        return bool(self._codes_in(category))

    def near(self, category: str) -> list[str]:
        """Categories that look like this one."""
        by_folded = {path.casefold(): path for path in self.paths}
        return [by_folded[found] for found in get_close_matches(category.casefold(), by_folded, _NEAR, 0.5)]

    def unknown(self, category: str) -> str:
        """The message about a category that is not known."""
        near = self.near(category)
        meant = f": did you mean {' or '.join(map(repr, near))}?" if near else ";"
        return f"there is no category {category!r}{meant} /categories lists all"

    def mask(self, category: str) -> NDArray[np.bool_]:
        """Which rows are in the category or below it."""
        wanted = np.zeros(len(self.names) + 1, dtype=np.bool_)  # the last one is that of −1
        wanted[self._codes_in(category)] = True
        return wanted[self.codes]

    def groups(self) -> list[tuple[str, Indices]]:
        """Each category that has rows, and its rows, ordered by their first row."""
        order = np.argsort(self.codes, kind="stable")
        bounds = np.searchsorted(self.codes[order], np.arange(len(self.names) + 1))
        rows = [order[low:high] for low, high in pairwise(bounds.tolist())]
        found = [(name, group) for name, group in zip(self.names, rows, strict=True) if len(group)]
        return sorted(found, key=lambda each: int(each[1][0]))

    def _codes_in(self, category: str) -> list[int]:
        exact = folded(category)
        below = exact + LEVELS
        return [code for code, name in enumerate(self._folded) if name == exact or name.startswith(below)]


def _number(name: str | None, numbers: dict[str, int], spellings: dict[str, str]) -> int:
    """The number of a category, which may be a new one; −1 for none."""
    if name is None:
        return -1
    number = numbers.get(name)
    return numbers.setdefault(_spelled(name, spellings), len(numbers)) if number is None else number


def _spelled(category: str, spellings: dict[str, str]) -> str:
    """The path with each level spelled as it is already, which is kept by its folded form."""
    path = ""
    for level in normal(category).split(LEVELS):
        path = f"{path}{LEVELS}{level}" if path else level
        path = spellings.setdefault(path.casefold(), path)
    return path
