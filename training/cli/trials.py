"""The table of tuning trials."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from training.next_item.tuning import Trial, Tuning
from training.pipeline import KernelTrial

_SHOWN = 5


def trials_table(tuning: Tuning, kernels: Sequence[KernelTrial]) -> Table:
    """The best trials by negative log-likelihood, the final mixture, and the kernels that were tried."""
    table = Table(
        title=f"Negative log-likelihood of the next item: {len(tuning.trials)} trials, best first",
        title_justify="left",
    )
    table.add_column("ω")
    table.add_column("relevance prior")
    table.add_column("NLL, nats", justify="right")
    for trial in tuning.trials[:_SHOWN]:
        table.add_row(*_row(trial))
    table.add_section()
    final = f"best choice, fitted to all {tuning.queries:,} queries"
    table.add_row("", final, f"{tuning.negative_log_likelihood:z.4f}")
    table.add_row("", f"{final}, without determinant", f"{tuning.without_determinant:z.4f}")
    table.add_section()
    for kernel in kernels:
        change = ", ".join(f"{name} {value}" for name, value in kernel.change.items()) or "the given options"
        table.add_row("", f"kernel with {change}", f"{kernel.negative_log_likelihood:z.4f}")
    return table


def _row(trial: Trial) -> list[str]:
    prior = trial.choice.prior
    described = (
        f"ridge {prior.ridge:g}, dropout {prior.dropout:g}, similarity {prior.similarity:g}, "
        f"support {prior.support:g}, floor {prior.floor:g}"
    )
    return [f"{trial.choice.decoupling:g}", described, f"{trial.negative_log_likelihood:z.4f}"]
