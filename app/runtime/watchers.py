"""Background tasks that poll for changes, survive every failure, and report their state to /readyz."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from app.http.errors import Problem
from app.runtime.logs import get_logger
from model_store import ModelStoreError

_PAUSE_SECONDS = 1.0  # after a failure

Step = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class _Failure:
    sentence: str
    since: datetime


async def _no_pause() -> None:
    """For a step that waits by itself."""


class Watchers:
    """Runs the tasks. A failure does not end a task; new failures and recoveries are logged."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._failures: dict[str, _Failure | None] = {}
        self._polled: set[str] = set()

    def start(self, name: str, poll: Step, pause: Step = _no_pause) -> None:
        """Repeat `poll` and `pause` until `stop`."""
        self._failures[name] = None
        self._tasks.append(asyncio.create_task(self._watch(name, poll, pause), name=name))

    async def stop(self) -> None:
        """Cancel all tasks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def all_have_polled(self) -> bool:
        """Whether each task has polled at least once, successfully or not."""
        return self._polled >= set(self._failures)

    def health(self) -> dict[str, str | None]:
        """The state of each task: None, or what is wrong and since when."""
        return {
            name: f"{failure.sentence} Since {failure.since:%Y-%m-%dT%H:%M:%SZ}." if failure else None
            for name, failure in self._failures.items()
        }

    async def _watch(self, name: str, poll: Step, pause: Step) -> None:
        task = asyncio.current_task()
        assert task is not None
        while True:
            try:
                await poll()
            except (Exception, asyncio.CancelledError) as error:
                if task.cancelling():  # cancelled by `stop`, not by what the task waited for
                    raise
                self._note_failure(name, error)
                self._polled.add(name)
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                self._note_success(name)
                self._polled.add(name)
            await pause()

    def _note_failure(self, name: str, error: BaseException) -> None:
        expected = isinstance(error, Problem | ModelStoreError)
        sentence = str(error) if expected else f"{type(error).__name__}: {error}"
        sentence = f"{sentence.rstrip('.')}."
        before = self._failures[name]
        if before is None or before.sentence != sentence:
            unexpected = None if expected else error
            get_logger().warning("watcher failed", watcher=name, error=sentence, exc_info=unexpected)
        self._failures[name] = _Failure(sentence, before.since if before else datetime.now(UTC))

    def _note_success(self, name: str) -> None:
        if self._failures[name] is not None:
            self._failures[name] = None
            get_logger().info("watcher recovered", watcher=name)
