"""Runs computations: small ones on the event loop, others in a bounded pool of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from app.http.errors import Overloaded
from app.runtime import metrics

# Multiply-adds that take less than a millisecond on one core, with all overhead: 3,300 items at rank 100 and
# a cart of 5 need two million and take 0.6 to 0.9 ms. Passing such work to a thread and back costs as much
# again, and because of Python's global lock the event loop would wait just as long.
INLINE_OPERATIONS = 3_000_000

Result = TypeVar("Result")


class Compute:
    """A thread pool that raises Overloaded when all threads are busy and `queue` calls are waiting."""

    def __init__(self, threads: int, queue: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="compute")
        self._threads = threads
        self._limit = threads + queue
        self._pending = 0

    @property
    def is_busy(self) -> bool:
        """Whether computations wait for a thread."""
        return self._pending > self._threads

    async def run(self, operations: float, work: Callable[[], Result]) -> Result:
        """The result of `work`, whose cost is estimated in multiply-adds."""
        if operations <= INLINE_OPERATIONS:
            return work()
        if self._pending >= self._limit:
            metrics.OVERLOADS.inc()
            raise Overloaded(f"{self._pending} computations are in progress: try again in a second.")
        self._pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        # A caller that disconnects leaves its thread busy: count the work until it is done.
        future.add_done_callback(self._finished)
        return await asyncio.shield(future)

    def _finished(self, future: asyncio.Future[Result]) -> None:
        self._pending -= 1
        if not future.cancelled():
            future.exception()  # retrieve the exception so asyncio does not warn

    def close(self) -> None:
        """Shut the pool down; work that has started finishes."""
        self._pool.shutdown(wait=False, cancel_futures=True)
