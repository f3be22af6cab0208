from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_store import Items


def test_rows_are_found_by_id() -> None:
    items = Items(ids=("b", "a"))
    assert (len(items), items.row_of("a"), items.row_of("b"), items.row_of("c")) == (2, 1, 0, None)


def test_omitted_columns_are_none() -> None:
    items = Items(ids=("a", "b"), prices=(1.5, None))
    assert (items.prices, items.names, items.in_stock) == ((1.5, None), (None, None), (None, None))


def test_json_round_trip() -> None:
    items = Items(("a", "ü"), ("A", None), ("c", None), (1.5, None), (True, None), (3, None))
    back = Items.from_json(items.to_json())
    for column in ("ids", "names", "categories", "prices", "in_stock", "counts"):
        assert getattr(back, column) == getattr(items, column)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ids": ("a", "b", "a")}, "item id 'a' occurs twice"),
        ({"ids": (1, 2)}, "column 'id' holds int, expected str"),
        ({"ids": ("a",), "names": ("x", "y")}, "column 'name' has 2 values for 1 items"),
        ({"ids": ("a",), "prices": (float("nan"),)}, "'price' holds a value that is not finite"),
        ({"ids": ("a",), "in_stock": ("yes",)}, "'in_stock' holds str, expected bool or null"),
        ({"ids": ("a",), "counts": (True,)}, "'count' holds bool, expected int or null"),
    ],
)
def test_invalid_columns_are_refused(columns: dict[str, tuple[object, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Items(**columns)  # type: ignore[arg-type]


def test_large_catalogue_round_trip() -> None:
    size = 400_000
    items = Items(ids=tuple(map(str, range(size))), counts=tuple(range(size)))
    back = Items.from_json(items.to_json())
    assert all(back.row_of(str(row)) == row for row in range(0, size, 1_000))
    assert back.counts == items.counts


def test_items_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Items(ids=("a",)).ids = ("b",)  # type: ignore[misc]


def test_columns_are_sequences_of_objects() -> None:
    items = Items(
        ("a", "b", "c"), names=("A", None, ""), categories=("x", "y", "x"), in_stock=(True, False, None)
    )
    assert (items.names[0], items.names[-1], items.names[1:]) == ("A", "", (None, ""))
    assert [type(stock) for stock in items.in_stock] == [bool, bool, type(None)]
    with pytest.raises(IndexError):
        items.names[3]
    assert items.arrays.category_codes.tolist() == [0, 1, 0]


@given(st.lists(st.text(min_size=1, max_size=4), unique=True, min_size=1, max_size=40), st.text(max_size=4))
def test_rows_are_those_of_a_dictionary(ids: list[str], other: str) -> None:
    items, rows = Items(ids), {item_id: row for row, item_id in enumerate(ids)}
    assert items.ids == ids
    assert items.rows_of_each([*ids, other]) == [rows.get(item_id, -1) for item_id in [*ids, other]]


def test_half_of_a_surrogate_pair_is_kept() -> None:
    items = Items(("\ud800", "b"))
    assert (items.ids[0], items.row_of("\ud800")) == ("\ud800", 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hashed": np.array([0, 2], dtype=np.int32)}, "hash table"),
        ({"buckets": np.array([0, 2], dtype=np.int32)}, "hash table"),
        ({"category_codes": np.array([0, 1], dtype=np.int32)}, "category that does not exist"),
        ({"prices": np.zeros(3)}, "the columns of items"),
        ({"name_offsets": np.array([0, 2, 1], dtype=np.int64)}, "offsets of the item names"),
    ],
)
def test_damaged_arrays_are_refused(change: dict[str, np.ndarray], message: str) -> None:
    arrays = Items(("a", "b"), categories=("x", None)).arrays
    arrays.check(2)
    with pytest.raises(ValueError, match=message):
        replace(arrays, **change).check(2)
    with pytest.raises(ValueError, match="the kernel has 3 items"):
        arrays.check(3)
