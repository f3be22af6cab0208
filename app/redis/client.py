"""The asyncio Redis client: a deadline per call, one exception if Redis is unavailable, shared reads."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import Any

from hiredis import pack_command
from redis.asyncio import BlockingConnectionPool, Connection, ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from app.http.errors import RedisUnavailable
from app.redis.failures import RedisFailure, failure_of
from app.runtime import metrics
from app.runtime.logs import get_logger

_TIMEOUT_SECONDS = 0.8
_MAX_CONNECTIONS = 32
_CONNECT_SECONDS = 5.0
_LATE_SECONDS = 0.02  # a timer that fires later than this shows that the event loop was busy
_MAX_TIMEOUTS = 3  # with a busy event loop, a call is given up after this many timeouts
_PROBE_KEY = "tripod:readyz"


class RedisLink:
    """A Redis client that remembers whether Redis was available, so that only changes are logged."""

    def __init__(self, url: str) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=None,  # `call` has a deadline for everything
            socket_timeout=None,
            socket_connect_timeout=_CONNECT_SECONDS,
            # No retries: a change whose response was lost may have happened, and must not happen twice.
            # A connection that died while idle is noticed and renewed before it is used.
            retry=Retry(NoBackoff(), 0),
        )
        self.client = Redis(connection_pool=pool)
        self._shared = _SharedConnection(pool)
        self._failure: RedisFailure | None = None

    @property
    def reachable(self) -> bool:
        """Whether Redis could be reached at the last call."""
        return self._failure is None or self._failure.code is not None

    def call(self, *, writes: bool = False) -> _Call:
        """A context manager that gives the client and raises RedisUnavailable if Redis fails in the block."""
        return _Call(self, writes=writes)

    async def read(self, *command: str | int) -> Any:
        """The response to a read-only command, over the shared connection."""
        with self.call():
            return await self._shared.ask(*command)

    async def read_each(self, *commands: tuple[str | int, ...]) -> list[Any]:
        """The responses to several read-only commands, over the shared connection in one round trip."""
        with self.call():
            return await self._shared.ask_each(commands)

    async def why_unavailable(self) -> str | None:
        """Write a key and return why Redis refuses it; None if Redis accepts writes."""
        try:
            with self.call(writes=True) as redis:
                await redis.set(_PROBE_KEY, 1, px=10_000)
        except RedisUnavailable as problem:
            failure = failure_of(problem.__cause__) if problem.__cause__ else None
            if failure is None or failure.code is None:
                return "Redis does not respond"
            return f"Redis refuses writes: {failure.reason}"
        return None

    async def close(self) -> None:
        """Close all connections."""
        await self._shared.close()
        await self.client.aclose(close_connection_pool=True)

    def note_failure(self, failure: RedisFailure) -> None:
        """Remember the failure, and log it if it is new."""
        before, self._failure = self._failure, failure
        if before is not None and (before.code is None) == (failure.code is None):
            return
        event = "redis unavailable" if failure.code is None else "redis refuses commands"
        get_logger().warning(event, error=failure.reason)

    def note_success(self, *, writes: bool) -> None:
        """Forget the failure. A read that succeeds does not show that a server accepts writes again."""
        if self._failure is not None and (writes or self._failure.code is None):
            self._failure = None
            get_logger().info("redis available again")


class _Call:
    """Times a call to Redis, cancels it at the deadline, and turns its failures into RedisUnavailable.

    Unlike `asyncio.timeout` it does not blame Redis for a busy event loop: if the timer fires late, the
    response may lie unread in the socket, so the deadline is extended, at most `_MAX_TIMEOUTS` times.
    """

    __slots__ = ("_due", "_last", "_link", "_loop", "_start", "_task", "_timed_out", "_timer", "_writes")

    def __init__(self, link: RedisLink, *, writes: bool) -> None:
        self._link = link
        self._writes = writes

    def __enter__(self) -> Redis:
        task = asyncio.current_task()
        assert task is not None, "Redis is called from a task"
        self._task, self._loop = task, task.get_loop()
        self._timed_out = False
        self._start = perf_counter()
        self._last = self._loop.time() + _MAX_TIMEOUTS * _TIMEOUT_SECONDS
        self._start_timer()
        return self._link.client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        metrics.redis_seconds(ok=error is None).observe(perf_counter() - self._start)
        # Our own cancellation is a timeout; one from outside propagates unchanged.
        if self._timed_out and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            error = TimeoutError("no response in time")
        if error is None:
            self._link.note_success(writes=self._writes)
        elif (failure := failure_of(error)) is not None:
            self._link.note_failure(failure)
            raise failure.problem() from error

    def _start_timer(self) -> None:
        self._timer = self._loop.call_later(_TIMEOUT_SECONDS, self._on_timer)
        self._due = self._loop.time() + _TIMEOUT_SECONDS

    def _on_timer(self) -> None:
        now = self._loop.time()
        if now - self._due > _LATE_SECONDS and now < self._last:
            self._start_timer()
        else:
            self._timed_out = True
            self._task.cancel()


class _SharedConnection:
    """One connection for all read-only commands, reopened when it breaks.

    Taking a connection from the pool for each command costs three times the processor time. Only reads share
    one: a caller who gives up breaks the connection for all others.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._pipeline: _Pipeline | None = None
        self._opening: asyncio.Task[_Pipeline] | None = None

    async def ask(self, *command: str | int) -> Any:
        """The response to a command; raises redis-py's errors. The caller sets the deadline."""
        return await (await self._opened()).ask(command)

    async def ask_each(self, commands: Sequence[tuple[str | int, ...]]) -> list[Any]:
        """The responses to several commands, which are sent together."""
        return await (await self._opened()).ask_each(commands)

    async def _opened(self) -> _Pipeline:
        pipeline = self._pipeline
        if pipeline is None or not pipeline.is_open:
            pipeline = await self._open()
        return pipeline

    async def _open(self) -> _Pipeline:
        """Open a connection. All callers wait for the same task, which continues if one of them gives up."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._connect())
            # Retrieve the exception so asyncio does not warn when nobody waits any more.
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._opening)

    async def _connect(self) -> _Pipeline:
        connection: Connection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        await connection.connect()  # type: ignore[no-untyped-call]
        self._pipeline = _Pipeline(connection)
        return self._pipeline

    async def close(self) -> None:
        """Close the connection; commands in progress fail."""
        if self._pipeline is not None:
            await self._pipeline.close()


def _packed(command: tuple[str | int, ...]) -> bytes:
    packed: bytes = pack_command(command)  # type: ignore[arg-type]  # its stub allows only tuples of one
    return packed


class _Pipeline:
    """One connection until it breaks: commands are sent as they come, responses arrive in the same order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._reading = asyncio.create_task(self._read())

    @property
    def is_open(self) -> bool:
        return bool(self._connection.is_connected) and not self._reading.done()

    async def ask(self, command: tuple[str | int, ...]) -> Any:
        response = self._awaited()
        return await self._sent(_packed(command), response)

    async def ask_each(self, commands: Sequence[tuple[str | int, ...]]) -> list[Any]:
        responses = [self._awaited() for _ in commands]
        both: list[Any] = await self._sent(b"".join(map(_packed, commands)), asyncio.gather(*responses))
        return both

    def _awaited(self) -> asyncio.Future[Any]:
        response = self._reading.get_loop().create_future()
        self._waiting.append(response)  # there is no `await` before the write, so both have the same order
        return response

    async def _sent(self, packed: bytes, response: asyncio.Future[Any]) -> Any:
        await self._connection.send_packed_command(packed, check_health=False)
        try:
            return await response
        except asyncio.CancelledError:
            # Redis is too slow, or the connection is dead without an error: the next command opens another.
            self._reading.cancel()
            raise

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        reason = "the connection was closed"
        try:
            while True:
                await self._read_response()
        except (RedisError, OSError) as error:
            reason = str(error)
        finally:
            await self._connection.disconnect(nowait=True)
            for response in self._waiting:
                if not response.done():
                    response.set_exception(RedisConnectionError(reason))

    async def _read_response(self) -> None:
        failure = None
        try:
            result = await self._connection.read_response(timeout=math.inf)
        except ResponseError as error:
            failure = error
        response = self._waiting.popleft()
        if response.done():  # its caller has given up
            return
        if failure is not None:
            response.set_exception(failure)
        else:
            response.set_result(result)
