"""Search that forgives: words in any order, beginnings of words, one typo, with or without accents.

A text is split into words at everything that is no letter or digit; upper and lower case, accents and
compatible forms are the same. Each word of the query must match a word of the row, as one of these:

    3     the whole word
    2     its beginning
    1     the whole word with one typo: a letter too many, missing, wrong, or swapped with its neighbour
    0.75  its beginning with one typo before the last letter
    0.5   a part inside the word ("cam" in "webcam")

A row's score is the sum over the words of the query of their best match. Rows with the same score are in the
order of the rows, which is that of popularity. Short words have too many neighbours to forgive typos, and a
number with a typo is another number: a typo needs 4 letters (5 in a beginning) and no digit in the query's
word, a part 3 characters. Parts count even where there are better matches, so that nothing is lost of what
the plain search for parts of names found, except parts of one or two characters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Indices

# Scores in quarters, so that they are small integers.
_WHOLE, _BEGINNING, _TYPO, _TYPO_IN_BEGINNING, _PART = 12, 8, 4, 3, 2
_TYPO_LENGTH, _TYPO_IN_BEGINNING_LENGTH, _PART_LENGTH = 4, 5, 3
_MAX_CHANGED = 2_000  # rows that are kept apart before all are indexed anew
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
class _Words:
    """The words of some texts, and which texts have each of them."""

    size: int  # the number of texts
    words: list[str]  # sorted
    starts: Indices  # (words + 1,): the rows of word w are rows[starts[w]:starts[w + 1]]
    rows: NDArray[np.int32]
    letters: NDArray[np.uint32]  # all words with a line feed after each, to look for parts of words
    word_at: NDArray[np.int32]  # the word of each letter

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Words:
        numbers: dict[str, int] = {}
        found: list[int] = []
        lengths = np.zeros(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):
            own = set(words_of(text))
            lengths[row] = len(own)
            found += [numbers.setdefault(word, len(numbers)) for word in own]
        words = sorted(numbers)
        place = np.empty(len(words), dtype=np.int64)
        place[[numbers[word] for word in words]] = np.arange(len(words))
        word_of = place[np.array(found, dtype=np.int64)]
        rows = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)
        order = np.argsort(word_of, kind="stable")
        lines = "".join(word + "\n" for word in words)
        return cls(
            size=len(texts),
            words=words,
            starts=np.searchsorted(word_of[order], np.arange(len(words) + 1)),
            rows=rows[order],
            letters=np.frombuffer(lines.encode("utf-32-le"), dtype=np.uint32),
            word_at=np.repeat(np.arange(len(words), dtype=np.int32), [len(word) + 1 for word in words]),
        )

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
        first, *others = (ord(letter) for letter in part)
        places = np.flatnonzero(self.letters == first)
        for distance, letter in enumerate(others, 1):
            places = places[places < len(self.letters) - distance]
            places = places[self.letters[places + distance] == letter]
        return np.unique(self.word_at[places])

    def _rows_between(self, low: int, high: int) -> NDArray[np.int32]:
        return self.rows[self.starts[low] : self.starts[high]]

    def _rows_of(self, words: Indices) -> NDArray[np.int32]:
        counts = self.starts[words + 1] - self.starts[words]
        shifts = self.starts[words] - (np.cumsum(counts) - counts)
        places: Indices = np.repeat(shifts, counts) + np.arange(counts.sum())
        return self.rows[places]


@dataclass(frozen=True, eq=False)
class SearchIndex:
    """An immutable index of one text for each row; the rows are in the order of popularity."""

    size: int
    _base: _Words
    _texts: Mapping[int, str] = field(default_factory=dict)  # of the rows that differ from the base
    _changed: _Words = field(default_factory=lambda: _Words.of(()))  # their words, in the same order
    _base_texts: Sequence[str] = ()

    @classmethod
    def of(cls, texts: Sequence[str]) -> SearchIndex:
        """Index the texts of all rows."""
        return cls(len(texts), _Words.of(texts), _base_texts=tuple(texts))

    def changed(self, size: int, texts: Mapping[int, str]) -> SearchIndex:
        """An index of `size` rows, at least as many as before, in which these rows have other texts.

        A row that is new and has no text is found by no word.
        """
        apart = {**self._texts, **texts}
        if len(apart) > _MAX_CHANGED:
            rows = [*self._base_texts, *[""] * (size - len(self._base_texts))]
            for row, text in apart.items():
                rows[row] = text
            return SearchIndex.of(rows)
        return SearchIndex(size, self._base, apart, _Words.of(list(apart.values())), self._base_texts)

    def matches(self, query: str, first: int | None = None) -> Indices:
        """All rows that match, the best first. A blank query matches all rows.

        `first` is the row whose item id is the query itself, if there is one: it matches before all others.
        """
        words = dict.fromkeys(words_of(query))
        if not query.strip():
            return np.arange(self.size)
        scores = np.zeros(self.size, dtype=np.uint16)
        if words:
            scores[: self._base.size] = self._base.scores(words)
            scores[list(self._texts)] = self._changed.scores(words)
        if first is not None:
            scores[first] = np.iinfo(np.uint16).max
        rows = np.flatnonzero(scores)
        return rows[np.argsort(np.iinfo(np.uint16).max - scores[rows], kind="stable")]
