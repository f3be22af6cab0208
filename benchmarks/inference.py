"""How fast inference is: `python -m benchmarks.inference [--quick] [--store DIR …]`."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.inference_cases import (
    Comparison,
    batch_speed,
    greedy_speed,
    growth,
    local_search_speed,
    map_quality,
    next_item_speed,
    precision_agreement,
    warm,
)
from benchmarks.machine import RESULTS, describe_machine, save_results
from benchmarks.svg import line_chart
from benchmarks.zipf import zipf_kernel
from model_store import ModelStore
from ndpp import Kernel

console = Console(width=150)


def use_one_thread() -> None:
    """Start again with one BLAS thread: it must be set before NumPy is loaded."""
    wanted = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.inference", *sys.argv[1:]])


def trained_kernels(stores: list[str]) -> dict[str, Kernel]:
    """The active model of each store, by the store's name."""
    return {
        f"trained ({store.rstrip('/').split('/')[-1]})": ModelStore(store).open().kernel for store in stores
    }


def main(
    quick: Annotated[bool, typer.Option(help="Small catalogues only, a minute in all.")] = False,
    store: Annotated[list[str] | None, typer.Option(help="A model store with a trained kernel.")] = None,
) -> None:
    """Measure, print tables, and write inference.json, inference.md and inference-growth.svg."""
    use_one_thread()
    items, greedy_items, repeats = (50_000, 20_000, 3) if quick else (1_000_000, 371_410, 5)
    console.print(f"{describe_machine()}, one thread; medians of processor time, ratios within this run")
    trained = {name: warm(kernel) for name, kernel in trained_kernels(store or []).items()}
    comparisons = [greedy_speed(greedy_items, 150, repeats)]
    zipf = warm(zipf_kernel(items, 200))
    comparisons += [
        next_item_speed(zipf, "Zipf", 5, repeats),
        batch_speed(zipf, "Zipf", 4, repeats),
        batch_speed(zipf, "Zipf, tilts of 300 rows", 4, repeats, evidence=300),
    ]
    grown = growth(zipf, [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= items], repeats)
    comparisons.append(local_search_speed(zipf, f"Zipf M={items:,}", repeats))
    quality = [map_quality(kernel, name, 20) for name, kernel in trained.items()]
    quality.append(map_quality(zipf_kernel(10_000, 100), "Zipf", 20))
    del zipf
    flat = warm(zipf_kernel(items, 200, flat=True))
    comparisons += [next_item_speed(flat, "flat", 1 / 1.3, repeats), batch_speed(flat, "flat", 4, 1)]
    del flat
    for name, kernel in trained.items():
        comparisons += [
            next_item_speed(kernel, name, None, 4 * repeats),
            batch_speed(kernel, name, None, repeats),
            local_search_speed(kernel, name, repeats),
        ]
    precision = {name: precision_agreement(kernel, 95) for name, kernel in trained.items()}
    report(comparisons, quality, grown, precision, name="inference-quick" if quick else "inference")


def report(
    comparisons: list[Comparison],
    quality: list[dict[str, Any]],
    grown: list[dict[str, float]],
    precision: dict[str, dict[str, object]],
    *,
    name: str,
) -> None:
    """Print the tables and keep them."""
    tables = [_comparison_table(comparisons), _quality_table(quality), _growth_table(grown)]
    for table in tables:
        console.print(table)
    for kernel, agreement in precision.items():
        console.print(
            f"float32 against float64 F, {kernel}: same top 10 for {agreement['same_top_10']} of "
            f"{agreement['carts']} carts of up to {agreement['largest_cart']} items"
        )
    figures: dict[str, object] = {
        "comparisons": [{**asdict(case), "ratio": case.ratio} for case in comparisons],
        "map_quality": quality,
        "growth": grown,
        "precision": precision,
    }
    save_results(name, figures)
    charts = {
        "seconds": ("Time against the size of the catalogue (R = 200)", "seconds"),
        "bytes": ("Extra memory against the size of the catalogue (R = 200)", "bytes"),
    }
    for unit, (title, label) in charts.items():
        series = {
            way: [(row["items"], row[f"{way}_{unit}"]) for row in grown]
            for way in ("gains", "greedy", "top_k")
        }
        (RESULTS / f"{name}-{unit}.svg").write_text(line_chart(title, "items", label, series))
    _write_markdown(name, tables, precision)


def _comparison_table(comparisons: list[Comparison]) -> Table:
    table = Table("case", "baseline, ms", "ours, ms", "ratio", "goal", "reached")
    for case in comparisons:
        table.add_row(
            case.case,
            f"{case.baseline * 1e3:.2f}",
            f"{case.ours * 1e3:.2f}",
            f"{case.ratio:.2f}×",
            case.goal,
            {True: "yes", False: "no", None: ""}[case.reached],
        )
    return table


def _quality_table(quality: list[dict[str, Any]]) -> Table:
    table = Table("kernel", "method", "relative log-det error", "ms", "time against greedy")
    for kernel in quality:
        methods = kernel["methods"]
        for method, figures in methods.items():
            table.add_row(
                f"{kernel['kernel']}, M={kernel['items']:,}, R={kernel['rank']}",
                method,
                f"{figures['relative_error']:.4f}",
                f"{figures['seconds'] * 1e3:.2f}",
                f"{figures['seconds'] / methods['greedy']['seconds']:.2f}×",
            )
    return table


def _growth_table(grown: list[dict[str, float]]) -> Table:
    table = Table("items", "kernel, MB", *(f"{way}, ms / MB" for way in ("top_k", "gains", "greedy")))
    for row in grown:
        cells = [
            f"{row[f'{way}_seconds'] * 1e3:.2f} / {row[f'{way}_bytes'] / 1e6:.2f}"
            for way in ("top_k", "gains", "greedy")
        ]
        table.add_row(f"{row['items']:,}", f"{row['kernel_bytes'] / 1e6:.1f}", *cells)
    return table


def _write_markdown(name: str, tables: list[Table], precision: dict[str, dict[str, object]]) -> None:
    lines = ["# Inference", "", f"{describe_machine()}, one thread; ratios are within one run.", ""]
    for table in tables:
        columns = [list(column.cells) for column in table.columns]
        lines.append("| " + " | ".join(str(column.header) for column in table.columns) + " |")
        lines.append("|" + "---|" * len(columns))
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in zip(*columns, strict=True)]
        lines.append("")
    lines += [
        f"float32 against float64 F, {kernel}: same top 10 for {found['same_top_10']} of "
        f"{found['carts']} carts of up to {found['largest_cart']} items."
        for kernel, found in precision.items()
    ]
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    typer.run(main)
