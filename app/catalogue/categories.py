"""The categories of a catalogue. A category may be a path, such as "Drinks > Wine", and is below "Drinks"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, eq=False)
class Categories:
    """The category of each row, by its number; −1 without one. Names are in the order of appearance."""

    names: tuple[str, ...]
    codes: NDArray[np.int32]  # (size,)
    _numbers: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_numbers", {name: number for number, name in enumerate(self.names)})

    @classmethod
    def of(cls, names: Coded) -> Categories:
        """The categories of a column of an item table; names that differ only in blanks are the same."""
        numbers: dict[str, int] = {}
        merged = [numbers.setdefault(normal(name), len(numbers)) for name in names.texts]
        codes = np.array([*merged, -1], dtype=np.int32)[names.codes]  # the last one is that of −1
        return cls(tuple(numbers), codes)

    def changed(self, size: int, names: Mapping[int, str | None]) -> Categories:
        """Those of `size` rows, at least as many as before, in which some rows have another category."""
        codes = np.full(size, -1, dtype=np.int32)
        codes[: len(self.codes)] = self.codes
        numbers = dict(self._numbers)
        for row, name in names.items():
            codes[row] = -1 if name is None else numbers.setdefault(normal(name), len(numbers))
        return Categories(tuple(numbers), codes)

    @cached_property
    def _folded(self) -> list[str]:
        return [name.casefold() for name in self.names]

    @cached_property
    def paths(self) -> list[str]:
        """All categories that rows may be asked for by: the names, and the levels above them."""
        paths = [name.split(LEVELS) for name in self.names]
        above = (LEVELS.join(path[:depth]) for path in paths for depth in range(1, len(path)))
        return list(dict.fromkeys([*self.names, *above]))

    def is_known(self, category: str) -> bool:
        """Whether rows are in the category or below it; upper and lower case are the same."""
        return bool(self._codes_in(category))

    def near(self, category: str) -> list[str]:
        """Known categories that look like this one."""
        by_folded = {path.casefold(): path for path in self.paths}
        return [by_folded[found] for found in get_close_matches(category.casefold(), by_folded, _NEAR, 0.5)]

    def unknown(self, category: str) -> str:
        """The message about a category that is not known."""
        near = self.near(category)
        meant = f": did you mean {' or '.join(map(repr, near))}?" if near else ";"
        return f"there is no category {category!r}{meant} /categories lists all"

    def contains(self, row: int, category: str) -> bool:
        """Whether a row is in the category or below it."""
        return int(self.codes[row]) in self._codes_in(category)

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
        exact = normal(category).casefold()
        below = exact + LEVELS
        return [code for code, name in enumerate(self._folded) if name == exact or name.startswith(below)]
