"""Comparison of kernels: `python -m benchmarks.kernels --data DIR` fits every kind on each data set.

Fits and figures use the paper's likelihood, in which a basket may be empty, to be comparable with the paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine, save_results
from training.evaluation.sets import log_likelihoods
from training.fitting import fit
from training.options import FitOptions, KernelKind
from training.reading import read_baskets
from training.splitting import split

console = Console()


def main(  # noqa: PLR0917 - a command's options
    data: Annotated[Path, typer.Option(help="A folder of basket files.")],
    seeds: Annotated[int, typer.Option(help="Random splits and starts to average over.")] = 3,
    steps: Annotated[int, typer.Option(help="Steps of each fit.")] = FitOptions().steps,
    kernel: Annotated[KernelKind | None, typer.Option(help="Only this kernel.")] = None,
    diagonals: Annotated[
        bool, typer.Option("--diagonals/--default-diagonal", help="Also fit without the diagonal.")
    ] = True,
    only: Annotated[str, typer.Option(help="Only files whose name contains this.")] = "",
) -> None:
    """Validation and test log-likelihood (2,000 held-out baskets) of every kernel, averaged over seeds."""
    table = Table(
        "data", "kernel", "diagonal", "R", "validation", "test", "seconds", title=describe_machine()
    )
    rows: list[dict[str, object]] = []
    for file in sorted(path for path in data.glob("*.txt.gz") if only in path.name):
        baskets = read_baskets(str(file)).baskets
        for kind in [kernel] if kernel else get_args(KernelKind):
            for diagonal in (True, False) if diagonals else (True,):
                results = []
                for seed in range(seeds):
                    parts = split(baskets, validation=300, holdout=2000, seed=seed)
                    options = FitOptions(kernel=kind, diagonal=diagonal, steps=steps, seed=seed)
                    result = fit(parts.train, parts.validation, options, may_be_empty=True)
                    test = float(log_likelihoods(result.kernel, list(parts.test)).mean())
                    results.append((result.validation, test, result.seconds))
                validation, test, seconds = np.mean(results, axis=0)
                rank = result.kernel.rank
                table.add_row(
                    file.name.split(".")[0],
                    kind,
                    "yes" if diagonal else "no",
                    str(rank),
                    f"{validation:.2f}",
                    f"{test:.2f}",
                    f"{seconds:.0f}",
                )
                rows.append(
                    {
                        "data": file.name,
                        "kernel": kind,
                        "diagonal": diagonal,
                        "rank": rank,
                        "validation": validation,
                        "test": test,
                        "tests": [one[1] for one in results],
                        "seconds": seconds,
                    }
                )
                console.print(rows[-1])
    console.print(table)
    save_results("kernels", {"seeds": seeds, "steps": steps, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
