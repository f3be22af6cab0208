"""Speed of inference: `python -m benchmarks.inference [--quick]` compares alternatives in one process."""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machine import RESULTS, describe_machine, save_results
from benchmarks.plain import greedy_algorithm_1, next_item
from benchmarks.zipf import popular_carts, zipf_kernel
from ndpp import DenseKernel, Kernel, Mixture, NextItem, map_greedy, map_local_search
from ndpp.kernel import Vector
from ndpp.mixture import Habit, Together

K = 10
CART = 5
MIXTURE = Mixture(  # only two experts: the time of `baskets` and of the prior depends on the data
    decoupling=0.9,
    together=Together((0.6, 0.0), (0.0, 0.0), (0.2, -0.1)),
    habit=Habit((0.5, 0.0), (0.4, 0.0), (0.0, 0.0), (-0.3, -0.4)),
    least_gain=1e-4,
)
console = Console(width=150)
Way = Callable[[], object]
Predictions = Callable[[], list[Vector]]


@dataclass(frozen=True)
class Comparison:
    """Median seconds of a baseline and of our code."""

    case: str
    baseline: float
    ours: float

    @property
    def ratio(self) -> float:
        """How many times faster our code is."""
        return self.baseline / self.ours


def use_one_thread() -> None:
    """Restart with one BLAS thread: the number must be set before NumPy is loaded."""
    wanted = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.inference", *sys.argv[1:]])


def alternate(ways: Sequence[Way], repeats: int) -> list[float]:
    """Median processor seconds of each function, called in turns so that other load affects all alike."""
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, times in zip(ways, seconds, strict=True):
            began = time.process_time()
            way()
            times.append(time.process_time() - began)
    return [float(np.median(times)) for times in seconds]


def predictions(model: NextItem, carts: list[list[int]]) -> list[Vector]:
    """The probabilities for one cart after the other."""
    return [model.given(cart).probabilities for cart in carts]


def predictions_at_once(model: NextItem, carts: list[list[int]]) -> list[Vector]:
    """The same for a batch of carts."""
    return [prediction.probabilities for prediction in model.given_each(carts)]


def compare_next_item(kernel: Kernel, count: int, repeats: int) -> list[Comparison]:
    """One cart against the plain formulas; a batch and a dense kernel against single carts.

    All alternatives must give the same probabilities. Only a small catalogue has a dense kernel.
    """
    carts, model = popular_carts(kernel.size, CART, count), NextItem(kernel, MIXTURE)
    F, size = kernel.factors.astype(np.float64), f"M={kernel.size:,}, R={kernel.rank}"
    plain = partial(next_item, F, kernel.core, kernel.weights, MIXTURE)
    one, singles = carts[:1], partial(predictions, model, carts)
    cases: list[tuple[str, Predictions, Predictions]] = [
        (
            f"next item, {size}, against the plain formulas in float64",
            lambda: [plain(cart) for cart in one],
            partial(predictions, model, one),
        ),
        (
            f"{count} carts at once, {size}, against one after the other",
            singles,
            partial(predictions_at_once, model, carts),
        ),
    ]
    if kernel.size <= 4096:
        dense = NextItem(kernel, MIXTURE, dense=DenseKernel.of(kernel))
        name = f"{count} carts with a dense kernel, {size}, against without"
        cases.append((name, singles, partial(predictions, dense, carts)))
    found = []
    for name, baseline, ours in cases:
        np.testing.assert_allclose(ours(), baseline(), rtol=1e-2, atol=1e-9, err_msg=name)
        found.append(Comparison(name, *alternate([baseline, ours], repeats)))
    return found


