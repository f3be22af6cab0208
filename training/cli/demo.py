"""`python -m training demo`: a model to try the service with, from data that comes with a package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from model_store import ModelStore
from training.cli.common import DEFAULT_STORE, Store, clear_errors, console
from training.cli.fit import fit_command
from training.demo import Dataset, write_demo_data


@clear_errors()
def demo(
    store: Store = DEFAULT_STORE,
    data: Annotated[Path, typer.Option(help="The folder to write the baskets and items to.")] = Path("data"),
    dataset: Annotated[
        Dataset, typer.Option(help="Supermarket baskets, or a tiny seeded set for tests.")
    ] = "groceries",
    if_empty: Annotated[
        bool, typer.Option("--if-empty", help="Do nothing if the store has an active model.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
) -> None:
    """Write the demo's baskets and items, learn a kernel from them, publish and activate it."""
    if if_empty and (active := ModelStore(store).active()) is not None:
        console.print(f"the store has an active model, {active}: nothing to do")
        return
    console.print("preparing the baskets …")
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
