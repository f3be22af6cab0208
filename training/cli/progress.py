"""Progress of a fit: a progress bar, JSON lines, or nothing."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from training.cli.common import console
from training.fitting import Progress


class Reporter:
    """Callbacks for the progress of a fit and its tuning; these do nothing."""

    def fitting(self, progress: Progress) -> None:
        """Called after every evaluation."""

    def tuning(self, done: int, in_all: int) -> None:
        """Called before every trial."""


@contextmanager
def progress_reporter(*, quiet: bool, json_logs: bool) -> Iterator[Reporter]:
    """The reporter for these options."""
    if quiet:
        yield Reporter()
    elif json_logs:
        yield _Lines()
    else:
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Bar(*columns, console=console) as bar:
            yield _Bars(bar)


class _Lines(Reporter):
    def fitting(self, progress: Progress) -> None:
        log_event(
            "progress",
            step=progress.step,
            steps=progress.steps,
            validation_log_likelihood=progress.validation,
            best=progress.best,
            seconds_left=round(progress.seconds_left, 1),
        )

    def tuning(self, done: int, in_all: int) -> None:
        log_event("tuning", done=done, of=in_all)


class _Bars(Reporter):
    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._fit = bar.add_task("fitting", total=None, note="")
        self._tune: TaskID | None = None

    def fitting(self, progress: Progress) -> None:
        minutes, seconds = divmod(round(progress.seconds_left), 60)
        note = f"validation {progress.validation:.3f} (best {progress.best:.3f}) {minutes}:{seconds:02d} left"
        self._bar.update(self._fit, total=progress.steps, completed=progress.step, note=note)

    def tuning(self, done: int, in_all: int) -> None:
        if self._tune is None:
            self._tune = self._bar.add_task("tuning", note="")
        self._bar.update(self._tune, total=in_all, completed=done)


def log_event(event: str, **facts: object) -> None:
    """Print an event as one line of JSON on stderr."""
    print(json.dumps({"event": event, **facts}), file=sys.stderr, flush=True)


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Ctrl-C stops the fit after the current step; a second Ctrl-C ends the program at once."""
    asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)
        console.print("stopping after this step; the best model so far is kept (Ctrl-C again to abort)")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
