"""Compare the numbers of the running service with held-out baskets: `python -m benchmarks.truth --data DIR`.

For each data set and seed, 2,000 baskets are held out, `python -m training fit --tune quick` learns from the
others, `python -m app serve` is started, and its answers over HTTP about the held-out baskets are compared
with the observed values. The page shows the figures next to the goals.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.http_servers import running
from benchmarks.machine import RESULTS, describe_machine, save_results
from benchmarks.quality import data_sets
from benchmarks.truth_judge import judge
from benchmarks.truth_page import console_table, write_page
from model_store import ModelStore
from training.baskets import Baskets
from training.evaluation.metrics import NLL, rank_metrics
from training.evaluation.queries import Protocol, Queries, hold_one_out, translate_queries
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.options import FitOptions

HOLDOUT = 2000
METRICS = ("hit@10", "ndcg@10", "mpr")

console = Console()


def main(  # noqa: PLR0917 - a command's options
    data: Annotated[
        Path | None, typer.Option(help="Folder of *.txt.gz basket files, in addition to the groceries.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds per data set.")] = 1,
    first_seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    steps: Annotated[int, typer.Option(help="Number of steps of each fit.")] = FitOptions().steps,
    only: Annotated[str, typer.Option(help="Only data sets whose name contains this.")] = "",
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Keep training baskets, leave-one-out queries and model store of each run in DIR/NAME-SEED. "
            "A model that is already there is evaluated without another fit."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Compare with other models on the leave-one-out queries: DIR/NAME-SEED is a model store "
            "whose active model was fitted to the same training baskets."
        ),
    ] = None,
    page: Annotated[bool, typer.Option(help="Only write the page from the last results.")] = False,
) -> None:
    """Run the benchmark, save benchmarks/results/truth.json and write docs/truth.md."""
    if not page:
        runs: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory() as scratch:
            for name, baskets in data_sets(data, only):
                for seed in range(first_seed, first_seed + seeds):
                    folder = (keep or Path(scratch)) / f"{name}-{seed}"
                    other = None if against is None else against / f"{name}-{seed}"
                    runs.append({"data": name, "seed": seed, **_measure(baskets, seed, steps, folder, other)})
                    save_results("truth", {"holdout": HOLDOUT, "steps": steps, "runs": runs})
                console.print(console_table([run for run in runs if run["data"] == name]))
    write_page(json.loads((RESULTS / "truth.json").read_text()))
    console.print(describe_machine())


def _measure(baskets: Baskets, seed: int, steps: int, folder: Path, against: Path | None) -> dict[str, Any]:
    order = np.random.default_rng(seed).permutation(len(baskets))
    held_out, rest = baskets.select(order[:HOLDOUT]), baskets.select(np.sort(order[HOLDOUT:]))
    queries = hold_one_out(held_out, Protocol.PAPER, np.random.default_rng(seed))
    folder.mkdir(parents=True, exist_ok=True)
    _write_baskets(rest, folder / "train.txt")
    _write_queries(queries, baskets.catalogue, folder / "queries.jsonl")
    store = folder / "store"
    if ModelStore(store).active() is None:
        _fit(folder / "train.txt", store, seed, steps)
    items = ModelStore(store).open().items.ids
    with _serving(store) as service:
        found = judge(service, items, held_out, seed)
    own = _marks(store, queries, baskets.catalogue)
    return {
        "items": len(items),
        "baskets": len(baskets),
        "held_out": len(held_out),
        "queries": len(queries),
        **found,
        "next_item": {metric: float(values.mean()) for metric, values in own.items()},
        "lead": None if against is None else _lead(own, _marks(against, queries, baskets.catalogue)),
    }


def _write_baskets(baskets: Baskets, path: Path) -> None:
    lines = (" ".join(baskets.catalogue[row] for row in basket) for basket in baskets)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_queries(queries: Queries, names: tuple[str, ...], path: Path) -> None:
    """Write queries in the format of `python -m training evaluate --queries`."""
    with path.open("w", encoding="utf-8") as file:
        for cart, target in zip(queries.carts, queries.targets, strict=True):
            file.write(json.dumps({"cart": [names[row] for row in cart], "target": names[target]}) + "\n")


def _fit(baskets: Path, store: Path, seed: int, steps: int) -> None:
    options = ["--tune", "quick", "--no-report", "--quiet", "--seed", str(seed), "--steps", str(steps)]
    command = ["training", "fit", "--baskets", str(baskets), "--store", str(store), *options]
    subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _serving(store: Path) -> Iterator[httpx.Client]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    serve, url = ["app", "serve", "--store", str(store)], f"http://127.0.0.1:{port}"
    with (
        running(serve, port, "/readyz", TRIPOD_RATE_LIMIT="0"),
        httpx.Client(base_url=url, timeout=60) as service,
    ):
        yield service


def _marks(store: Path, queries: Queries, names: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    """Each metric's value for every leave-one-out query, from the active model of a model store."""
    stored = ModelStore(store).open()
    asked = translate_queries(queries, names, stored.items.ids)
    marks = rank_metrics(rank_targets(TripodModel(stored.next_item), asked))
    return {metric: marks[metric] for metric in (*METRICS, NLL) if metric in marks}


def _lead(
    own: dict[str, NDArray[np.float64]], other: dict[str, NDArray[np.float64]]
) -> dict[str, dict[str, float]]:
    """The model's lead over the other one, paired by query, and half of its 95 % interval."""
    lead = {metric: own[metric] - other[metric] for metric in METRICS}
    return {
        metric: {
            "other": float(other[metric].mean()),
            "mean": float(ahead.mean()),
            "half": float(1.96 * ahead.std() / len(ahead) ** 0.5),
        }
        for metric, ahead in lead.items()
    }


if __name__ == "__main__":
    typer.run(main)
