"""`python -m training bundles`: the best bundles of the whole catalogue."""

from __future__ import annotations

import csv
import json
import sys
from typing import Annotated, Literal

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from model_store import ModelStore, StoredModel
from ndpp.sets import Attraction, Constraints, CountedSet, disjoint
from ndpp.sets.attraction import LEAST_LIFT
from ndpp.sets.top_bundles import STARTS
from training.cli.common import Store, console, report_errors
from training.errors import OptionError

_STARTS_PER_BUNDLE = 50  # pairs to grow bundles from: most bundles share items with better ones

Output = Literal["table", "csv", "json"]


@report_errors()
def bundles(
    *,
    store: Store,
    model: Annotated[str | None, typer.Option(help="Version.", show_default="the active one")] = None,
    top: Annotated[int, typer.Option(min=1, max=10_000, help="How many bundles.")] = 100,
    k: Annotated[int, typer.Option(min=2, max=10, help="How many items a bundle has.")] = 3,
    min_lift: Annotated[
        float, typer.Option(min=1.0, help="The lowest lift of two items of a bundle.")
    ] = LEAST_LIFT,
    category: Annotated[str | None, typer.Option(help="Only bundles with an item of this category.")] = None,
    output: Annotated[Output, typer.Option("--format", help="Format of the output.")] = "table",
) -> None:
    """Print bundles whose items are bought together far more often than by chance; no two share an item."""
    stored = ModelStore(store).open(model)
    predictor = stored.set_predictor
    if predictor is None:
        raise OptionError(
            f"model {stored.version} has no counts of baskets: train a version with this release and tuning"
        )
    categories = stored.items.categories
    if category is not None and category not in categories:
        raise OptionError(f"there is no category {category!r}")
    starts = max(STARTS, _STARTS_PER_BUNDLE * top)
    attraction = Attraction(predictor.relations, predictor.baskets, min_lift)
    grown = attraction.sets(k, Constraints(np.ones(stored.kernel.size)), starts=starts)
    fitting = (
        each
        for each in grown
        if len(each.rows) == k and (category is None or category in {categories[row] for row in each.rows})
    )
    found = disjoint(fitting, top)
    if output == "json":
        rows = [_record(stored, each) for each in found]
        json.dump({"model_version": stored.version, "k": k, "bundles": rows}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif output == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow([*(f"item_{place}" for place in range(1, k + 1)), "baskets", "by_chance"])
        for each in found:
            ids = [stored.items.ids[row] for row in each.rows]
            writer.writerow([*ids, each.together, f"{each.by_chance:.2f}"])
    else:
        _print_table(stored, found, k)
    if len(found) < top:
        console.print(f"Only {len(found)} bundles of {k} items without common items were found.")


def _record(stored: StoredModel, each: CountedSet) -> dict[str, object]:
    return {
        "items": [stored.items.ids[row] for row in each.rows],
        "names": [stored.items.names[row] for row in each.rows],
        "baskets": each.together,
        "by_chance": round(each.by_chance, 3),
    }


def _print_table(stored: StoredModel, found: list[CountedSet], k: int) -> None:
    table = Table(title=f"The best bundles of {k} items, model {stored.version}", title_justify="left")
    table.add_column("items")
    table.add_column("baskets", justify="right")
    table.add_column("by chance", justify="right")
    for each in found:
        names = (stored.items.names[row] or stored.items.ids[row] for row in each.rows)
        table.add_row(" + ".join(names), f"{each.together:,}", f"{each.by_chance:,.1f}")
    Console(highlight=False).print(table)
