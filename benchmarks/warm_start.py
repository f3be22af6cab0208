"""Savings by `--init previous`: `python -m benchmarks.warm_start --data uk_retail.txt.gz`.

The baskets are in order of time. A model of the first 80 % exists, and the rest is new. The result of a short
fit that starts from that model is compared with the number of steps that a fresh fit on all baskets needs for
the same validation log-likelihood. The validation baskets are from the newest fifth; no fit learns from them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import save_results
from training.baskets import Baskets, translate
from training.fitting import FitResult, fit
from training.fitting.warm_start import Previous
from training.options import FitOptions
from training.reading import read_baskets
from training.splitting import split

_NEW = 0.2  # the share of new baskets
_VALIDATION = 300


@dataclass(frozen=True)
class Run:
    """One fit on all baskets."""

    name: str
    steps: int
    start: float  # validation log-likelihood before the first step
    best: float
    best_step: int
    fresh_step: int | None  # the first evaluated step at which the fresh fit reaches this best


def main(
    data: Annotated[Path, typer.Option(help="Baskets, oldest first.")],
    steps: Annotated[int, typer.Option(help="Steps of the fresh fit.")] = 1000,
    rank: int = 50,
    skew_rank: int = 100,
    seed: int = 0,
) -> None:
    """Fit the old baskets, then all baskets: a fresh fit, and fits that start from the old model."""
    baskets = read_baskets(str(data)).baskets
    old_count = round(len(baskets) * (1 - _NEW))
    order = np.random.default_rng(seed).permutation(np.arange(old_count, len(baskets)))
    validation, newest = baskets.select(order[:_VALIDATION]), order[_VALIDATION:]
    old = baskets.select(np.arange(old_count))
    old = translate(old, [item for item, count in zip(old.catalogue, old.counts, strict=True) if count])
    everything = baskets.select(np.concatenate([np.arange(old_count), newest]))
    options = FitOptions(rank=rank, skew_rank=skew_rank, steps=steps, seed=seed, patience=steps)

    parts = split(old, seed=seed)
    before = fit(parts.train, parts.validation, options)
    previous = Previous(before.kernel, options.kernel, old.catalogue)
    fresh = fit(everything, validation, options)
    runs = [_run("afresh", fresh, fresh)]
    for share in (0.25, 0.1):
        warm = replace(options, init="previous", steps=round(steps * share))
        runs.append(_run("previous", fit(everything, validation, warm, previous=previous), fresh))
    _show(runs, baskets)
    save_results(
        "warm_start",
        {"data": data.name, "runs": [asdict(run) for run in runs]},
    )


def _run(name: str, result: FitResult, fresh: FitResult) -> Run:
    reached = (step for step, value in fresh.curve if value >= result.validation)
    return Run(
        name,
        result.options.steps,
        result.curve[0][1],
        result.validation,
        result.best_step,
        next(reached, None),
    )


def _show(runs: list[Run], baskets: Baskets) -> None:
    table = Table("start", "steps", "at step 0", "best", "at step", "step at which the fresh fit is as good")
    for run in runs:
        reached = "never" if run.fresh_step is None else str(run.fresh_step)
        table.add_row(
            run.name, str(run.steps), f"{run.start:.2f}", f"{run.best:.2f}", str(run.best_step), reached
        )
    console = Console()
    console.print(f"{len(baskets):,} baskets, {len(baskets.catalogue):,} items; validation log-likelihood")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
