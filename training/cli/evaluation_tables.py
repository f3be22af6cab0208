"""The tables that `evaluate` prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ndpp import Mixture
from training.evaluation.assess import Assessment
from training.evaluation.history_tables import Table as HistoryTable
from training.evaluation.history_tables import history_tables
from training.evaluation.labels import LABELS, NAMES
from training.evaluation.metrics import QUERY_METRICS, SET_METRICS, Estimate, decimal_places
from training.evaluation.scoring import Metrics
from training.publishing import mixture_text


def print_tables(found: Assessment, version: str, mixture: Mixture) -> None:
    """Print the metrics of all models, and what was measured with histories."""
    evaluation = found.evaluation
    queries = evaluation.models["tripod"].queries
    table = Table(
        title=f"{version} on {queries:,} queries (protocol {evaluation.protocol}; {mixture_text(mixture)})",
        title_justify="left",
    )
    table.add_column("model")
    columns = [*QUERY_METRICS, *SET_METRICS]
    for column in columns:
        table.add_column(LABELS[column], justify="right")
    for name, metrics in evaluation.models.items():
        table.add_row(NAMES[name], *(_cell(metrics, column) for column in columns))
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 120  # do not wrap the table in a file
    out.print(table)
    out.print(
        "in percent, except NLL, AUC and log-likelihood; ± is half the 95 % bootstrap interval; ties count "
        "half; lower NLL is better",
        soft_wrap=True,
    )
    for part in history_tables(evaluation):
        out.print(_of_histories(part))
        out.print(part.note, soft_wrap=True)
    if found.calibration.next_item is not None:
        out.print(found.calibration.next_item.verdict, soft_wrap=True)
    for name, reason in evaluation.skipped.items():
        out.print(f"{NAMES[name]} was skipped: {reason}", soft_wrap=True, markup=False)


def _cell(metrics: Metrics, column: str) -> str:
    value = metrics.values[column]
    if value is None:
        return "–"
    places, (low, high) = decimal_places(column), metrics.intervals[column]
    return f"{value:.{places}f}\n[dim]±{(high - low) / 2:.{places}f}[/]"


def _of_histories(part: HistoryTable) -> Table:
    table = Table(title=part.title, title_justify="left")
    table.add_column("model")
    for column in part.columns:
        table.add_column(column, justify="right")
    for name, cells in part.rows:
        table.add_row(NAMES[name], *(_estimate(cell, part.form) for cell in cells))
    return table


def _estimate(found: Estimate | None, form: str) -> str:
    if found is None:
        return "–"
    low, high = found.interval
    return f"{found.value:{form}}\n[dim]{low:{form}} to {high:{form}}[/]"
