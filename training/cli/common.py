"""Shared by the commands: options for reading data, the model store option, and error messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from model_store import BadRequestError, ModelStore, ModelStoreError, default_store
from model_store.places import DEFAULT_STORE
from training.errors import DataError, OptionError, TrainingError
from training.reading import ReadingRules, ShopperRules

# Messages go to stderr; stdout is for results that other programs may read.
console = Console(stderr=True, highlight=False)


DataFormat = Literal["lines", "csv", "parquet", "jsonl"]
MaxBasketSize = Annotated[int, typer.Option(min=1, help="Drop baskets with more items than this.")]
MinItemCount = Annotated[int, typer.Option(min=1, help="Drop items that are in fewer baskets than this.")]
Format = Annotated[DataFormat | None, typer.Option(help="File format, if the suffix does not show it.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="OURS=THEIRS", help="Name of a column in your table, e.g. basket_id=order."
    ),
]
ItemColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--items-column", metavar="OURS=THEIRS", help="Name of a column in the item table, e.g. item_id=sku."
    ),
]
Store = Annotated[
    str,
    typer.Option(
        envvar="TRIPOD_STORE",
        help="Model store: a folder or an fsspec URL.",
        default_factory=default_store,
        show_default=DEFAULT_STORE,
    ),
]


def reading_rules(
    max_basket_size: int, min_item_count: int, data_format: DataFormat | None, columns: list[str] | None
) -> ReadingRules:
    """Reading rules from the command-line options."""
    mapping = column_mapping(columns, ("basket_id", "item_id", "timestamp", "quantity", "shopper_id"))
    return ReadingRules(max_basket_size, min_item_count, data_format, mapping)


def shopper_rules(store: ModelStore) -> ShopperRules:
    """How shopper ids are hashed, by TRIPOD_SHOPPER_KEY or the store's key, and who is forgotten."""
    return ShopperRules.of(store, os.environ.get("TRIPOD_SHOPPER_KEY") or None)


def column_mapping(pairs: list[str] | None, known: tuple[str, ...]) -> Mapping[str, str]:
    """A mapping from `OURS=THEIRS` options."""
    mapping = {}
    for pair in pairs or []:
        ours, equals, theirs = pair.partition("=")
        if not equals or not theirs or ours not in known:
            raise OptionError(f"'{pair}' must be OURS=THEIRS, with OURS one of {', '.join(known)}")
        mapping[ours] = theirs
    return mapping


@contextmanager
def report_errors() -> Iterator[None]:
    """Print errors that a user can fix as one message on stderr; exit code 2 for bad input, else 1."""
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
