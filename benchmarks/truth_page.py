"""The results of `benchmarks.truth` next to their goals, on the terminal and in docs/truth.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

_PAGE = Path(__file__).parent.parent / "docs" / "truth.md"
_LEAST_MPR = {"uk_retail": 94.0}

Run = dict[str, Any]


class Cell(NamedTuple):
    """A figure, and whether it reaches its goal; None without a goal or without data."""

    text: str
    passed: bool | None = None

    @property
    def mark(self) -> str:
        """The mark after the figure."""
        return {None: "", True: " ✓", False: " **✗**"}[self.passed]


class Row(NamedTuple):
    """One row of the table."""

    what: str
    goal: str
    cell: Callable[[Run], Cell]


def _points(name: str, most: float) -> Callable[[Run], Cell]:
    """Claimed / true in percent; the goal is a difference of at most `most` points."""

    def cell(run: Run) -> Cell:
        claimed, true = 100 * run[name]["claimed"], 100 * run[name]["true"]
        return Cell(f"{claimed:.1f} / {true:.1f} %", abs(claimed - true) <= most)

    return cell


def _error(run: Run) -> Cell:
    error = 100 * run["calibration_error"]
    return Cell(f"{error:.2f} points", error <= 2)


def _complements(run: Run) -> Cell:
    found = run["complements"]
    if not found["counted"]:
        return Cell(f"{found['claimed']:,.0f} / 0, {found['pairs']:,} pairs")
    ratio = found["claimed"] / found["counted"]
    text = f"{found['claimed']:,.0f} / {found['counted']:,} ({ratio - 1:+.0%}), {found['pairs']:,} pairs"
    return Cell(text, abs(ratio - 1) <= 0.2)


def _substitutes(judged: str, confirmed: str) -> Callable[[Run], Cell]:
    def cell(run: Run) -> Cell:
        found = run["substitutes"]
        if not found[judged]:
            return Cell(f"none of {found['pairs']:,}")
        share = found[confirmed] / found[judged]
        return Cell(f"{100 * share:.1f} %, {found[judged]:,} of {found['pairs']:,} pairs", share >= 0.9)

    return cell


def _joint_substitutes(run: Run) -> Cell:
    return Cell(f"{run['substitutes']['together']:,} / {run['substitutes']['by_chance']:,.1f}")


def _further(run: Run) -> Cell:
    claimed, true = run["further"]["claimed"], run["further"]["true"]
    return Cell(f"{claimed:.2f} / {true:.2f}", abs(claimed - true) <= 0.15 * true)


def _correlation(run: Run) -> Cell:
    return Cell(f"{run['further']['correlation']:.3f}", run["further"]["correlation"] >= 0.28)


def _range(run: Run) -> Cell:
    return Cell(_points("range", 0)(run).text)


def _metric(metric: str) -> Callable[[Run], Cell]:
    def cell(run: Run) -> Cell:
        mean = run["next_item"][metric]
        least = _LEAST_MPR.get(run["data"]) if metric == "mpr" else None
        return Cell(f"{mean:.2f}", None if least is None else mean >= least)

    return cell


def _lead(metric: str) -> Callable[[Run], Cell]:
    def cell(run: Run) -> Cell:
        if run["lead"] is None:
            return Cell("–")
        lead = run["lead"][metric]
        return Cell(f"{lead['mean']:+.2f} ± {lead['half']:.2f}", lead["mean"] >= -lead["half"])

    return cell


ROWS = (
    Row("first suggestion: claimed / true", "within 3 points", _points("first", 3)),
    Row("one of the first ten: claimed / true", "within 5 points", _points("ten", 5)),
    Row("calibration error of the first ten", "≤ 2 points", _error),
    Row("joint baskets of complements: claimed / counted", "within 20 %", _complements),
    Row(
        "substitutes with a counted lift below 0.8, if at least 3 joint baskets are expected",
        "≥ 90 %",
        _substitutes("judged", "confirmed"),
    ),
    Row(
        "the same for all substitutes in the held-out baskets",
        "≥ 90 %",
        _substitutes("judged_of_all", "confirmed_of_all"),
    ),
    Row("joint baskets of all substitutes: counted / by chance", "", _joint_substitutes),
    Row("cart complete: claimed / true", "within 3 points", _points("complete", 3)),
    Row("further items: claimed / true", "within 15 %", _further),
    Row("correlation of claimed and true further items", "≥ 0.28", _correlation),
    Row("final size within its range: claimed / true", "", _range),
    Row("hit@10", "", _metric("hit@10")),
    Row("NDCG@10", "", _metric("ndcg@10")),
    Row("MPR", "UK Retail ≥ 94", _metric("mpr")),
    Row("negative log-likelihood, nats", "", _metric("nll")),
    Row("hit@10 against release 0.1", "not below by more than ±", _lead("hit@10")),
    Row("NDCG@10 against release 0.1", "not below by more than ±", _lead("ndcg@10")),
    Row("MPR against release 0.1", "not below by more than ±", _lead("mpr")),
)


def console_table(runs: list[Run]) -> Table:
    """The runs of one data set, one column each."""
    table = Table(title=_title(runs))
    for header in ("", "goal", *(f"seed {run['seed']}" for run in runs)):
        table.add_column(header)
    for row in ROWS:
        cells = [row.cell(run) for run in runs]
        shown = [
            f"[bold red]{cell.text} ✗[/]" if cell.passed is False else cell.text + cell.mark for cell in cells
        ]
        table.add_row(row.what, row.goal, *shown)
    return table


def write_page(figures: dict[str, Any]) -> None:
    """Write the page, with one table per data set."""
    runs: list[Run] = figures["runs"]
    names = list(dict.fromkeys(run["data"] for run in runs))
    marks = [cell.passed for run in runs for cell in (row.cell(run) for row in ROWS)]
    parts = [
        "# Is every number true?",
        f"Generated by `python -m benchmarks.truth --data DIR` on {figures['machine']}. From each data set "
        f"{figures['holdout']:,} random baskets are held out; `fit --tune quick` learns from the others, the "
        "service is started with the new model, and its answers over HTTP are compared with the held-out "
        "baskets: claimed / true. The carts are random prefixes of baskets in random order, including the "
        "empty cart for next items, with at least one item for basket sizes. hit@10, NDCG@10, MPR (percent) "
        "and the negative log-likelihood are for one held-out item of each basket; differences are paired by "
        "query, ± half of a 95 % interval.",
        f"{marks.count(True)} of {marks.count(True) + marks.count(False)} goals are reached.",
        *(_section([run for run in runs if run["data"] == name]) for name in names),
    ]
    _PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _section(runs: list[Run]) -> str:
    lines = [
        f"## {_title(runs)}",
        "",
        "| | goal | " + " | ".join(f"seed {run['seed']}" for run in runs) + " |",
        "|---|---|" + "---|" * len(runs),
    ]
    for row in ROWS:
        cells = [row.cell(run) for run in runs]
        lines.append(
            f"| {row.what} | {row.goal} | " + " | ".join(cell.text + cell.mark for cell in cells) + " |"
        )
    return "\n".join(lines)


def _title(runs: list[Run]) -> str:
    return f"{runs[0]['data']}: {runs[0]['items']:,} items, {runs[0]['baskets']:,} baskets"
