"""The connection to Redis (any server of its protocol): short timeouts, and one error when it is away."""

from __future__ import annotations

import asyncio
from time import perf_counter
from types import TracebackType
from typing import Any

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app import metrics
from app.errors import RedisAway
from app.logs import get_logger
from app.redis_reads import SharedReads

_TIMEOUT_SECONDS = 0.8
_CONNECTIONS = 32
_CONNECT_SECONDS = 5.0
_LATE_SECONDS = 0.02  # a timer that is later than this tells of a busy event loop
_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
    OSError,  # a TimeoutError is one
)


class _Call:
    """Surrounds a call to Redis: times it, gives it up when it takes too long, and says so as `RedisAway`.

    Unlike `asyncio.timeout` it does not blame Redis for our own delay: when the event loop was busy, an
    answer may lie unread in a socket, so there is more time.
    """

    __slots__ = ("_due", "_given_up", "_link", "_loop", "_start", "_task", "_timer")

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    def __enter__(self) -> Redis:
        task = asyncio.current_task()
        assert task is not None, "Redis is called from a task"
        self._task, self._loop = task, task.get_loop()
        self._given_up = False
        self._start = perf_counter()
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
            self._link.note(answers=True)
        elif isinstance(error, _AWAY):
            self._link.note(answers=False, error=str(error))
            raise RedisAway("Redis does not answer: try again in a second.") from error

    def _wait(self) -> None:
        self._timer = self._loop.call_later(_TIMEOUT_SECONDS, self._look)
        self._due = self._loop.time() + _TIMEOUT_SECONDS

    def _look(self) -> None:
        if self._loop.time() - self._due > _LATE_SECONDS:
            self._wait()
        else:
            self._given_up = True
            self._task.cancel()


class RedisLink:
    """A Redis client, and the memory of whether it answered last time, so that the log tells only changes."""

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
        self.answers = True

    def reaching(self) -> _Call:
        """The client, in a `with`; a failure to reach Redis inside the block becomes `RedisAway`."""
        return _Call(self)

    async def read(self, *command: str | int) -> Any:
        """The answer to one command that only reads, the cheapest way."""
        with self.reaching():
            return await self._reads.ask(*command)

    async def ping(self) -> bool:
        """Whether Redis answers right now."""
        try:
            with self.reaching() as redis:
                await redis.ping()
        except RedisAway:
            return False
        return True

    async def close(self) -> None:
        """Close all connections."""
        await self._reads.close()
        await self.client.aclose(close_connection_pool=True)

    def note(self, *, answers: bool, error: str | None = None) -> None:
        """Log whether Redis answers, if that is news."""
        if answers == self.answers:
            return
        self.answers = answers
        if answers:
            get_logger().info("redis is back")
        else:
            get_logger().warning("redis is away", error=error)
