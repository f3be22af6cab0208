"""Which items are variants of each other."""

from __future__ import annotations

from itertools import permutations
from time import perf_counter

import numpy as np
import pytest

from app.catalogue.variants import Variants


def grouped(parents: dict[str, str | None]) -> set[frozenset[str]]:
    """The groups of items, given by id with their parents in the order of rows."""
    ids = list(parents)
    rows = {item_id: row for row, item_id in enumerate(ids)}
    known = {row: parent for row, parent in enumerate(parents.values()) if parent is not None}
    found = Variants.of(len(ids), known, rows.get)
    numbers = set(found.groups.tolist()) - {-1}
    return {frozenset(ids[row] for row in np.flatnonzero(found.groups == n)) for n in numbers}


@pytest.mark.parametrize(
    ("parents", "groups"),
    [
        ({"a": None, "b": None}, []),
        ({"a": "p", "b": "p", "c": None}, ["ab"]),
        ({"p": None, "a": "p", "b": "p", "c": "q"}, ["pab", "c"]),
        ({"a": "b", "b": "a"}, ["ab"]),
        ({"a": "b", "b": "c", "c": "a", "d": "b", "e": None}, ["abcd"]),
        ({"a": "a", "b": "a"}, ["ab"]),
        ({"a": "b", "b": "c", "c": "d", "x": "d"}, ["abcx"]),
    ],
)
def test_groups_do_not_depend_on_the_order_of_rows(parents: dict[str, str | None], groups: list[str]) -> None:
    for order in permutations(parents):
        assert grouped({item_id: parents[item_id] for item_id in order}) == {frozenset(g) for g in groups}


def test_long_chains_of_parents_are_fast() -> None:
    size = 20_000
    parents = {row: str(row - 1) for row in range(1, size)}
    start = perf_counter()
    found = Variants.of(size, parents, {str(row): row for row in range(size)}.get)
    assert perf_counter() - start < 5
    assert set(found.groups.tolist()) == {0}
