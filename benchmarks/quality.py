"""Quality of next items and bundles, compared with baselines: `python -m benchmarks.quality --data DIR`.

For each data set and seed, 2,000 baskets are held out, Tripod is trained with `--tune quick`, the baselines
are fitted to the same baskets, and all models are evaluated on the same queries. Nothing is tuned by hand:
each model chooses its hyperparameters on the validation baskets of the seed.
"""

from __future__ import annotations

import gc
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.machine import RESULTS, describe_machine, save_results
from benchmarks.quality_page import write_page
from benchmarks.quality_sets import measure_sets
from training.baselines import BASELINES, fit_baselines
from training.baselines.blend import Blend
from training.baskets import Baskets
from training.demo import write_demo_data
from training.evaluation.metrics import NLL, rank_metrics
from training.evaluation.next_item_calibration import calibration_of
from training.evaluation.queries import Protocol, hold_one_out, random_prefixes
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.options import FitOptions
from training.pipeline import train_model
from training.reading import ReadingRules, read_baskets
from training.recommender import Recommender
from training.splitting import split, validation_size

METRICS = ("hit@10", "ndcg@10", "mpr", NLL)
HOLDOUT = 2000

console = Console()


def main(  # noqa: PLR0917 - a command's options
    data: Annotated[
        Path | None, typer.Option(help="Folder of *.txt.gz basket files, in addition to the groceries.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds to average over.")] = 3,
    first_seed: Annotated[int, typer.Option(help="First seed.")] = 0,
    steps: Annotated[int, typer.Option(help="Number of steps of each fit.")] = FitOptions().steps,
    only: Annotated[str, typer.Option(help="Only data sets whose name contains this.")] = "",
    page: Annotated[bool, typer.Option(help="Only write the page from the last results.")] = False,
) -> None:
    """Run the benchmark, save benchmarks/results/quality.json and write docs/quality.md."""
    if not page:
        runs: list[dict[str, Any]] = []
        for name, baskets in data_sets(data, only):
            for seed in range(first_seed, first_seed + seeds):
                runs.append({"data": name, "seed": seed, **_measure(baskets, seed, steps)})
                console.print(_line(runs[-1]))
                save_results("quality", {"holdout": HOLDOUT, "steps": steps, "runs": runs})
    write_page(json.loads((RESULTS / "quality.json").read_text()))
    console.print(describe_machine())


def data_sets(folder: Path | None, only: str) -> Iterator[tuple[str, Baskets]]:
    """The basket files of the folder and the demo's groceries, if the name contains `only`."""
    for file in sorted(folder.glob("*.txt.gz")) if folder else []:
        if only in file.name:
            yield file.name.split(".")[0], read_baskets(str(file)).baskets
    if only in "complete_journey_types":
        with tempfile.TemporaryDirectory() as scratch:
            written = write_demo_data("groceries", Path(scratch))
            yield "complete_journey_types", read_baskets(str(written.baskets), ReadingRules()).baskets


def _measure(baskets: Baskets, seed: int, steps: int) -> dict[str, Any]:
    validation = validation_size(len(baskets), tuned=True)
    parts = split(baskets, validation=validation, holdout=HOLDOUT, seed=seed)
    learned = train_model(parts, FitOptions(seed=seed, steps=steps), effort="quick")
    kernel = learned.result.kernel
    tripod = TripodModel(learned.next_item)
    peers, skipped = fit_baselines(parts.train, parts.validation, (*BASELINES, Blend))
    plain = TripodModel.of_kernel(kernel)
    queries = hold_one_out(parts.test, Protocol.PAPER, np.random.default_rng(seed))
    models: list[tuple[str, Recommender]] = [("tripod", tripod), ("plain", plain)]
    models += [(peer.name, peer) for peer in peers]
    marks = {name: rank_metrics(rank_targets(model, queries)) for name, model in models}
    found = {
        "items": kernel.size,
        "baskets": len(baskets),
        "queries": len(queries),
        "fit_seconds": learned.result.seconds,
        "validation_log_likelihood": learned.result.validation,
        "tuning": learned.tuning.as_dict() if learned.tuning else None,
        "skipped": skipped,
        "next_item": {name: _figures(marks[name], marks["tripod"]) for name in marks},
        "calibration": _calibration(tripod, parts.test, seed),
        "sets": measure_sets(tripod, learned.knobs, [plain, *peers], parts, seed),
    }
    del peers, models
    gc.collect()
    return found


def _calibration(tripod: TripodModel, test: Baskets, seed: int) -> dict[str, Any] | None:
    prefixes, _ = random_prefixes(test, 1, np.random.default_rng(seed))
    found = calibration_of(tripod.model, prefixes)
    return None if found is None else asdict(found)


def _figures(own: dict[str, Any], tripod: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The mean of each metric and Tripod's lead over it, paired by query, with standard errors."""
    figures = {}
    for metric in (metric for metric in METRICS if metric in own):
        lead = tripod[metric] - own[metric]
        figures[metric] = {
            "mean": float(own[metric].mean()),
            "error": float(own[metric].std() / len(lead) ** 0.5),
            "lead": float(lead.mean()),
            "lead_error": float(lead.std() / len(lead) ** 0.5),
        }
    return figures


def _line(run: dict[str, Any]) -> str:
    figures = {
        name: "/".join(f"{figure['mean']:.2f}" for figure in found.values())
        for name, found in run["next_item"].items()
    }
    return f"{run['data']} seed {run['seed']}: {figures}"


if __name__ == "__main__":
    typer.run(main)
