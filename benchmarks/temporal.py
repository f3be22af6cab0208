"""Quality with purchase histories: `python -m benchmarks.temporal --data FILE`.

`python -m training fit --protocol temporal` learns from the past of each data set and is asked about the last
basket of each shopper, beside peers that know the same histories. The page shows the figures next to the
goals, and the last results of `benchmarks.shoppers`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.machine import RESULTS, describe_machine, save_results
from benchmarks.temporal_page import write_page
from model_store import ModelStore
from training.demo import write_demo_data

_PARTS = ("facts", "protocol", "seed", "models", "skipped", "paired", "next_basket", "calibration")
_DEMO_OPTIONS = ["--min-item-count", "20", "--rank", "50", "--skew-rank", "100", "--steps", "600"]

console = Console()


def main(
    data: Annotated[
        Path | None, typer.Option(help="Baskets with shopper_id and timestamp, in addition to the groceries.")
    ] = None,
    shoppers: Annotated[int, typer.Option(help="Number of shoppers asked about in --data.")] = 1000,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the model stores in DIR/NAME. A model that is there is not fitted."),
    ] = None,
    page: Annotated[bool, typer.Option(help="Only write the page from the last results.")] = False,
) -> None:
    """Run the benchmark, save benchmarks/results/temporal.json and write docs/shoppers.md."""
    if not page:
        runs = []
        with tempfile.TemporaryDirectory() as scratch:
            folder = keep or Path(scratch)
            written = write_demo_data("groceries", Path(scratch) / "data")
            runs.append(_measure("groceries", written.baskets, 2000, _DEMO_OPTIONS, folder))
            if data is not None:
                runs.append(_measure(data.name.split(".")[0], data, shoppers, [], folder))
        save_results("temporal", {"runs": runs})
    write_page(_saved("temporal"), _saved("shoppers"))
    console.print(describe_machine())


def _measure(name: str, baskets: Path, shoppers: int, options: list[str], folder: Path) -> dict[str, Any]:
    store = folder / name
    if not store.exists():
        command = [sys.executable, "-m", "training", "fit", "--protocol", "temporal"]
        command += ["--baskets", str(baskets), "--store", str(store), "--holdout", str(shoppers), *options]
        subprocess.run(command, check=True)
    models = ModelStore(store)
    report = json.loads(models.read_file(models.open().version, "report.json"))
    for found in report["models"].values():
        del found["by_size"]
    return {"data": name, **{part: report[part] for part in _PARTS}}


def _saved(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


if __name__ == "__main__":
    typer.run(main)
