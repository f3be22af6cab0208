"""The connection to Redis (any server of its protocol): short timeouts, and one error when it is away."""

from __future__ import annotations

import asyncio
from time import perf_counter
from types import TracebackType
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app import metrics
from app.errors import RedisAway
from app.logs import get_logger
from app.redis_reads import SharedReads
from app.redis_trouble import RedisTrouble, trouble_of

_TIMEOUT_SECONDS = 0.8
_CONNECTIONS = 32
_CONNECT_SECONDS = 5.0
_LATE_SECONDS = 0.02  # a timer that is later than this tells of a busy event loop
_DEADLINES = 3  # a call on a busy event loop ends after this many of them
_PROBE = "tripod:readyz"


class _Call:
    """Surrounds a call to Redis: times it, gives it up when it takes too long, and says so as `RedisAway`.

    Unlike `asyncio.timeout` it does not blame Redis for our own delay: when the event loop was busy, an
    answer may lie unread in a socket, so there is more time, though not for ever.
    """

    __slots__ = ("_due", "_given_up", "_last", "_link", "_loop", "_start", "_task", "_timer", "_writes")

    def __init__(self, link: RedisLink, *, writes: bool) -> None:
        self._link = link
        self._writes = writes

    def __enter__(self) -> Redis:
        task = asyncio.current_task()
        assert task is not None, "Redis is called from a task"
        self._task, self._loop = task, task.get_loop()
        self._given_up = False
        self._start = perf_counter()
        self._last = self._loop.time() + _DEADLINES * _TIMEOUT_SECONDS
        self._wait()
        return self._link.client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        metrics.redis_seconds(ok=error is None).observe(perf_counter() - self._start)
        # Our own cancellation is a timeout; one from outside goes on as it is.
        if self._given_up and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            error = TimeoutError("no answer in time")
        if error is None:
            self._link.note_success(writes=self._writes)
        elif (trouble := trouble_of(error)) is not None:
            self._link.note(trouble)
            raise trouble.problem() from error

    def _wait(self) -> None:
        self._timer = self._loop.call_later(_TIMEOUT_SECONDS, self._look)
        self._due = self._loop.time() + _TIMEOUT_SECONDS

    def _look(self) -> None:
        now = self._loop.time()
        if now - self._due > _LATE_SECONDS and now < self._last:
            self._wait()
        else:
            self._given_up = True
            self._task.cancel()


class RedisLink:
    """A Redis client, and the memory of how it did last time, so that the log tells only changes."""

    def __init__(self, url: str) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            timeout=None,  # `reaching` has a deadline for the whole call
            socket_timeout=None,
            socket_connect_timeout=_CONNECT_SECONDS,
            # No retries: a change whose answer was lost may have happened, and must not happen twice.
            # A connection that died while idle is noticed and renewed before it is used.
            retry=Retry(NoBackoff(), 0),
        )
        self.client = Redis(connection_pool=pool)
        self._reads = SharedReads(pool)
        self._trouble: RedisTrouble | None = None

    @property
    def answers(self) -> bool:
        """Whether Redis could be reached last time."""
        return self._trouble is None or self._trouble.code is not None

    def reaching(self, *, writes: bool = False) -> _Call:
        """The client, in a `with`; a Redis that cannot be used inside the block becomes `RedisAway`."""
        return _Call(self, writes=writes)

    async def read(self, *command: str | int) -> Any:
        """The answer to one command that only reads, the cheapest way."""
        with self.reaching():
            return await self._reads.ask(*command)

    async def missing(self) -> str | None:
        """Why carts cannot be kept right now, found out by a write; None if they can."""
        try:
            with self.reaching(writes=True) as redis:
                await redis.set(_PROBE, 1, px=10_000)
        except RedisAway as problem:
            trouble = trouble_of(problem.__cause__) if problem.__cause__ else None
            if trouble is None or trouble.code is None:
                return "Redis does not answer"
            return f"Redis refuses changes: {trouble.reason}"
        return None

    async def close(self) -> None:
        """Close all connections."""
        await self._reads.close()
        await self.client.aclose(close_connection_pool=True)

    def note(self, trouble: RedisTrouble) -> None:
        """Remember the trouble, and log it if it is news."""
        before, self._trouble = self._trouble, trouble
        if before is not None and (before.code is None) == (trouble.code is None):
            return
        event = "redis is away" if trouble.code is None else "redis refuses commands"
        get_logger().warning(event, error=trouble.reason)

    def note_success(self, *, writes: bool) -> None:
        """Forget the trouble. A read that succeeds says nothing about a server that refuses to write."""
        if self._trouble is not None and (writes or self._trouble.code is None):
            self._trouble = None
            get_logger().info("redis is back")
