"""Reads from Redis over one shared connection: questions go out as they come, answers return in that order.

A connection of its own for each question, as the client's pool hands them out, takes three times the
processor time. Only reads share: a caller who gives up breaks the connection for all of them.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Any

from hiredis import pack_command
from redis.asyncio import Connection, ConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError


class SharedReads:
    """Asks over one connection of the pool's kind, and opens another when it broke."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._line: _Line | None = None
        self._opening: asyncio.Task[_Line] | None = None

    async def ask(self, *command: str | int) -> Any:
        """The answer to a command, or redis' own errors. How long to wait is the caller's business."""
        line = self._line
        if line is None or not line.is_open:
            line = await self._open()
        return await line.ask(command)

    async def _open(self) -> _Line:
        """All who find the connection broken wait for the same new one; it is not lost if they give up."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._connect())
            # Seen here, so that a failure for which nobody waits any more is not reported as forgotten.
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._opening)

    async def _connect(self) -> _Line:
        connection: Connection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        await connection.connect()  # type: ignore[no-untyped-call]
        self._line = _Line(connection)
        return self._line

    async def close(self) -> None:
        """Close the connection; questions under way fail."""
        if self._line is not None:
            await self._line.close()


class _Line:
    """One connection, from its opening until it breaks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._reading = asyncio.create_task(self._read())

    @property
    def is_open(self) -> bool:
        return bool(self._connection.is_connected) and not self._reading.done()

    async def ask(self, command: tuple[str | int, ...]) -> Any:
        packed = pack_command(command)  # type: ignore[arg-type]  # its stub allows only tuples of one
        answer = self._reading.get_loop().create_future()
        self._waiting.append(answer)  # nothing is awaited before it is written, so the orders agree
        await self._connection.send_packed_command(packed, check_health=False)
        try:
            return await answer
        except asyncio.CancelledError:
            # Redis is too slow, or the line is dead without having said so: begin with a new one.
            self._reading.cancel()
            raise

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        reason = "the connection was closed"
        try:
            while True:
                await self._settle_next()
        except (RedisError, OSError) as error:
            reason = str(error)
        finally:
            await self._connection.disconnect(nowait=True)
            for answer in self._waiting:
                if not answer.done():
                    answer.set_exception(RedisConnectionError(reason))

    async def _settle_next(self) -> None:
        failure = None
        try:
            result = await self._connection.read_response(timeout=math.inf)
        except ResponseError as error:
            failure = error
        answer = self._waiting.popleft()
        if answer.done():  # nobody waits for it any more
            return
        if failure is not None:
            answer.set_exception(failure)
        else:
            answer.set_result(result)
