"""The words of items, to search for them: a sorted list of words, and the rows that have each.

A text is split into words at everything that is no letter or digit; upper and lower case, accents and
compatible forms are the same. Each word of a query must match a word of the row, as one of these:

    3     the whole word
    2     its beginning
    1     the whole word with one typo: a letter too many, missing, wrong, or swapped with its neighbour
    0.75  its beginning with one typo before the last letter
    0.5   a part inside the word ("cam" in "webcam")

A row's score is the sum over the words of the query of their best match. Short words have too many neighbours
to forgive typos, and a number with a typo is another number: a typo needs 4 letters (5 in a beginning) and no
digit in the query's word, a part 3 characters. Parts count even where there are better matches, so that
nothing is lost of what the plain search for parts of names found, except parts of one or two characters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model_store.columns import Texts, encoded
from ndpp.kernel import Indices

# Scores in quarters, so that they are small integers.
_WHOLE, _BEGINNING, _TYPO, _TYPO_IN_BEGINNING, _PART = 12, 8, 4, 3, 2
_TYPO_LENGTH, _TYPO_IN_BEGINNING_LENGTH, _PART_LENGTH = 4, 5, 3
_LAST = "\U0010ffff"  # sorts after all letters and digits
_WORD = re.compile(r"[^\W_]+")

Quarters = NDArray[np.uint16]


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared: in lower case, without accents."""
    if text.isascii():
        return _WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return _WORD.findall("".join(sign for sign in folded if unicodedata.category(sign)[0] != "M"))


@dataclass(frozen=True, eq=False)
class Words:
    """The words of some texts, and which texts have each of them."""

    size: int  # the number of texts
    offsets: NDArray[np.int64]  # (words + 1,), see `Texts`: the words, sorted
    letters: NDArray[np.uint8]
    starts: NDArray[np.int64]  # (words + 1,): the rows of word w are rows[starts[w]:starts[w + 1]]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Words:
        """Index texts; None has no words."""
        numbers: dict[str, int] = {}
        found: list[int] = []
        lengths: list[int] = []
        for text in texts:
            own = set(words_of(text)) if text else ()
            lengths.append(len(own))
            found += [numbers.setdefault(word, len(numbers)) for word in own]
        words = sorted(numbers)
        place = np.empty(len(words), dtype=np.int64)
        place[[numbers[word] for word in words]] = np.arange(len(words))
        word_of = place[np.array(found, dtype=np.int64)]
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), np.array(lengths, dtype=np.int64))
        order = np.argsort(word_of, kind="stable")
        sorted_words = Texts.of(words)
        return cls(
            size=len(lengths),
            offsets=sorted_words.offsets,
            letters=sorted_words.data,
            starts=np.searchsorted(word_of[order], np.arange(len(words) + 1)).astype(np.int64),
            rows=rows[order],
        )

    def check(self, size: int) -> None:
        """ValueError unless the index is of `size` texts and its arrays fit together."""
        self.words.check("words")
        if self.size != size:
            raise ValueError(f"the kernel has {size} items, the words are of {self.size}")
        if len(self.starts) != len(self.offsets) or self.starts[0] != 0 or (np.diff(self.starts) < 0).any():
            raise ValueError("the words do not fit their rows")
        rows = self.rows
        if self.starts[-1] != len(rows) or (len(rows) and not 0 <= rows.min() <= rows.max() < size):
            raise ValueError("a word is in rows that do not exist")

    @cached_property
    def words(self) -> Texts:
        """The words, sorted."""
        return Texts(self.offsets, self.letters)

    def scores(self, query: Iterable[str]) -> Quarters:
        """The score of each text, 0 if a word of the query matches none of its words."""
        total = np.zeros(self.size, dtype=np.uint16)
        for number, word in enumerate(query):
            best = self._best(word)
            total = (total + best) * ((best > 0) & ((total > 0) | (number == 0)))
        return total

    def _best(self, word: str) -> Quarters:
        """The best match of one word of the query in each text."""
        best = np.zeros(self.size, dtype=np.uint16)
        low, high = self._beginning_with(word, 0, len(self.words))
        if len(word) >= _PART_LENGTH:
            inside = self._containing(word)
            best[self._rows_of(inside[(inside < low) | (inside >= high)])] = _PART
        if len(word) >= _TYPO_LENGTH and not any(sign.isdigit() for sign in word):
            typos = list(self._typos(word))
            if len(word) >= _TYPO_IN_BEGINNING_LENGTH:
                for variant, first, end in typos:
                    if variant[-1] == word[-1]:
                        best[self._rows_between(first, end)] = _TYPO_IN_BEGINNING
            for variant, first, _ in typos:
                if self.words[first] == variant:
                    best[self._rows_between(first, first + 1)] = _TYPO
        best[self._rows_between(low, high)] = _BEGINNING
        if low < high and self.words[low] == word:
            best[self._rows_between(low, low + 1)] = _WHOLE
        return best

    def _beginning_with(self, beginning: str, low: int, high: int) -> tuple[int, int]:
        """The words between two places that begin so, again as two places."""
        first = bisect_left(self.words, beginning, low, high)
        return first, bisect_left(self.words, beginning + _LAST, first, high)

    def _typos(self, word: str) -> Iterator[tuple[str, int, int]]:
        """What the word may have been before a typo, and the places of the words that begin so.

        A letter that was lost or replaced is one that follows the same beginning in some word: few are tried.
        A letter that was lost at the end is left out, since then the word is a beginning without a typo.
        """
        low, high = 0, len(self.words)
        for place, letter in enumerate(word):
            head, tail = word[:place], word[place + 1 :]
            low, high = self._beginning_with(head, low, high)
            if low == high:
                return
            variants = {head + tail}
            if tail:
                variants.add(head + tail[0] + letter + tail[1:])
            for other in self._following(head, low, high):
                variants |= {head + other + tail, head + other + letter + tail}
            for variant in variants - {word}:
                first, end = self._beginning_with(variant, low, high)
                if first < end:
                    yield variant, first, end

    def _following(self, head: str, low: int, high: int) -> Iterator[str]:
        """The letters that follow a beginning in the words between two places, which all begin so."""
        low += self.words[low] == head
        while low < high:
            letter = self.words[low][len(head)]
            yield letter
            low = bisect_left(self.words, head + letter + _LAST, low, high)

    def _containing(self, part: str) -> Indices:
        """The words that contain a part."""
        first, *others = encoded(part)
        places = np.flatnonzero(self.letters == first)
        for distance, letter in enumerate(others, 1):
            places = places[places < len(self.letters) - distance]
            places = places[self.letters[places + distance] == letter]
        words = np.searchsorted(self.offsets, places, side="right") - 1
        return np.unique(words[places + len(others) < self.offsets[words + 1]])  # not across two words

    def _rows_between(self, low: int, high: int) -> NDArray[np.int32]:
        return self.rows[self.starts[low] : self.starts[high]]

    def _rows_of(self, words: Indices) -> NDArray[np.int32]:
        counts = self.starts[words + 1] - self.starts[words]
        shifts = self.starts[words] - (np.cumsum(counts) - counts)
        places: Indices = np.repeat(shifts, counts) + np.arange(counts.sum())
        return self.rows[places]
