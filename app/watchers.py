"""The background tasks of a process: they look again and again, whatever happens, and tell how they do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from app.errors import Problem
from app.logs import get_logger
from model_store import ModelStoreError

_PAUSE_SECONDS = 1.0  # after a failure

Step = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class _Failure:
    sentence: str
    since: datetime


async def _no_pause() -> None:
    """For a look that itself waits for something."""


class Watchers:
    """Runs the tasks. No failure ends one; the first of a kind is logged, and so is the recovery."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._failures: dict[str, _Failure | None] = {}
        self._looked: set[str] = set()

    def start(self, name: str, look: Step, pause: Step = _no_pause) -> None:
        """Look, pause, look again, until `stop`."""
        self._failures[name] = None
        self._tasks.append(asyncio.create_task(self._watch(name, look, pause), name=name))

    async def stop(self) -> None:
        """End all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def all_have_looked(self) -> bool:
        """Whether each task has looked once, with or without success."""
        return self._looked >= set(self._failures)

    def health(self) -> dict[str, str | None]:
        """For each task: None, or what is wrong and since when."""
        return {
            name: f"{failure.sentence} Since {failure.since:%Y-%m-%dT%H:%M:%SZ}." if failure else None
            for name, failure in self._failures.items()
        }

    async def _watch(self, name: str, look: Step, pause: Step) -> None:
        task = asyncio.current_task()
        assert task is not None
        while True:
            try:
                await look()
            except (Exception, asyncio.CancelledError) as error:
                if task.cancelling():  # by `stop`, and not by something that the look waited for
                    raise
                self._note_failure(name, error)
                self._looked.add(name)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                self._note_success(name)
                self._looked.add(name)
            await pause()

    def _note_failure(self, name: str, error: BaseException) -> None:
        expected = isinstance(error, Problem | ModelStoreError)
        sentence = str(error) if expected else f"{type(error).__name__}: {error}"
        sentence = f"{sentence.rstrip('.')}."
        before = self._failures[name]
        if before is None or before.sentence != sentence:
            unexpected = None if expected else error
            get_logger().warning("a watcher fails", watcher=name, error=sentence, exc_info=unexpected)
        self._failures[name] = _Failure(sentence, before.since if before else datetime.now(UTC))

    def _note_success(self, name: str) -> None:
        if self._failures[name] is not None:
            self._failures[name] = None
            get_logger().info("a watcher works again", watcher=name)