def compare_bundles(kernel: Kernel, repeats: int) -> list[Comparison]:
    """Greedy against Algorithm 1, which must choose the same items; local search against greedy."""
    F, size = kernel.factors.astype(np.float64), f"M={kernel.size:,}, R={kernel.rank}"
    paper = partial(greedy_algorithm_1, F, kernel.core, kernel.diagonal, K)
    greedy, search = partial(map_greedy, kernel, K), partial(map_local_search, kernel, K)
    if greedy().items.tolist() != paper():
        raise AssertionError("greedy and Algorithm 1 chose different items")
    against_paper, against_greedy = alternate([paper, greedy], repeats), alternate([greedy, search], repeats)
    return [
        Comparison(f"greedy bundle of {K}, {size}, against Algorithm 1 in float64", *against_paper),
        Comparison(f"bundle of {K} by local search, {size}, against greedy", *against_greedy),
    ]


def growth(kernel: Kernel, sizes: Sequence[int], repeats: int) -> list[dict[str, float]]:
    """Time and additional memory of the next item and of greedy for catalogues of growing size."""
    rows = []
    for size in sizes:
        part = Kernel(kernel.factors[:size], kernel.core, kernel.diagonal[:size])
        model, carts = NextItem(part, MIXTURE), popular_carts(size, CART, 1)
        ways: dict[str, Way] = {
            "next_item": partial(predictions, model, carts),
            "greedy": partial(map_greedy, part, K),
        }
        row: dict[str, float] = {"items": size, "kernel_bytes": part.factors.nbytes}
        for name, way in ways.items():
            way()  # fills the caches of the kernel
            row[f"{name}_seconds"] = alternate([way], repeats)[0]
            tracemalloc.start()
            way()
            row[f"{name}_bytes"] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        rows.append(row)
    return rows


def main(
    quick: Annotated[bool, typer.Option(help="Small catalogues only; takes some seconds.")] = False,
) -> None:
    """Measure, print tables, and write inference.json and inference.md."""
    use_one_thread()
    items, repeats = (20_000, 3) if quick else (371_410, 5)
    large = zipf_kernel(items, 150)
    comparisons = [
        *compare_next_item(zipf_kernel(3_300, 100), 64, 4 * repeats),
        *compare_next_item(large, 10, repeats),
        *compare_bundles(large, repeats),
    ]
    grown = growth(large, [size for size in (1_000, 10_000, 100_000, items) if size <= items], repeats)
    name = "inference-quick" if quick else "inference"
    save_results(
        name,
        {"comparisons": [{**asdict(case), "ratio": case.ratio} for case in comparisons], "growth": grown},
    )
    report([_comparison_table(comparisons), _growth_table(grown)], name)


def _comparison_table(comparisons: list[Comparison]) -> Table:
    table = Table("case", "baseline, ms", "ours, ms", "ratio")
    for case in comparisons:
        table.add_row(case.case, f"{case.baseline * 1e3:.2f}", f"{case.ours * 1e3:.2f}", f"{case.ratio:.2f}×")
    return table


def _growth_table(grown: list[dict[str, float]]) -> Table:
    table = Table("items", "kernel, MB", "next item, ms / MB", "greedy, ms / MB")
    for row in grown:
        cells = [
            f"{row[f'{way}_seconds'] * 1e3:.2f} / {row[f'{way}_bytes'] / 1e6:.2f}"
            for way in ("next_item", "greedy")
        ]
        table.add_row(f"{row['items']:,}", f"{row['kernel_bytes'] / 1e6:.1f}", *cells)
    return table


def report(tables: list[Table], name: str) -> None:
    """Print the tables and save them as Markdown."""
    heading = (
        f"{describe_machine()}, one thread; medians of processor time, carts of {CART} items. The machine is "
        "shared: trust the ratios, not the times."
    )
    lines = ["# Inference", "", heading, ""]
    console.print(heading)
    for table in tables:
        console.print(table)
        columns = [list(column.cells) for column in table.columns]
        lines.append("| " + " | ".join(str(column.header) for column in table.columns) + " |")
        lines.append("|" + "---|" * len(columns))
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in zip(*columns, strict=True)]
        lines.append("")
    (RESULTS / f"{name}.md").write_text("\n".join(lines))


if __name__ == "__main__":
    typer.run(main)
