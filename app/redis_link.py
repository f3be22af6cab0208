"""The connection to Redis (any server of its protocol): short timeouts, and one error when it is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app import metrics
from app.errors import RedisAway
from app.logs import get_logger

_TIMEOUT_SECONDS = 0.5
_CONNECTIONS = 32
_WAIT_SECONDS = 2.0  # for a connection, when all are busy; a crowd of requests is no sign of trouble
_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
    OSError,  # a TimeoutError is one
)


class RedisLink:
    """A Redis client, and the memory of whether it answered last time, so that the log tells only changes."""

    def __init__(self, url: str) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            timeout=_WAIT_SECONDS,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
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
            with metrics.redis_call():
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
