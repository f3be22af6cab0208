"""The connection to Redis (any server of its protocol): short timeouts, and one error when it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app import metrics
from app.errors import RedisAway
from app.logs import get_logger

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


class _Deadline:
    """Cancels what it surrounds when Redis takes too long, and turns that into a TimeoutError.

    Unlike `asyncio.timeout` it does not blame Redis for our own delay: when the event loop was busy, an
    answer may lie unread in a socket, so there is more time.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._passed = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "Redis is called from a task"
        self._task, self._loop = task, asyncio.get_running_loop()
        self._wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        # Our own cancellation is a timeout; one from outside goes on as it is.
        if self._passed and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError("no answer in time") from error

    def _wait(self) -> None:
        self._timer = self._loop.call_later(self._seconds, self._look)
        self._due = self._loop.time() + self._seconds

    def _look(self) -> None:
        if self._loop.time() - self._due > _LATE_SECONDS:
            self._wait()
        else:
            self._passed = True
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
        self._answers = True

    @contextmanager
    def reaching(self) -> Iterator[Redis]:
        """The client; a failure to reach Redis inside the block becomes `RedisAway`."""
        try:
            with metrics.redis_call(), _Deadline(_TIMEOUT_SECONDS):
                yield self.client
        except _AWAY as error:
            self._note(answers=False, error=str(error))
            raise RedisAway("Redis does not answer: try again in a second.") from error
        self._note(answers=True)

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
        await self.client.aclose(close_connection_pool=True)

    def _note(self, *, answers: bool, error: str | None = None) -> None:
        if answers == self._answers:
            return
        self._answers = answers
        if answers:
            get_logger().info("redis is back")
        else:
            get_logger().warning("redis is away", error=error)
