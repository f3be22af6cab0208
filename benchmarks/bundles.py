"""Whole bundles against peers on unseen baskets: `python -m benchmarks.bundles --data DIR`.

Of each data set one basket in five is held out. Tripod is trained with `--tune quick` on the others and
learns P(set | cart); the peers learn from the same baskets. A bundle counts only if an unseen basket holds
all of it. Nothing is tuned on unseen baskets.
"""

from __future__ import annotations

import gc
import json
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.bundle_measures import (
    CART_SIZES,
    CLAIM_SIZES,
    measure_auc,
    measure_carts,
    measure_claims,
    measure_seeds,
    seed_rows,
)
from benchmarks.bundle_peers import choosers, train
from benchmarks.bundle_speed import SYNTHETIC_ITEMS, draw_carts, measure_speed, synthetic_predictor
from benchmarks.bundle_triples import measure_triples
from benchmarks.bundles_page import write_page
from benchmarks.machine import RESULTS, describe_machine, save_results
from benchmarks.quality import data_sets
from training.baskets import Baskets
from training.options import FitOptions
from training.splitting import split, validation_size

HELD_OUT = 5  # one basket in so many

console = Console()


def main(  # noqa: PLR0917 - a command's options
    data: Annotated[
        Path | None, typer.Option(help="Folder of *.txt.gz basket files, in addition to the groceries.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split, the fit and the queries.")] = 0,
    steps: Annotated[int, typer.Option(help="Number of steps of each fit.")] = FitOptions().steps,
    only: Annotated[
        str, typer.Option(help="Only data sets whose name contains this; the results of others are kept.")
    ] = "",
    items: Annotated[int, typer.Option(help="Items of the synthetic catalogue.")] = SYNTHETIC_ITEMS,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Keep the trained model of each data set in DIR/NAME-SEED.pickle. "
            "A model that is already there is evaluated without another fit. Load only your own files."
        ),
    ] = None,
    page: Annotated[bool, typer.Option(help="Only write the page from the last results.")] = False,
) -> None:
    """Run the benchmark, save benchmarks/results/bundles.json and write docs/bundles.md."""
    if not page:
        speed = measure_speed(*synthetic_predictor(items))
        console.print(f"speed of a synthetic catalogue: {speed}")
        done: list[str] = []
        for name, baskets in data_sets(data, only):
            kept = None if keep is None else keep / f"{name}-{seed}.pickle"
            run = {"data": name, **_measure(baskets, seed, steps, kept)}
            others = _earlier_runs() if only or done else []
            done.append(name)
            runs = sorted(
                [*(other for other in others if other["data"] != name), run], key=itemgetter("data")
            )
            save_results("bundles", {"seed": seed, "steps": steps, "speed": speed, "runs": runs})
            console.print(_line(run))
            gc.collect()
    write_page(json.loads((RESULTS / "bundles.json").read_text()))
    console.print(describe_machine())


def _earlier_runs() -> list[dict[str, Any]]:
    path = RESULTS / "bundles.json"
    return list(json.loads(path.read_text())["runs"]) if path.exists() else []


def _measure(baskets: Baskets, seed: int, steps: int, kept: Path | None) -> dict[str, Any]:
    validation = validation_size(len(baskets), tuned=True)
    parts = split(baskets, validation=validation, holdout=len(baskets) // HELD_OUT, seed=seed)
    trained = train(parts, FitOptions(seed=seed, steps=steps), kept)
    ways, rng = choosers(trained), np.random.default_rng(seed)
    seeds = seed_rows(trained.known.counts, rng)
    return {
        "items": trained.kernel.size,
        "baskets": len(baskets),
        "held_out": len(parts.test),
        "completion": {
            **{kind: measure_seeds(ways, rows, parts.test) for kind, rows in seeds.items()},
            **{f"cart{size}": measure_carts(ways, size, parts.test, rng) for size in CART_SIZES},
        },
        "from_nothing": measure_triples(trained),
        "auc": measure_auc(trained, rng),
        "claims": {size: measure_claims(trained, size, rng) for size in CLAIM_SIZES},
        "speed": measure_speed(trained.predictor, draw_carts(parts.test)),
    }


def _line(run: dict[str, Any]) -> str:
    found = {
        kind: {name: round(way["share"], 2) for name, way in part["ways"].items()}
        for kind, part in run["completion"].items()
    }
    return f"{run['data']}: {found}"


if __name__ == "__main__":
    typer.run(main)
