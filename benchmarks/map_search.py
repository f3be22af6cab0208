"""MAP methods against the exact optimum: `python -m benchmarks.map_search --data DIR` on trained kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine, save_results
from benchmarks.quality import data_sets
from ndpp import Bundle, Kernel, map_exact, map_greedy, map_local_search, map_mcmc
from ndpp.kernel import Vector
from training.fitting import fit
from training.options import FitOptions
from training.splitting import split

ITEMS = 100
SHARE = 0.8  # of a catalogue, at most: trials on a small one would all have the same items
CART = 3
console = Console(width=120)


def main(
    data: Annotated[
        Path | None, typer.Option(help="Folder of *.txt.gz basket files, in addition to the groceries.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Random selections of items per data set.")] = 50,
    steps: Annotated[int, typer.Option(help="Steps of each fit.")] = 300,
    only: Annotated[str, typer.Option(help="Only data sets whose name contains this.")] = "",
) -> None:
    """How often a method finds the best k of 100 items, with an empty cart and with a cart of 3 items."""
    columns = ("data", "k", "cart", "method", "optimal, %", "median log-ratio", "largest")
    table = Table(*columns, title=describe_machine())
    rows: list[dict[str, object]] = []
    for name, baskets in data_sets(data, only):
        parts = split(baskets, validation=300, holdout=2000, seed=0)
        kernel = fit(parts.train, parts.validation, FitOptions(steps=steps)).kernel
        for k in (2, 3):
            for cart in (0, CART):
                for method, gaps in compare(kernel, k, cart, trials).items():
                    optimal, median, largest = float(np.mean(gaps < 1e-8)), float(np.median(gaps)), gaps.max()
                    rows.append(
                        {
                            "data": name,
                            "k": k,
                            "cart": cart,
                            "method": method,
                            "optimal": optimal,
                            "median_log_ratio": round(median, 6),
                            "largest_log_ratio": round(float(largest), 6),
                        }
                    )
                    figures = (f"{100 * optimal:.0f}", f"{median:.3f}", f"{largest:.3f}")
                    table.add_row(name, str(k), str(cart), method, *figures)
    console.print(table)
    save_results("map_search", {"trials": trials, "steps": steps, "items": ITEMS, "rows": rows})


def compare(kernel: Kernel, k: int, cart_size: int, trials: int) -> dict[str, Vector]:
    """log det of the optimum − log det of each method, for random items and random carts of them."""
    rng = np.random.default_rng(0)
    methods: dict[str, Callable[..., Bundle]] = {
        "greedy": map_greedy,
        "local_search": map_local_search,
        "mcmc": partial(map_mcmc, rng=rng),
    }
    gaps: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(trials):
        rows = rng.choice(kernel.size, min(ITEMS, int(SHARE * kernel.size)), replace=False)
        part = Kernel(kernel.factors[rows], kernel.core, kernel.diagonal[rows])
        cart = rng.choice(part.size, cart_size, replace=False)
        optimum = map_exact(part, k, cart=cart).log_det
        for name, method in methods.items():
            gaps[name].append(optimum - method(part, k, cart=cart).log_det)
    return {name: np.array(values) for name, values in gaps.items()}


if __name__ == "__main__":
    typer.run(main)
