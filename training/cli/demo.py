"""`python -m training demo`: train a demo model on data from a Python package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from model_store import ModelStore, default_data
from model_store.places import DEFAULT_DATA
from training.cli.common import Store, console, report_errors
from training.cli.fit import fit_command
from training.demo import Dataset, write_demo_data


@report_errors()
def demo(
    *,
    store: Store,
    data: Annotated[
        Path,
        typer.Option(
            help="Folder for the baskets and items files.",
            default_factory=default_data,
            show_default=DEFAULT_DATA,
        ),
    ],
    dataset: Annotated[
        Dataset, typer.Option(help="Supermarket baskets, or a tiny synthetic set for tests.")
    ] = "groceries",
    if_empty: Annotated[
        bool, typer.Option("--if-empty", help="Do nothing if the model store has an active model.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
) -> None:
    """Write the demo data, train a model on it, publish and activate it."""
    if if_empty and (active := ModelStore(store).active()) is not None:
        console.print(f"the model store already has an active model, {active}: nothing to do")
        return
    console.print("preparing the data …")
    files = write_demo_data(dataset, data)
    console.print(files.notice, soft_wrap=True)
    large = dataset == "groceries"
    fit_command(
        baskets=str(files.baskets),
        items=str(files.items),
        store=store,
        rank=50 if large else 20,
        skew_rank=100 if large else 40,
        steps=600 if large else 400,
        min_item_count=20 if large else 1,
        seed=seed,
    )
