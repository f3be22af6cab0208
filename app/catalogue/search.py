"""Search for items by the words of their texts, see `model_store.words` for what matches.

Rows with the same score are in the order of the rows, which is that of popularity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from model_store.words import Words, words_of
from ndpp.kernel import Indices

_MAX_CHANGED = 2_000  # rows that are kept apart before all are indexed anew


@dataclass(frozen=True, eq=False)
class SearchIndex:
    """An immutable index of one text for each row; the rows are in the order of popularity."""

    size: int
    _base: Words
    _texts: Mapping[int, str] = field(default_factory=dict)  # of the rows that differ from the base
    _changed: Words = field(default_factory=lambda: Words.of(()))  # their words, in the same order

    @classmethod
    def of(cls, texts: Iterable[str]) -> SearchIndex:
        """Index the texts of all rows."""
        words = Words.of(texts)
        return cls(words.size, words)

    def changed(self, size: int, texts: Mapping[int, str], every: Callable[[], Iterable[str]]) -> SearchIndex:
        """An index of `size` rows, at least as many as before, in which these rows have other texts.

        A row that is new and has no text is found by no word. `every` gives the texts of all rows, from which
        they are indexed anew if many have changed.
        """
        apart = {**self._texts, **texts}
        if len(apart) > _MAX_CHANGED:
            return SearchIndex.of(every())
        return SearchIndex(size, self._base, apart, Words.of(apart.values()))

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
