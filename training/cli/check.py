"""`python -m training check FILE`: summarise baskets before training."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from training.cli.common import (
    Columns,
    Format,
    ItemColumns,
    MaxBasketSize,
    MinItemCount,
    column_mapping,
    reading_rules,
    report_errors,
)
from training.reading import read_baskets
from training.reading.item_table import ITEM_COLUMNS, read_item_table
from training.reading.summary import summarise, summary_table


@report_errors()
def check(
    baskets: Annotated[
        str, typer.Argument(metavar="FILE", help="Baskets: a file, a folder or an fsspec URL.")
    ],
    items: Annotated[str | None, typer.Option(help="Item table to check as well.")] = None,
    max_basket_size: MaxBasketSize = 100,
    min_item_count: MinItemCount = 1,
    data_format: Format = None,
    column: Columns = None,
    items_column: ItemColumns = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Read baskets like `fit`, and print a summary."""
    data = read_baskets(baskets, reading_rules(max_basket_size, min_item_count, data_format, column))
    summary = summarise(data)
    described = None
    if items is not None:
        table = read_item_table(items, column_mapping(items_column, ITEM_COLUMNS))
        described = len(set(data.baskets.catalogue) & set(table["item_id"]))
    if as_json:
        typer.echo(
            json.dumps({"source": baskets, **summary.as_dict(), "described_items": described}, indent=2)
        )
        return
    table_view = summary_table(summary, baskets)
    if described is not None:
        table_view.add_row("items found in the item table", f"{described:,} of {summary.items:,}")
    Console(highlight=False).print(table_view)
