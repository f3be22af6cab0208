"""What the commands share: options for reading data, where the store is, and how errors reach a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from model_store import BadRequestError, ModelStoreError
from training.errors import DataError, OptionError, TrainingError
from training.reading import ReadingRules

# People read stderr; stdout carries only what another program may want to read.
console = Console(stderr=True, highlight=False)


class DataFormat(StrEnum):
    """The formats of basket files."""

    lines = "lines"
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


MaxBasketSize = Annotated[int, typer.Option(min=1, help="Drop baskets with more items than this.")]
MinItemCount = Annotated[int, typer.Option(min=1, help="Drop items that are in fewer baskets than this.")]
Format = Annotated[DataFormat | None, typer.Option(help="The file format, if its ending does not tell.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="OURS=THEIRS", help="A column's name in your table, e.g. basket_id=order."
    ),
]
ItemColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--items-column", metavar="OURS=THEIRS", help="The same for the item table, e.g. item_id=sku."
    ),
]
Store = Annotated[
    str,
    typer.Option(
        envvar="TRIPOD_STORE", help="The model store: a folder or an fsspec URL.", show_default=True
    ),
]
DEFAULT_STORE = "model_store/artifacts"


def reading_rules(
    max_basket_size: int, min_item_count: int, data_format: DataFormat | None, columns: list[str] | None
) -> ReadingRules:
    """The rules that the options ask for."""
    mapping = column_mapping(columns, ("basket_id", "item_id", "timestamp", "quantity"))
    return ReadingRules(max_basket_size, min_item_count, data_format and data_format.value, mapping)


def column_mapping(pairs: list[str] | None, known: tuple[str, ...]) -> Mapping[str, str]:
    """`OURS=THEIRS` options as a mapping."""
    mapping = {}
    for pair in pairs or []:
        ours, equals, theirs = pair.partition("=")
        if not equals or not theirs or ours not in known:
            raise OptionError(f"'{pair}' is not OURS=THEIRS with OURS one of {', '.join(known)}")
        mapping[ours] = theirs
    return mapping


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what a user can mend into one sentence on stderr: exit code 2 for bad input, 1 for the rest."""
    try:
        yield
    except (DataError, OptionError, BadRequestError) as error:
        _leave(error, 2)
    except (TrainingError, ModelStoreError) as error:
        _leave(error, 1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _leave(OSError(f"{error.strerror or error}{where}"), 1)


def _leave(error: Exception, code: int) -> None:
    sys.stdout.flush()
    console.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
    raise typer.Exit(code)
