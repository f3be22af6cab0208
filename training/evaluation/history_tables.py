"""The tables of an evaluation with histories: whole next baskets, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from training.evaluation.labels import LABELS
from training.evaluation.metrics import Estimate
from training.evaluation.next_basket import METRICS, PARTS, NextBasketEvaluation
from training.evaluation.scoring import PAIRED, Evaluation


class Table(NamedTuple):
    """A table with one row for each model; a cell is None if the figure does not apply to the model."""

    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Estimate | None]]]
    form: str = ".1f"  # how a figure is written


def history_tables(evaluation: Evaluation) -> list[Table]:
    """The tables that the evaluation has figures for."""
    tables = []
    if evaluation.next_basket is not None:
        tables.append(_whole_baskets(evaluation.next_basket))
    if evaluation.paired:
        tables.append(_differences(evaluation))
    return tables


def _whole_baskets(found: NextBasketEvaluation) -> Table:
    names = {"all": "", "repeat": "repeat ", "explore": "explore "}
    return Table(
        title="The whole next basket",
        note=f"Ten suggestions for each of {found.shoppers['all']:,} shoppers with an empty cart, compared"
        f" with their next basket, in percent. {100 * found.repeat_share:.0f} % of a basket are repeat items,"
        " which the shopper had bought before; the others are explore items. Models that need a cart are"
        " left out.",
        columns=[f"{names[part]}{LABELS[metric]}" for part in PARTS for metric in METRICS],
        rows=[
            (name, [parts.get(part, {}).get(metric) for part in PARTS for metric in METRICS])
            for name, parts in found.models.items()
        ],
    )


def _differences(evaluation: Evaluation) -> Table:
    whole = evaluation.next_basket
    rows = []
    for name, found in evaluation.paired.items():
        cells: list[Estimate | None] = [found[metric] for metric in PAIRED]
        if whole is not None:
            of_baskets = whole.paired.get(name, {}).get("all", {})
            cells += [of_baskets.get(metric) for metric in METRICS]
        rows.append((name, cells))
    columns = [LABELS[metric] for metric in PAIRED]
    if whole is not None:
        columns += [f"next basket {LABELS[metric]}" for metric in METRICS]
    return Table(
        title="Tripod minus each other model",
        note="Differences in percentage points with 95 % intervals, paired by query or shopper.",
        columns=columns,
        rows=rows,
        form="+.1f",
    )
