"""Our figures beside the printed ones, as tables for a terminal, for Markdown and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from training.paper import printed
from training.paper.datasets import DATASETS
from training.paper.experiments import OUR_OWN, PaperResults
from training.paper.printed import ALGORITHMS, MAP_ERROR, MAP_TIME, PREDICTIVE, SPEED_UP, Printed

MODELS = {**printed.MODELS, OUR_OWN: "Tripod's defaults", "popularity": "plain popularity"}


@dataclass(frozen=True)
class TextTable:
    """A table of plain text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> Table:
        """For a terminal."""
        table = Table(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """For a document."""
        head = f"| {' | '.join(self.columns)} |\n|---|{'---:|' * (len(self.columns) - 1)}"
        body = "\n".join(f"| {' | '.join(row)} |" for row in self.rows)
        return f"### {self.title}\n\n{head}\n{body}\n"


def as_json(results: PaperResults) -> dict[str, object]:
    """Everything measured, with the printed figures."""
    return {
        **asdict(results),
        "printed": {
            "table_2": _plain(PREDICTIVE[results.name]),
            "table_3": _plain(MAP_ERROR[results.name]),
            "table_4": _plain(MAP_TIME[results.name]),
            "figure_1": _plain(SPEED_UP.get(results.name)),
        },
    }


def tables(results: PaperResults) -> list[TextTable]:
    """The paper's tables for one data set."""
    title = f"{DATASETS[results.name].title} ({results.baskets:,} baskets, M = {results.items:,})"
    return [
        _predictive_table(results, f"Table 2 · {title}"),
        _map_table(results, f"Tables 3 and 4 · {title}"),
        *_speed_table(results, f"Figure 1 · {title}"),
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
    if results.speed_up is None or results.name not in SPEED_UP:
        return []
    row = ["NDPP 2019 / scalable NDPP, time to converge", _printed(SPEED_UP[results.name], 2)]
    return [TextTable(title, ["ratio", "printed", "ours"], [[*row, f"{results.speed_up:.2f}"]])]


def _printed(figure: Printed | None, places: int) -> str:
    return "–" if figure is None else _number(figure.value, places, figure.spread)


def _number(value: float | None, places: int, spread: float | None = None) -> str:
    if value is None:
        return "–"
    text = f"{value:.{places}f}".replace("-", "−")
    return text if spread is None else f"{text} ± {spread:.{places}f}"


def _plain(printed_figures: object) -> object:
    """Printed figures as dictionaries."""
    if isinstance(printed_figures, Printed):
        return asdict(printed_figures)
    if isinstance(printed_figures, dict):
        return {name: _plain(value) for name, value in printed_figures.items()}
    return printed_figures
