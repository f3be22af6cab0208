"""The table of what tuning tried."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from training.learning import KernelTrial
from training.tuning import Trial, Tuning

_SHOWN = 5


def trials_table(tuning: Tuning, kernels: Sequence[KernelTrial]) -> Table:
    """The best trials by negative log-likelihood, then the mixture that was fitted for the best of them."""
    table = Table(
        title=f"Negative log-likelihood of the next item: {len(tuning.trials)} trials, the best first",
        title_justify="left",
    )
    table.add_column("ω")
    table.add_column("relevance prior")
    table.add_column("NLL, nats", justify="right")
    for trial in tuning.trials[:_SHOWN]:
        table.add_row(*_row(trial))
    table.add_section()
    on_all = f"{tuning.queries:,} queries"
    table.add_row("", f"the best, fitted on all {on_all}", f"{tuning.negative_log_likelihood:z.4f}")
    table.add_row("", f"the same without the determinant, {on_all}", f"{tuning.without_determinant:z.4f}")
    table.add_section()
    for kernel in kernels:
        change = ", ".join(f"{name} {value}" for name, value in kernel.change.items()) or "as asked for"
        table.add_row("", f"kernel with {change}", f"{kernel.negative_log_likelihood:z.4f}")
    return table


def _row(trial: Trial) -> list[str]:
    prior = trial.choice.neighbours
    described = (
        f"ridge {prior.ridge:g}, dropout {prior.dropout:g}, similarity {prior.similarity:g}, "
        f"support {prior.support:g}, floor {prior.floor:g}"
    )
    return [f"{trial.choice.decoupling:g}", described, f"{trial.negative_log_likelihood:z.4f}"]
