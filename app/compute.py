"""Where mathematics runs: tiny work at once, the rest in a bounded pool of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from app import metrics
from app.errors import Overloaded

# Multiply-adds that take less than a millisecond on one core, all overhead included: 3,300 items at rank 100
# with a cart of 5 are two million and take 0.6 to 0.9 ms. Handing such work to a thread and back costs as
# much again, and with Python's lock it would hold the event loop up just as long.
INLINE_OPERATIONS = 3_000_000

Result = TypeVar("Result")


class Compute:
    """Runs functions; refuses quickly when `threads` are busy and `queue` calls are waiting."""

    def __init__(self, threads: int, queue: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="compute")
        self._limit = threads + queue
        self._pending = 0

    async def run(self, operations: float, work: Callable[[], Result]) -> Result:
        """The result of `work`, which is estimated to take that many multiply-adds."""
        if operations <= INLINE_OPERATIONS:
            return work()
        if self._pending >= self._limit:
            metrics.OVERLOADS.inc()
            raise Overloaded(f"{self._pending} computations are under way: try again in a second.")
        self._pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        # A caller that went away leaves its thread busy: count it until the work is really over.
        future.add_done_callback(self._finished)
        return await asyncio.shield(future)

    def _finished(self, future: asyncio.Future[Result]) -> None:
        self._pending -= 1
        if not future.cancelled():
            future.exception()  # seen here, so that an abandoned failure is not reported as forgotten

    def close(self) -> None:
        """Let the threads finish and end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
