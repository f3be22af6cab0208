"""HTTP load generators: as fast as possible over some connections, like wrk, or at a given rate.

At a given rate requests come at random times, as those of independent shoppers do. A latency counts from the
time at which a request came, even if it had to wait for a connection.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from benchmarks.http_servers import Server

_IN_FLIGHT = 64  # connections of a load at a given rate, at most
_KEPT_SECONDS = 3.0  # less than a server keeps an unused connection open
_VERSION, _VERSION_LENGTH = b'"model_version":"', 22


@dataclass(frozen=True)
class Load:
    """Measurements of one round of load."""

    seconds: float
    latencies: list[float]
    cpu_seconds: float  # of the server

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU time of the server per answer, in milliseconds."""
        return 1000 * self.cpu_seconds / len(self.latencies)

    def percentile(self, share: float) -> float:
        """Latency percentile in milliseconds."""
        return float(np.percentile(self.latencies, share)) * 1000


@dataclass(frozen=True)
class Target:
    """A server and the paths to request."""

    name: str
    what: str  # the name without the size of the catalogue and the number of workers
    server: Server
    paths: tuple[str, ...]


class Connection(asyncio.Protocol):
    """A keep-alive connection with one request at a time; calls `answered` with itself and the answer."""

    def __init__(self, answered: Callable[[Connection, bytes], None]) -> None:
        self._answered = answered
        self._received = b""
        self.since = 0.0  # when the request came
        self.used = time.perf_counter()  # when the last answer came
        self.busy = False
        self.failed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report a request that is not answered."""
        if self.busy and not self.failed.done():
            self.failed.set_exception(exc or ConnectionError("the server closed the connection"))

    def ask(self, request: bytes, since: float) -> None:
        """Send a request that came at this time."""
        self.since, self.busy = since, True
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Hand on a complete answer."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        self._received, self.busy, self.used = b"", False, time.perf_counter()
        if head.startswith(b"HTTP/1.1 20"):
            self._answered(self, body)
        elif not self.failed.done():
            self.failed.set_exception(RuntimeError((head + b"\n" + body).decode()))

    def close(self) -> None:
        """Close the connection."""
        self.busy = False
        self.failed.cancel()
        self._transport.close()


def get(path: str) -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    """A POST request with a JSON body."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _open(port: int, count: int, answered: Callable[[Connection, bytes], None]) -> list[Connection]:
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(lambda: Connection(answered), "127.0.0.1", port) for _ in range(count)
    ]
    return [connection for _, connection in opened]


async def exchange(port: int, requests: Iterator[bytes], connections: int) -> list[tuple[float, bytes]]:
    """Send the requests as fast as the connections allow; the latency and the body of each answer."""
    answers: list[tuple[float, bytes]] = []
    busy, done = connections, asyncio.get_running_loop().create_future()

    def answered(connection: Connection, body: bytes) -> None:
        answers.append((connection.used - connection.since, body))
        follow(connection)

    def follow(connection: Connection) -> None:
        nonlocal busy
        request = next(requests, None)
        if request is not None:
            connection.ask(request, time.perf_counter())
            return
        busy -= 1
        if not busy and not done.done():
            done.set_result(None)

    opened = await _open(port, connections, answered)
    for connection in opened:
        follow(connection)
    await _first(done, opened)
    return answers


async def _first(done: asyncio.Future[None], opened: list[Connection]) -> None:
    """Wait until it is done, or raise the error of a connection."""
    finished, _ = await asyncio.wait(
        [done, *(connection.failed for connection in opened)], return_when=asyncio.FIRST_COMPLETED
    )
    try:
        for future in finished:
            future.result()
    finally:
        for connection in opened:
            connection.close()


async def load(target: Target, paths: Iterator[str], connections: int, seconds: float) -> Load:
    """Keep the connections busy for some seconds."""
    start, used = time.perf_counter(), target.server.cpu_seconds()
    requests = (get(path) for path in paths)

    def until_the_end() -> Iterator[bytes]:
        while time.perf_counter() < start + seconds:
            yield next(requests)

    answers = await exchange(target.server.port, until_the_end(), connections)
    took = time.perf_counter() - start
    return Load(took, [latency for latency, _ in answers], target.server.cpu_seconds() - used)


@dataclass
class Answers:
    """Latencies of a load at a given rate, and when each model version answered last."""

    latencies: list[float] = field(default_factory=list)
    last: dict[str, float] = field(default_factory=dict)  # times of `time.perf_counter`

    def percentile(self, share: float, first: int = 0) -> float:
        """Latency percentile in milliseconds, without the `first` answers."""
        return float(np.percentile(self.latencies[first:], share)) * 1000


async def steady_load(
    target: Target, paths: Iterator[str], rate: float, finished: Callable[[Answers], bool]
) -> Answers:
    """Requests at random times, `rate` per second on average, until `finished` and all are answered."""
    answers, rng = Answers(), np.random.default_rng(0)
    waiting: deque[float] = deque()
    opened: list[Connection] = []
    idle: list[Connection] = []
    done = asyncio.get_running_loop().create_future()
    due, ended = time.perf_counter(), False

    def answered(connection: Connection, body: bytes) -> None:
        answers.latencies.append(connection.used - connection.since)
        found = body.find(_VERSION) + len(_VERSION)
        answers.last[body[found : found + _VERSION_LENGTH].decode()] = connection.used
        if waiting:
            connection.ask(get(next(paths)), waiting.popleft())
            return
        idle.append(connection)
        if ended and not any(each.busy for each in opened):
            done.set_result(None)

    while not finished(answers):
        due += float(rng.exponential(1 / rate))
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        fresh = [each for each in idle if time.perf_counter() < each.used + _KEPT_SECONDS]
        for old in set(idle) - set(fresh):
            old.close()
            opened.remove(old)
        idle[:] = fresh
        if not idle and len(opened) < _IN_FLIGHT:
            opened += (more := await _open(target.server.port, 1, answered))
            idle += more
        if idle:
            idle.pop().ask(get(next(paths)), due)
        else:
            waiting.append(due)
    ended = True
    if not any(each.busy for each in opened):
        done.set_result(None)
    await _first(done, opened)
    return answers
