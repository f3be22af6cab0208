"""Time, memory and quality of a fit of a large catalogue: `python -m benchmarks.large_fit`.

The baskets are the newest 100,000 of the Complete Journey with single products as items, of those products
that are in at least seven of all its baskets. A process of its own runs `training fit` with default options.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console

import training.cli.fit
import training.pipeline
import training.publishing
from benchmarks.machine import describe_machine, save_results
from model_store import ModelStore
from training.__main__ import app
from training.demo import sold_goods
from training.reading import read_baskets

_LEAST_BASKETS = 7
_BASKETS = 100_000
# What each phase calls, where it is looked up.
_PHASES = {
    "reading": (training.cli.fit, "read_baskets"),
    "kernel": (training.pipeline, "fit"),
    "prior and mixture": (training.pipeline, "tune"),
    "own purchases": (training.pipeline, "fit_own"),
    "prior of all baskets": (training.pipeline, "learn_relevance_prior"),
    "lifts and sizes": (training.publishing, "collect_statistics"),
    "sets": (training.publishing, "learn_sets"),
    "new arrivals": (training.publishing, "fit_arrivals"),
    "evaluation": (training.publishing, "assess"),
}
_QUALITY = ("nll", "hit@10", "ndcg@10", "mpr", "log_likelihood")
console = Console()


def write_data(folder: Path) -> tuple[Path, Path]:
    """Write the baskets and the items as `fit` reads them."""
    rows = sold_goods().with_columns(item_id=pl.col("product_id").cast(pl.String))
    pairs = rows.select(
        "basket_id",
        "item_id",
        timestamp="transaction_timestamp",
        shopper_id=pl.format("household-{}", "household_id"),
    ).unique(("basket_id", "item_id"))
    pairs = pairs.filter(pl.len().over("item_id") >= _LEAST_BASKETS)
    newest = pairs.group_by("basket_id").agg(pl.col("timestamp").min())
    newest = newest.sort("timestamp", "basket_id", descending=True).head(_BASKETS)
    pairs = pairs.join(newest.select("basket_id"), on="basket_id", how="semi")
    items = (
        rows.join(pairs.select("item_id").unique(), on="item_id", how="semi")
        .group_by("item_id")
        .agg(
            name=pl.concat_str(
                pl.col("product_type").first(),
                pl.col("package_size").first(),
                separator=" ",
                ignore_nulls=True,
            ),
            category=pl.col("department").drop_nulls().mode().sort().first(),
            price=(pl.col("sales_value").sum() / pl.col("quantity").sum()).round(2),
        )
    )
    files = folder / "baskets.parquet", folder / "items.parquet"
    pairs.sort("timestamp", "basket_id", "item_id").write_parquet(files[0])
    items.sort("item_id").write_parquet(files[1])
    return files


def fit_and_measure(baskets: Path, items: Path, store: Path) -> dict[str, object]:
    """Fit in this process: processor time of each phase, peak memory, and quality of the new version."""
    seconds: dict[str, float] = defaultdict(float)
    for phase, (module, name) in _PHASES.items():
        setattr(module, name, _timed(getattr(module, name), phase, seconds))
    began = time.process_time()
    app(
        ["fit", "--baskets", str(baskets), "--items", str(items), "--store", str(store), "--quiet"],
        standalone_mode=False,
    )
    total = time.process_time() - began
    # Not ru_maxrss: a process inherits it from its parent.
    peak = int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) / 2**20
    metrics = ModelStore(store).open().manifest.metrics
    models: Any = metrics["models"]
    return {
        "seconds": {**seconds, "rest": total - sum(seconds.values()), "total": total},
        "peak_gib": peak,
        "quality": {name: models["tripod"][name] for name in _QUALITY},
        "tuning": metrics["tuning"],
        "own": metrics["own"],
    }


def _timed(work: Callable[..., Any], phase: str, seconds: dict[str, float]) -> Callable[..., Any]:
    def timed(*args: Any, **options: Any) -> Any:
        began = time.process_time()
        try:
            return work(*args, **options)
        finally:
            seconds[phase] += time.process_time() - began

    return timed


def main(
    measure: Annotated[Path | None, typer.Option(hidden=True, help="Fit the data of this folder.")] = None,
) -> None:
    """Measure and print; the figures also go to benchmarks/results/large_fit.json."""
    if measure is not None:
        found = fit_and_measure(measure / "baskets.parquet", measure / "items.parquet", measure / "store")
        (measure / "figures.json").write_text(json.dumps(found))
        return
    console.print(describe_machine())
    with TemporaryDirectory() as name:
        folder = Path(name)
        baskets = read_baskets(str(write_data(folder)[0])).baskets
        size = {"items": len(baskets.catalogue), "baskets": len(baskets)}
        del baskets
        subprocess.run([sys.executable, "-m", "benchmarks.large_fit", "--measure", name], check=True)
        figures: dict[str, object] = {**size, **json.loads((folder / "figures.json").read_text())}
    console.print(figures)
    console.print(f"saved to {save_results('large_fit', figures)}")


if __name__ == "__main__":
    typer.run(main)
