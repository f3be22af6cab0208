"""Tables of our figures next to the printed ones, for the terminal, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rich.table import Table

from training.paper import printed
from training.paper.datasets import DATASETS
from training.paper.experiments import OUR_OWN, PaperResults
from training.paper.figures import KINDS
from training.paper.greedy_ratio import GreedyRatios
from training.paper.printed import MAP_ERROR, MAP_TIME, PREDICTIVE, SPEED_UP, Printed
from training.paper.training_time import DENSE_2019, LINEAR_2019, speed_up

MODELS = {**printed.MODELS, OUR_OWN: "Tripod's defaults", "popularity": "plain popularity"}
ALGORITHMS = {
    **printed.ALGORITHMS,
    "tripod_local_search": "Tripod's local search",
    "tripod_mcmc": "Tripod's MCMC search",
}


@dataclass(frozen=True)
class TextTable:
    """A table of plain text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> Table:
        """As a rich table."""
        table = Table(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """As Markdown."""
        head = f"| {' | '.join(self.columns)} |\n|---|{'---:|' * (len(self.columns) - 1)}"
        body = "\n".join(f"| {' | '.join(row)} |" for row in self.rows)
        return f"### {self.title}\n\n{head}\n{body}\n"


def as_json(results: PaperResults) -> dict[str, object]:
    """All results, with the printed figures as dataclasses."""
    return {
        **asdict(results),
        "printed": {
            "table_2": PREDICTIVE[results.name],
            "table_3": MAP_ERROR[results.name],
            "table_4": MAP_TIME[results.name],
            "figure_1": SPEED_UP.get(results.name),
        },
    }


def tables(results: PaperResults) -> list[TextTable]:
    """The paper's tables for one data set."""
    title = f"{DATASETS[results.name].title} ({results.baskets:,} baskets, M = {results.items:,})"
    return [
        _predictive_table(results, f"Table 2 · {title}"),
        _map_table(results, f"Tables 3 and 4 · {title}"),
        *_speed_table(results, f"Figure 1 · {title}"),
        *_small_kernel_table(results, "Figure 2 · greedy against exact for random 5×5 kernels, k = 3"),
    ]


def _predictive_table(results: PaperResults, title: str) -> TextTable:
    rows = []
    for model, label in MODELS.items():
        ours = results.predictive.get(model)
        if ours is None:
            continue
        row = [label]
        for metric, places in (("mpr", 2), ("auc", 3), ("log_likelihood", 2)):
            row.append(_printed(PREDICTIVE[results.name].get(model, {}).get(metric), places))
            low, high = ours.published.intervals[metric]
            row.append(_number(ours.published.values[metric], places, (high - low) / 2))
        low, high = ours.paper.intervals["mpr"]
        row.append(_number(ours.paper.values["mpr"], 2, (high - low) / 2))
        row.append(f"{ours.seconds:.0f} s" if ours.seconds else "–")
        rows.append(row)
    columns = ["model", "MPR, printed", "ours", "AUC, printed", "ours", "log-lik., printed", "ours"]
    return TextTable(title, [*columns, "MPR, random item", "fit"], rows)


def _map_table(results: PaperResults, title: str) -> TextTable:
    rows = [
        [
            ALGORITHMS[name],
            _printed(MAP_ERROR[results.name].get(name), 4),
            _number(quality.error.value, 4, quality.error.half_interval) if name != "local_search" else "–",
            _printed(MAP_TIME[results.name].get(name), 2),
            f"{quality.milliseconds:.2f}",
        ]
        for name, quality in results.bundles.items()
    ]
    return TextTable(title, ["algorithm", "relative error, printed", "ours", "ms, printed", "ours"], rows)


def _speed_table(results: PaperResults, title: str) -> list[TextTable]:
    if not results.curves:
        return []
    compared = {DENSE_2019: "its M×M normaliser", LINEAR_2019: "Tripod's linear normaliser"}
    rows = [
        [
            f"NDPP 2019 with {label} / scalable NDPP",
            _printed(SPEED_UP.get(results.name) if name == DENSE_2019 else None, 2),
            _number(speed_up(results.curves, name), 2),
        ]
        for name, label in compared.items()
    ]
    return [TextTable(title, ["time to converge, ratio", "printed", "ours"], rows)]


def _small_kernel_table(results: PaperResults, title: str) -> list[TextTable]:
    if results.small_kernels is None:
        return []
    rows = [_small_kernel_row(label, getattr(results.small_kernels, kind)) for kind, label in KINDS.items()]
    columns = ["kernels", "number", "greedy is exact", "mean ratio", "worst ratio"]
    return [TextTable(title, [*columns, "mean det greedy / exact", "lowest"], rows)]


def _small_kernel_row(label: str, found: GreedyRatios) -> list[str]:
    ratios, shares = found.ratios, found.shares
    return [
        label,
        f"{len(shares):,}",
        f"{100 * float((shares > 1 - 1e-9).mean()):.1f} %",
        f"{ratios.mean():.4f}",
        f"{ratios[np.abs(ratios - 1).argmax()]:.4f}",
        f"{shares.mean():.4f}",
        f"{shares.min():.4f}",
    ]


def _printed(figure: Printed | None, places: int) -> str:
    return "–" if figure is None else _number(figure.value, places, figure.spread)


def _number(value: float | None, places: int, spread: float | None = None) -> str:
    if value is None:
        return "–"
    text = f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")  # + 0.0: no minus sign for zero
    return text if spread is None else f"{text} ± {spread:.{places}f}"
