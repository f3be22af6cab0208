"""`python -m training paper-tables`: reproduce the paper's tables and figures, next to the printed ones."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from training.cli.common import console, report_errors
from training.paper.datasets import find_datasets
from training.paper.experiments import Effort, PaperResults, run
from training.paper.figures import write_figures
from training.paper.page import NOTE, page
from training.paper.tables import as_json, tables

_QUICK = Effort(steps=200, kernels=2, trials=20, small_kernels=300)
_FULL = Effort()


@report_errors()
def paper_tables(
    *,
    data: Annotated[Path, typer.Option(help="Folder with one or more of the paper's data sets.")],
    quick: Annotated[bool, typer.Option(help="Fewer steps, kernels and trials.")] = False,
    steps: Annotated[int | None, typer.Option(min=1, help="Maximum number of training steps.")] = None,
    kernels: Annotated[int | None, typer.Option(min=1, help="Number of kernels for MAP inference.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of splits, kernels and trials.")] = 0,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables to this file.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Draw Figures 1 and 2 into this folder.")] = None,
) -> None:
    """Repeat the paper's experiments on the data sets in a folder."""
    usual = _QUICK if quick else _FULL
    effort = Effort(steps or usual.steps, kernels or usual.kernels, usual.trials, usual.small_kernels)
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 160
    results: list[PaperResults] = []
    with console.status("looking for data sets") as status:
        for name, path in find_datasets(data).items():
            results.append(run(name, path, effort, seed, status.update))
            for table in tables(results[-1]):
                out.print(table.rich())
    out.print(NOTE)
    if json_out is not None:
        document = {"effort": asdict(effort), "data_sets": [as_json(found) for found in results]}
        json_out.write_text(json.dumps(document, indent=2, default=asdict) + "\n", encoding="utf-8")
    if figures is not None:
        write_figures(results, figures)
    if markdown is not None:
        command = _command(
            quick=quick, steps=steps, kernels=kernels, seed=seed, figures=figures, markdown=markdown
        )
        images = None if figures is None else Path(os.path.relpath(figures, markdown.parent)).as_posix()
        markdown.write_text(page(results, effort, seed, command, images), encoding="utf-8")


def _command(*, quick: bool, **options: int | Path | None) -> str:
    """The command that makes the page; the folder of the data is called DIR."""
    given = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    return " ".join(["python -m training paper-tables --data DIR", *["--quick"] * quick, *given])
