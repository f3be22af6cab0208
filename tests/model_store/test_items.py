from __future__ import annotations

import pytest

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
