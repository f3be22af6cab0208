"""Parse CSV, JSON Lines, Parquet and line files into polars frames of text columns with line numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from training.errors import DataError
from training.reading.sources import Source

LINE = "__line"


def read_table(
    source: Source, required: Sequence[str], optional: Sequence[str], columns: Mapping[str, str]
) -> pl.DataFrame:
    """The required and available optional columns of a table as text, plus `LINE`.

    `columns` maps our column names to the file's. Blank rows are dropped; a blank cell is null.
    """
    wanted = {name: columns.get(name, name) for name in (*required, *optional)}
    frame = _READERS[source.format](source, list(wanted.values()))
    present = {name: theirs for name, theirs in wanted.items() if theirs in frame.columns}
    for name in (*required, *(name for name in optional if name in columns)):
        if name not in present:
            columns_there = ", ".join(frame.columns) or "none"
            raise DataError(
                f"there is no column '{wanted[name]}' (the columns are: {columns_there}); "
                f"name it with --column {name}=…",
                source.name,
                1 if source.format == "csv" else None,
            )
    frame = frame.with_row_index(LINE, offset=2 if source.format == "csv" else 1)
    frame = frame.select(LINE, *(pl.col(theirs).alias(name) for name, theirs in present.items()))
    text = [
        pl.col(name).str.strip_chars().replace("", None)
        for name, dtype in frame.schema.items()
        if dtype == pl.String
    ]
    frame = frame.with_columns(text)
    return frame.filter(~pl.all_horizontal(pl.exclude(LINE).is_null()))


def read_basket_lines(source: Source) -> pl.DataFrame:
    """One basket per line, ids separated by blanks or commas: columns items (a list of ids) and `LINE`."""
    text = source.content.decode("utf-8-sig")
    lines = pl.Series(text.splitlines(), dtype=pl.String)
    frame = pl.DataFrame({LINE: pl.int_range(1, len(lines) + 1, dtype=pl.UInt32, eager=True), "items": lines})
    frame = frame.with_columns(pl.col("items").str.extract_all(r"[^\s,]+"))
    return frame.filter(pl.col("items").list.len() > 0)


def _read_csv(source: Source, _: list[str]) -> pl.DataFrame:
    try:
        return pl.read_csv(source.content, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise _first_bad_csv_line(source) or DataError(
            f"the file cannot be parsed as CSV ({error})", source.name
        ) from error


def _first_bad_csv_line(source: Source) -> DataError | None:
    """Parse again to find the faulty line, which polars does not name."""
    reader = csv.reader(io.StringIO(source.content.decode("utf-8-sig"), newline=""), strict=True)
    try:
        width = len(next(reader))
        for row in reader:
            if len(row) > width:
                message = f"{len(row)} fields, but the header has {width}"
                return DataError(message, source.name, reader.line_num)
    except csv.Error as error:
        return DataError(f"the line cannot be parsed as CSV ({error})", source.name, reader.line_num)
    return None


def _read_json_lines(source: Source, wanted: list[str]) -> pl.DataFrame:
    try:
        frame = pl.read_ndjson(io.BytesIO(source.content), schema=dict.fromkeys(wanted, pl.String))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as failure:
        raise _first_bad_json_line(source, wanted) or DataError(
            f"the file cannot be parsed as JSON Lines ({failure})", source.name
        ) from failure
    looks_nested = pl.any_horizontal(pl.all().str.contains(r"^[\[{]"))
    if frame.select(looks_nested.any()).item() and (error := _first_bad_json_line(source, wanted)):
        raise error
    # polars returns a column that is in no line as all null; treat it as missing.
    frame = frame.select(name for name in wanted if frame[name].is_not_null().any())
    return frame if frame.width else pl.DataFrame(schema=_first_keys(source))


def _first_keys(source: Source) -> list[str]:
    return list(next(_json_objects(source))[1])


def _first_bad_json_line(source: Source, wanted: list[str]) -> DataError | None:
    """Parse again to find the faulty line, which polars does not name."""
    try:
        for number, record in _json_objects(source):
            for name in wanted:
                if isinstance(record.get(name), (dict, list)):
                    return DataError(f"'{name}' must be a string or a number", source.name, number)
    except DataError as error:
        return error
    return None


def _json_objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their line numbers."""
    for number, line in enumerate(source.content.decode("utf-8-sig").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"the line is not JSON ({error.msg})", source.name, number) from None
        except RecursionError:
            raise DataError("the line is nested too deeply", source.name, number) from None
        if not isinstance(record, dict):
            raise DataError("the line is not a JSON object", source.name, number)
        yield number, record


def _read_parquet(source: Source, wanted: list[str]) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(source.content))
        return frame.with_columns(
            pl.col(name).cast(pl.String)
            for name in wanted
            if name in frame.columns and _is_plain(frame[name])
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the file cannot be read as Parquet ({error})", source.name) from error


def _is_plain(column: pl.Series) -> bool:
    """Dates and times keep their type; all other columns become text."""
    return not column.dtype.is_temporal()


def _read_lines_as_table(source: Source, _: list[str]) -> pl.DataFrame:
    raise DataError("a table must be CSV, Parquet or JSON Lines; is --data-format missing?", source.name)


_READERS = {
    "csv": _read_csv,
    "jsonl": _read_json_lines,
    "parquet": _read_parquet,
    "lines": _read_lines_as_table,
}
