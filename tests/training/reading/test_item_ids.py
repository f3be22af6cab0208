"""Invalid item ids are dropped from baskets and are errors in an item table."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from training.errors import DataError
from training.reading import BasketData, read_baskets
from training.reading.item_table import read_item_table
from training.reading.summary import summarise, summary_table

UNUSABLE = ["tab\there", "line\nbreak", "delete\x7f", "x" * 257, ".", ".."]


def test_rows_with_invalid_item_ids_are_dropped_and_counted(tmp_path: Path) -> None:
    pairs = [("1", "milk"), *(("1", item) for item in UNUSABLE), ("2", ".."), ("3", "x" * 256), ("3", "milk")]
    frame = pl.DataFrame(pairs, schema=["basket_id", "item_id"], orient="row")
    frame.write_parquet(tmp_path / "odd.parquet")
    data = read_baskets(str(tmp_path / "odd.parquet"))
    assert data.baskets.catalogue == ("milk", "x" * 256)
    assert [len(basket) for basket in data.baskets] == [1, 2]
    assert data.dropped.rows_with_unusable_ids == 7
    assert data.dropped.duplicate_rows == 0
    assert "rows with an invalid item_id" in table_text(data)
    frame.filter(pl.col("item_id").is_in(UNUSABLE)).write_parquet(tmp_path / "odd.parquet")
    with pytest.raises(DataError, match=r"rules drop all baskets.*'rows_with_unusable_ids': 7"):
        read_baskets(str(tmp_path / "odd.parquet"))


def table_text(data: BasketData) -> str:
    console = Console(width=120, file=io.StringIO())
    with console.capture() as capture:
        console.print(summary_table(summarise(data), "odd"))
    return capture.get()


@pytest.mark.parametrize("item_id", UNUSABLE)
def test_item_table_with_invalid_id_names_line(tmp_path: Path, item_id: str) -> None:
    pl.DataFrame({"item_id": ["milk", item_id]}).write_ndjson(tmp_path / "items.jsonl")
    with pytest.raises(DataError, match=r"items\.jsonl, line 2: .* is not a valid item_id") as caught:
        read_item_table(str(tmp_path / "items.jsonl"))
    assert len(str(caught.value).removeprefix(str(tmp_path))) < 200
    assert str(caught.value).isprintable()


def test_item_table_with_too_long_category_names_line(tmp_path: Path) -> None:
    rows = [{"item_id": "milk", "category": "ü" * 256}, {"item_id": "tea", "category": "ü" * 257}]
    pl.DataFrame(rows).write_csv(tmp_path / "items.csv")
    with pytest.raises(DataError, match=r"items\.csv, line 3: the category 'ü+…' has over 256 characters"):
        read_item_table(str(tmp_path / "items.csv"))
    pl.DataFrame(rows[:1]).write_csv(tmp_path / "items.csv")
    assert read_item_table(str(tmp_path / "items.csv"))["category"].to_list() == ["ü" * 256]
