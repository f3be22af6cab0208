"""Time and memory of training: `python -m benchmarks.training [--data DIR]`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine, save_results
from benchmarks.padded import PaddedNdpp
from training.baskets import Baskets
from training.fitting import Progress, fit, resolve_options
from training.fitting.fit_state import FitState
from training.fitting.likelihood import group_by_size
from training.options import FitOptions
from training.reading import read_baskets
from training.splitting import split
from training.synthetic import generate_baskets

PAPER_TEST_LOG_LIKELIHOOD = {"amazon_apparel": -9.63, "amazon_3category": -17.14, "uk_retail": -100.65}
CATALOGUES = (10_000, 20_000, 50_000, 100_000, 200_000, 371_410, 400_000)
console = Console()


def against_padded(baskets: Baskets, steps: int) -> dict[str, float]:
    """Seconds per step, ours and the padded float64 one, for the same model."""
    options = resolve_options(FitOptions(alpha=0, beta=0, diagonal=False), baskets)
    state = FitState(baskets, baskets.select(np.arange(300)), options)
    padded = PaddedNdpp(state.model.F, state.model.rank)
    ours, theirs = [], []
    rng = np.random.default_rng(0)
    for _ in range(steps):
        groups = group_by_size(baskets, rng.permutation(len(baskets))[: options.batch_size])
        theirs.append(_seconds(lambda groups=groups: padded.step(groups)))  # type: ignore[misc]
        ours.append(_seconds(state.advance))
    medians = {"ours": float(np.median(ours)), "padded": float(np.median(theirs))}
    return {**medians, "ratio": medians["padded"] / medians["ours"]}


def one_size(items: int, steps: int) -> dict[str, float]:
    """Step time and peak memory of a process that trains K = 150 in batches of 800."""
    torch.set_num_threads(1)
    train = generate_baskets(items, 50_000, mean_size=20, seed=1)
    options = resolve_options(FitOptions(rank=150, batch_size=800), train)
    state = FitState(train, train.select(np.arange(300)), options)
    state.evaluate()
    times = [_seconds(state.advance) for _ in range(steps)]
    # Not ru_maxrss: a process inherits it from its parent.
    peak = int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) / 2**20
    return {
        "items": len(train.catalogue),
        "rank": state.model.F.shape[1],
        "seconds": min(times),
        "peak_gib": peak,
    }


def growth(steps: int) -> list[dict[str, float]]:
    """`one_size` for every catalogue, each in its own process to measure its own peak memory."""
    rows = []
    for items in CATALOGUES:
        command = [
            sys.executable,
            "-m",
            "benchmarks.training",
            "--one-size",
            str(items),
            "--steps",
            str(steps),
        ]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return rows


def doubling(steps: int) -> dict[str, float]:
    """The ratio of step times if the catalogue doubles at the same rank; both take steps in turns."""
    states = {}
    for items in (100_000, 200_000):
        train = generate_baskets(items, 50_000, mean_size=20, seed=1)
        options = resolve_options(FitOptions(rank=100, skew_rank=50, batch_size=800), train)
        states[items] = FitState(train, train.select(np.arange(300)), options)
    times: dict[int, list[float]] = {items: [] for items in states}
    for _ in range(steps):
        for items, state in states.items():
            times[items].append(_seconds(state.advance))
    small, large = (float(np.median(times[items])) for items in states)
    return {"small": small, "large": large, "ratio": large / small}


def _seconds(work: Callable[[], object]) -> float:
    """Processor time, which other programs affect least; everything runs on one thread."""
    began = time.process_time()
    work()
    return time.process_time() - began


def time_to_paper(data: Path) -> list[dict[str, float | str]]:
    """Seconds until the test log-likelihood exceeds the paper's, with the default options."""
    rows: list[dict[str, float | str]] = []
    for name, wanted in PAPER_TEST_LOG_LIKELIHOOD.items():
        file = data / f"{name}.txt.gz"
        if not file.exists():
            continue
        parts = split(read_baskets(str(file)).baskets, validation=300, holdout=2000, seed=0)
        began = time.monotonic()
        reached: list[float] = []

        def note(
            progress: Progress, wanted: float = wanted, began: float = began, reached: list[float] = reached
        ) -> None:
            if progress.validation > wanted:
                reached.append(time.monotonic() - began)

        # Test baskets instead of validation baskets: this measures time and does not choose a model.
        result = fit(parts.train, parts.test, FitOptions(), callback=note)
        seconds = reached[0] if reached else float("nan")
        rows.append(
            {
                "data": name,
                "paper": wanted,
                "seconds": seconds,
                "best": result.validation,
                "total": result.seconds,
            }
        )
    return rows


def main(
    data: Annotated[Path | None, typer.Option(help="A folder with the paper's data sets.")] = None,
    steps: Annotated[int, typer.Option(help="Steps to time.")] = 5,
    one_size_only: Annotated[int | None, typer.Option("--one-size", hidden=True)] = None,
) -> None:
    """Measure and print; the figures also go to benchmarks/results/training.json."""
    torch.set_num_threads(1)
    if one_size_only is not None:
        print(json.dumps(one_size(one_size_only, steps)))
        return
    console.print(describe_machine())
    uk = data / "uk_retail.txt.gz" if data else None
    baskets = (
        read_baskets(str(uk)).baskets if uk and uk.exists() else generate_baskets(3_800, 20_000, mean_size=19)
    )
    figures: dict[str, object] = {"step_against_padded": against_padded(baskets, steps)}
    console.print("a step at UK Retail size, seconds:", figures["step_against_padded"])
    figures["doubling"] = doubling(steps)
    console.print("a step when the catalogue doubles, seconds:", figures["doubling"])
    rows = growth(steps)
    figures["growth"] = rows
    table = Table("items", "rank", "s / step", "peak GiB", title="K = 150, batches of 800")
    for row in rows:
        table.add_row(
            f"{row['items']:,}", f"{row['rank']}", f"{row['seconds']:.2f}", f"{row['peak_gib']:.2f}"
        )
    console.print(table)
    if data is not None:
        figures["time_to_paper"] = time_to_paper(data)
        console.print("to the paper's test log-likelihood:", figures["time_to_paper"])
    console.print(f"saved to {save_results('training', figures)}")


if __name__ == "__main__":
    typer.run(main)
