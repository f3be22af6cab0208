"""The table of what tuning tried."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from model_store import Knobs
from training.learning import KernelTrial
from training.tuning import Trial, Tuning

_SHOWN = 5


def trials_table(tuning: Tuning, kernels: Sequence[KernelTrial]) -> Table:
    """The best trials and, for comparison, the plain kernel; other fits that were tried come last."""
    table = Table(
        title=f"Tuned on {tuning.queries:,} held-out items: {len(tuning.trials)} trials, the best first",
        title_justify="left",
    )
    for heading in ("ω", "β", "γ", "relevance prior"):
        table.add_column(heading)
    for heading in ("hit@10", "NDCG@10", "MPR"):
        table.add_column(heading, justify="right")
    plain = next(trial for trial in tuning.trials if trial.knobs == Knobs())
    for trial in tuning.trials[:_SHOWN]:
        table.add_row(*_row(trial))
    table.add_section()
    table.add_row(*_row(plain))
    table.add_section()
    for kernel in kernels:
        change = ", ".join(f"{name} {value}" for name, value in kernel.change.items()) or "as asked for"
        table.add_row("", "", "", f"best with {change}", *_figures(kernel.best))
    return table


def _row(trial: Trial) -> list[str]:
    prior = trial.neighbours
    described = (
        "none"
        if prior is None
        else f"ridge {prior.ridge:g}, dropout {prior.dropout:g}, similarity {prior.similarity:g}, "
        f"support {prior.support:g}, floor {prior.floor:g}"
    )
    knobs = trial.knobs
    return [
        *(f"{knob:g}" for knob in (knobs.decoupling, knobs.relevance, knobs.popularity)),
        described,
        *_figures(trial),
    ]


def _figures(trial: Trial) -> list[str]:
    return [f"{figure:.2f}" for figure in (trial.hit10, trial.ndcg10, trial.mpr)]
