import gzip
import json
from pathlib import Path

import fsspec
import numpy as np
import polars as pl
import pytest

from training.errors import DataError
from training.reading import ReadingRules, read_baskets
from training.reading.item_table import describe_items, read_item_table

# four baskets of milk, bread, eggs, tea; ids are texts and keep their leading zeros
PAIRS = [
    ("1", "milk"),
    ("1", "bread"),
    ("2", "milk"),
    ("2", "007"),
    ("3", "eggs"),
    ("4", "milk"),
    ("4", "bread"),
]
LINES = "milk bread\nmilk 007\neggs\nbread milk\n"
WANTED = [{"milk", "bread"}, {"milk", "007"}, {"eggs"}, {"milk", "bread"}]


def contents(location: object, rules: ReadingRules | None = None) -> list[set[str]]:
    baskets = read_baskets(str(location), rules).baskets
    return [{baskets.catalogue[row] for row in basket} for basket in baskets]


def write_every_format(folder: Path) -> list[Path]:
    frame = pl.DataFrame(PAIRS, schema=["basket_id", "item_id"], orient="row")
    frame.write_csv(folder / "table.csv")
    frame.write_parquet(folder / "table.parquet")
    frame.write_ndjson(folder / "table.jsonl")
    numbers = frame.with_columns(pl.col("basket_id").cast(pl.Int64))
    numbers.write_ndjson(folder / "numbers.ndjson")
    (folder / "lines.txt").write_text(LINES)
    (folder / "commas.txt").write_text(LINES.replace(" ", ","))
    (folder / "windows.txt").write_bytes(b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n").encode())
    (folder / "no_ending").write_text("\n" + LINES.replace("\n", "\n\n"))
    for name in ("table.csv", "table.jsonl", "lines.txt"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    return sorted(folder.iterdir())


def test_all_formats_give_the_same_baskets(tmp_path: Path) -> None:
    files = write_every_format(tmp_path)
    assert len(files) == 11
    for file in files:
        assert contents(file) == WANTED, file.name
    assert len({read_baskets(str(file)).baskets.fingerprint() for file in files}) == 1


def test_catalogue_is_sorted_by_popularity_then_id(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(LINES)
    baskets = read_baskets(str(tmp_path / "b.txt")).baskets
    assert baskets.catalogue == ("milk", "bread", "007", "eggs")
    assert baskets.counts.tolist() == [3, 2, 1, 1]
    assert baskets.sizes.tolist() == [2, 2, 1, 2]


def test_folder_is_read_in_order_of_file_names(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("a b\n")
    (tmp_path / "2.txt").write_text("b c\n")
    (tmp_path / "notes.md").write_text("not data")
    assert contents(tmp_path) == [{"a", "b"}, {"b", "c"}]


def test_fsspec_url_is_read() -> None:
    with fsspec.open("memory://shop/baskets.txt", "wb") as file:
        file.write(LINES.encode())
    assert contents("memory://shop/baskets.txt") == WANTED


def test_column_mapping(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("order,sku,n\n1,a,2\n1,b,0\n2,c,-1\n2,d,1.5\n3,e,\n")
    rules = ReadingRules(columns={"basket_id": "order", "item_id": "sku", "quantity": "n"})
    assert contents(tmp_path / "t.csv", rules) == [{"a"}, {"d"}, {"e"}]
    assert read_baskets(str(tmp_path / "t.csv"), rules).dropped.rows_without_quantity == 2


def test_reading_rules_drop_and_count(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("a b a\na b c d\na\nz\na z2\n")
    data = read_baskets(str(tmp_path / "b.txt"), ReadingRules(max_basket_size=3, min_item_count=2))
    assert data.baskets.catalogue == ("a",)
    assert [len(basket) for basket in data.baskets] == [1, 1, 1]
    assert data.dropped.as_dict() == {
        "rows_without_quantity": 0,
        "rows_with_unusable_ids": 0,
        "duplicate_rows": 1,
        "oversize_baskets": 1,
        "rare_items": 3,
        "emptied_baskets": 1,
        "unclear_shoppers": 0,
    }


@pytest.mark.parametrize("form", ["iso", "date", "seconds", "parquet"])
def test_timestamp_formats(tmp_path: Path, form: str) -> None:
    texts = {
        "iso": ["2026-01-02T10:00:00", "2026-01-02T12:00:00+01:00", "2026-01-03 00:00Z"],
        "date": ["2026-01-02", "2026-01-02", "2026-01-03"],
        "seconds": ["1767348000", "1767351600", "1767398400"],
    }
    frame = pl.DataFrame({"basket_id": ["1", "1", "2"], "item_id": ["a", "b", "c"]})
    if form == "parquet":
        seconds = pl.Series("timestamp", [1767348000, 1767351600, 1767398400])
        frame.with_columns(pl.from_epoch(seconds, "s")).write_parquet(tmp_path / "t.parquet")
    else:
        frame.with_columns(pl.Series("timestamp", texts[form])).write_csv(tmp_path / "t.csv")
    baskets = read_baskets(str(next(tmp_path.iterdir()))).baskets
    assert baskets.timestamps is not None
    hours = [] if form == "date" else [np.datetime64("2026-01-02T11:00"), np.datetime64("2026-01-03T00:00")]
    days = [np.datetime64("2026-01-02"), np.datetime64("2026-01-03")]
    assert baskets.timestamps.tolist() == [moment.astype("datetime64[us]").item() for moment in hours or days]


BAD_FILES = {
    "empty.txt": (b"", "the file is empty", None),
    "blank.txt": (b" \n\n", "the file is empty", None),
    "junk.txt": (b"a b\n\x00\x01\x02", "not UTF-8 text (byte 0x00)", 2),
    "latin.csv": ("basket_id,item_id\n1,caf\xe9\n".encode("latin-1"), "not UTF-8 text (byte 0xe9)", 2),
    "wrong.txt.gz": (b"a b c", "not a complete gzip file", None),
    "cut.txt.gz": (gzip.compress(b"a b\n" * 99)[:20], "not a complete gzip file", None),
    "columns.csv": (b"order,sku\n1,a\n", "there is no column 'basket_id' (the columns are: order, sku)", 1),
    "ragged.csv": (b"basket_id,item_id\n1,a\n2,b,c\n", "3 fields, but the header has 2", 3),
    "quote.csv": (b'basket_id,item_id\n1,a\n2,"b\n3,c\n', "cannot be parsed as CSV", 4),
    "missing.csv": (b"basket_id,item_id\n1,a\n,b\n", "the row has no basket_id", 3),
    "no_item.csv": (b"basket_id,item_id\n1,a\n2, \n", "the row has no item_id", 3),
    "header_only.csv": (b"basket_id,item_id\n", "no basket with an item", None),
    "quantity.csv": (
        b"basket_id,item_id,quantity\n1,a,1\n1,b,many\n",
        "the quantity 'many' is not a number",
        3,
    ),
    "time.csv": (b"basket_id,item_id,timestamp\n1,a,yesterday\n", "the timestamp 'yesterday' is neither", 2),
    "broken.jsonl": (b'{"basket_id": 1, "item_id": "a"}\n{"basket_id": 1,\n', "the line is not JSON", 2),
    "list.jsonl": (b'{"basket_id": 1, "item_id": "a"}\n[1, "a"]\n', "not a JSON object", 2),
    "nested.jsonl": (
        b'{"basket_id": 1, "item_id": "a"}\n{"basket_id": 2, "item_id": ["a", "b"]}\n',
        "'item_id' must be a string or a number",
        2,
    ),
    "keys.jsonl": (b'{"order": 1, "sku": "a"}\n', "there is no column 'basket_id'", None),
    "junk.parquet": (b"PAR1junk", "cannot be read as Parquet", None),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_input_names_file_and_line(tmp_path: Path, name: str) -> None:
    content, message, line = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as error:
        read_baskets(str(tmp_path / name))
    place = f"{tmp_path / name}, line {line}: " if line else f"{tmp_path / name}: "
    assert str(error.value).startswith(place)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_file_and_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_baskets(str(tmp_path / "nothing.csv"))
    with pytest.raises(DataError, match="has no data file"):
        read_baskets(str(tmp_path))


def test_reading_rules_that_drop_everything(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("a b\nc d\n")
    with pytest.raises(DataError, match="rules drop all baskets"):
        read_baskets(str(tmp_path / "b.txt"), ReadingRules(min_item_count=2))


def test_item_table_formats(tmp_path: Path) -> None:
    rows = [
        {"item_id": "milk", "name": "Milk, fresh", "category": "dairy", "price": "1.5", "in_stock": "yes"},
        {"item_id": "tea", "name": None, "category": None, "price": None, "in_stock": "False"},
    ]
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "i.csv")
    frame.write_parquet(tmp_path / "i.parquet")
    (tmp_path / "i.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = [("milk", "Milk, fresh", "dairy", 1.5, True), ("tea", None, None, None, False)]
    for name in ("i.csv", "i.parquet", "i.jsonl"):
        assert read_item_table(str(tmp_path / name)).rows() == wanted, name


def test_describe_items_is_in_catalogue_order(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(LINES)
    (tmp_path / "i.csv").write_text("sku,name\neggs,Eggs\nmilk,Milk\nunsold,Nothing\n")
    baskets = read_baskets(str(tmp_path / "b.txt")).baskets
    items = describe_items(baskets, read_item_table(str(tmp_path / "i.csv"), {"item_id": "sku"}))
    assert items.ids == ("milk", "bread", "007", "eggs")
    assert items.names == ("Milk", None, None, "Eggs")
    assert items.counts == (3, 2, 1, 1)
    assert describe_items(baskets, None).names == (None,) * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,price\na,1\nb,cheap\n", "line 3: the price 'cheap' is not a number"),
        ("item_id,price\na,-1\n", "line 2: the price '-1' is not a number ≥ 0"),
        ("item_id,in_stock\na,maybe\n", "line 2: in_stock is 'maybe'"),
        ("item_id,name\na,A\nb,B\na,C\n", "item 'a' is listed twice (lines 2 and 4)"),
        ("id,name\na,A\n", "there is no column 'item_id'"),
    ],
)
def test_bad_item_tables(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "i.csv").write_text(text)
    with pytest.raises(DataError) as error:
        read_item_table(str(tmp_path / "i.csv"))
    assert message in str(error.value)


def test_keys_of_line_files_do_not_depend_on_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [rng.permutation(list("abcdefg"))[: rng.integers(1, 4)].tolist() for _ in range(400)]
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "baskets.txt").write_text("".join(" ".join(line) + "\n" for line in lines))
    (tmp_path / "two").mkdir()
    shuffled = [rng.permutation(lines[number]).tolist() for number in rng.permutation(400)]
    for name, part in (("x.txt", shuffled[:150]), ("y.txt", shuffled[150:])):
        (tmp_path / "two" / name).write_text("\n\n".join(",".join(line) for line in part))

    def keyed(folder: str) -> list[tuple[float, list[str]]]:
        found = read_baskets(str(tmp_path / folder)).baskets
        assert found.keys is not None
        named = [sorted(found.catalogue[row] for row in basket) for basket in found]
        return sorted(zip(found.keys.tolist(), named, strict=True))

    assert keyed("one") == keyed("two")
    assert len({key for key, _ in keyed("one")}) == 400


def test_equal_baskets_have_different_keys(tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text("a b\n" * 1000)
    found = read_baskets(str(tmp_path / "baskets.txt")).baskets
    assert found.keys is not None
    assert 20 < np.count_nonzero(found.keys < 0.05) < 90
    assert 0 <= found.keys.min() < found.keys.max() < 1


def test_keys_of_tables_depend_on_basket_id(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("basket_id,item_id\n7,a\n8,b\n")
    (tmp_path / "two.csv").write_text("basket_id,item_id\n8,c\n6,a\n7,a\n7,d\n")
    one, two = (read_baskets(str(tmp_path / f"{name}.csv")).baskets.keys for name in ("one", "two"))
    assert one is not None
    assert two is not None
    assert one.tolist() == [two[2], two[0]]


@pytest.mark.parametrize("depth", [990, 1010, 100_000])
@pytest.mark.parametrize(
    "line", ['{"basket_id": 1, "item_id": DEEP}', '{"basket_id": 1, "item_id": "a", "more": DEEP}', "DEEP"]
)
def test_deeply_nested_json_names_line(tmp_path: Path, depth: int, line: str) -> None:
    deep = line.replace("DEEP", "[" * depth + "]" * depth)
    (tmp_path / "baskets.jsonl").write_text(f'{{"basket_id": 1, "item_id": "b"}}\n{deep}\n')
    try:
        found = read_baskets(str(tmp_path / "baskets.jsonl")).baskets
    except DataError as error:
        assert "baskets.jsonl, line 2: " in str(error)
    else:  # unused columns are not checked, up to polars' own limit
        assert found.catalogue == ("a", "b")
        assert "more" in line
    (tmp_path / "other.jsonl").write_text(f'{{"more": {"[" * depth + "]" * depth}}}\n')
    with pytest.raises(DataError, match=r"other\.jsonl"):
        read_baskets(str(tmp_path / "other.jsonl"))
