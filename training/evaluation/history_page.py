"""The sections of the report about histories."""

from __future__ import annotations

from html import escape

from training.evaluation.history_tables import Table, history_tables
from training.evaluation.labels import NAMES
from training.evaluation.metrics import Estimate
from training.evaluation.scoring import Evaluation


def history_sections(evaluation: Evaluation) -> list[str]:
    """One section for each table; none without histories."""
    return [_section(table) for table in history_tables(evaluation)]


def _section(table: Table) -> str:
    head = "".join(f'<th scope="col">{column}</th>' for column in table.columns)
    rows = "".join(
        f'<tr class="m-{escape(name)}"><th scope="row">{escape(NAMES.get(name, name))}</th>'
        + "".join(_estimate(found, table.form) for found in cells)
        + "</tr>"
        for name, cells in table.rows
    )
    return (
        f"<section><h2>{escape(table.title)}</h2><p>{escape(table.note)}</p>"
        f'<div class="wide"><table class="metrics"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _estimate(found: Estimate | None, form: str) -> str:
    if found is None:
        return '<td class="none">–</td>'
    low, high = found.interval
    text = f"{found.value:{form}}<small>{low:{form}} – {high:{form}}</small>"
    return f"<td>{text.replace('-', '−')}</td>"
