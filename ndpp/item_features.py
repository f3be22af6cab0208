"""What is known of items apart from purchases, and how alike items are by it.

Every similarity is between 0, also where something is unknown, and 1.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector

Attribute = str | float | bool | list[str]
LEVELS = " > "  # between the levels of a category: "Drinks > Wine"
_WORD = re.compile(r"\w+")
_RANGES = 4  # of numbers, in each doubling


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """Columns with one value per item; None, NaN or an empty mapping where unknown."""

    names: Sequence[str | None]
    categories: Sequence[str | None]  # one level or more, joined by LEVELS
    prices: Vector  # NaN where unknown
    parents: Sequence[str | None]  # variants of one product have the same parent
    attributes: Sequence[Mapping[str, Attribute]]

    def __post_init__(self) -> None:
        sizes = len(self.categories), len(self.prices), len(self.parents), len(self.attributes)
        if set(sizes) != {len(self)}:
            raise ValueError("the columns of item features have different lengths")

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(
        cls,
        names: Sequence[str | None],
        categories: Sequence[str | None] | None = None,
        prices: Sequence[float | None] | None = None,
        parents: Sequence[str | None] | None = None,
        attributes: Sequence[Mapping[str, Attribute]] | None = None,
    ) -> ItemFeatures:
        """From columns with None where unknown; a column that is not given is unknown for all items."""
        size = len(names)
        known = np.array([np.nan] * size if prices is None else prices, dtype=np.float64)
        return cls(
            names, categories or [None] * size, known, parents or [None] * size, attributes or [{}] * size
        )

    def select(self, rows: Indices) -> ItemFeatures:
        """The features of some items, in that order."""
        chosen = rows.tolist()
        return ItemFeatures(
            [self.names[row] for row in chosen],
            [self.categories[row] for row in chosen],
            self.prices[rows],
            [self.parents[row] for row in chosen],
            [self.attributes[row] for row in chosen],
        )


class Alike:
    """Similarities of the known items to an item, from indexes that are built once."""

    def __init__(self, known: ItemFeatures) -> None:
        self.size = len(known)
        self._words = _TokenIndex([words(name) for name in known.names])
        self._letters = _TokenIndex([letters(name) for name in known.names])
        self._attributes = _TokenIndex([attribute_tokens(each) for each in known.attributes])
        self._parents = _Groups(known.parents)
        self._categories = _Groups([_folded(category) for category in known.categories])
        self._paths = [category.split(LEVELS) for category in self._categories.numbers]
        self._log_prices = _log_prices(known.prices)

    def table(self, new: ItemFeatures, place: int) -> Matrix:
        """The similarities of one new item to all known ones, (6, M).

        The rows are category, words, letters, price, attributes and parent: the share of common levels of
        the category, cosines of words, of three letters in a row and of attributes, each weighted by its
        rarity, exp(−|difference of log prices|), and 1 for variants of the same product. Upper and lower case
        are the same.
        """
        found = np.zeros((6, self.size))
        if (category := _folded(new.categories[place])) is not None and self._paths:
            path = category.split(LEVELS)
            shares = np.array([*(_common(path, other) for other in self._paths), 0.0])
            found[0] = shares[self._categories.of_rows]  # number −1, of no category, is the last
        self._words.add_cosines(words(new.names[place]), found[1])
        self._letters.add_cosines(letters(new.names[place]), found[2])
        price = _log_prices(new.prices[place : place + 1])[0]
        if not np.isnan(price):
            found[3] = np.nan_to_num(np.exp(-np.abs(self._log_prices - price)), nan=0.0)
        self._attributes.add_cosines(attribute_tokens(new.attributes[place]), found[4])
        if (parent := new.parents[place]) is not None and parent in self._parents.numbers:
            found[5] = self._parents.of_rows == self._parents.numbers[parent]
        return found


class _Groups:
    """The number of each row's group, −1 for none."""

    def __init__(self, names: Sequence[str | None]) -> None:
        self.numbers: dict[str, int] = {}
        found = [-1 if name is None else self.numbers.setdefault(name, len(self.numbers)) for name in names]
        self.of_rows = np.array(found, dtype=np.intp)


class _TokenIndex:
    """For each token the rows that have it, with the token's share in the row's vector of length 1."""

    def __init__(self, texts: Sequence[Iterable[str]]) -> None:
        self._numbers: dict[str, int] = {}
        numbers, rows = [], []
        for row, tokens in enumerate(texts):
            for token in dict.fromkeys(tokens):
                numbers.append(self._numbers.setdefault(token, len(self._numbers)))
                rows.append(row)
        owners, of_rows = np.array(numbers, dtype=np.intp), np.array(rows, dtype=np.intp)
        counts = np.bincount(owners, minlength=len(self._numbers))
        self._unseen = math.log(1 + len(texts)) if texts else 0.0
        self._rarity = np.log1p(len(texts) / np.maximum(counts, 1))
        values = self._rarity[owners]
        lengths = np.sqrt(np.bincount(of_rows, values**2, minlength=len(texts)))
        order = np.argsort(owners, kind="stable")
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        self._rows, self._values = of_rows[order], (values / lengths[of_rows])[order]

    def add_cosines(self, tokens: Iterable[str], sums: Vector) -> None:
        """Add the cosine of each row with the text of these tokens."""
        asked = dict.fromkeys(tokens)
        found = [self._numbers[token] for token in asked if token in self._numbers]
        if not found:
            return
        unseen = (len(asked) - len(found)) * self._unseen**2
        length = math.sqrt(float((self._rarity[found] ** 2).sum()) + unseen)
        for number in found:
            part = slice(self._offsets[number], self._offsets[number + 1])
            sums[self._rows[part]] += self._values[part] * (self._rarity[number] / length)


def words(name: str | None) -> list[str]:
    """The words of a name, in lower case and without accents."""
    if name is None:
        return []
    plain = unicodedata.normalize("NFKD", name.casefold())
    return _WORD.findall("".join(letter for letter in plain if not unicodedata.combining(letter)))


def letters(name: str | None) -> list[str]:
    """All three characters in a row of each word, which begins and ends with a blank."""
    padded = (f" {word} " for word in words(name))
    return [word[start : start + 3] for word in padded for start in range(len(word) - 2)]


def attribute_tokens(attributes: Mapping[str, Attribute]) -> list[str]:
    """A token for each value; numbers that differ by little share one or both of two overlapping ranges."""
    found = []
    for key, value in attributes.items():
        if isinstance(value, bool):
            found.append(f"{key}={value}")
        elif isinstance(value, int | float):
            found += [f"{key}~{text}" for text in _ranges(float(value))]
        else:
            values = [value] if isinstance(value, str) else value
            found += [f"{key}={each.casefold()}" for each in values]
    return found


def _ranges(number: float) -> list[str]:
    if not math.isfinite(number):
        return []
    if number == 0:
        return ["0"]
    place = _RANGES * math.log2(abs(number))
    sign = "-" if number < 0 else ""
    return [f"{sign}{math.floor(place)}", f"{sign}{math.floor(place + 0.5)}h"]


def _folded(category: str | None) -> str | None:
    return None if category is None else category.casefold()


def _common(path: Sequence[str], other: Sequence[str]) -> float:
    """The number of first levels that two categories share, of those of the longer one."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(path, other, strict=False))
    return len(list(same)) / max(len(path), len(other))


def _log_prices(prices: Vector) -> Vector:
    """NaN for unknown prices and those that are not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(prices)
    return np.where(np.isfinite(logs), logs, np.nan)
