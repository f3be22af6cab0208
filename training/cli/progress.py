"""Showing a fit's progress: a bar for people, JSON lines for programs, nothing when quiet."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from training.cli.common import console
from training.fitting import Progress


@contextmanager
def progress_reporter(*, quiet: bool, json_logs: bool) -> Iterator[Callable[[Progress], None]]:
    """A callback for `fit`."""
    if quiet:
        yield lambda _: None
    elif json_logs:
        yield _log
    else:
        columns = (
            TextColumn("[bold]fitting"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("validation {task.fields[validation]:.3f} (best {task.fields[best]:.3f})"),
            TextColumn("{task.fields[left]} left"),
        )
        with Bar(*columns, console=console) as bar:
            task = bar.add_task("fit", total=None, validation=float("nan"), best=float("nan"), left="…")

            def show(progress: Progress) -> None:
                minutes, seconds = divmod(round(progress.seconds_left), 60)
                bar.update(
                    task,
                    total=progress.steps,
                    completed=progress.step,
                    validation=progress.validation,
                    best=progress.best,
                    left=f"{minutes}:{seconds:02d}",
                )

            yield show


def _log(progress: Progress) -> None:
    log_event(
        "progress",
        step=progress.step,
        steps=progress.steps,
        validation_log_likelihood=progress.validation,
        best=progress.best,
        seconds_left=round(progress.seconds_left, 1),
    )


def log_event(event: str, **facts: object) -> None:
    """One JSON object a line, on stderr."""
    print(json.dumps({"event": event, **facts}), file=sys.stderr, flush=True)


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks the fit to stop after its current step; a second Ctrl-C ends the program at once."""
    asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)
        console.print("stopping after this step, the best so far is kept (Ctrl-C again to give up)")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
