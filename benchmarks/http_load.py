"""HTTP load generator like wrk: keep-alive connections with one request at a time."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np


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
    pid: int
    port: int
    paths: tuple[str, ...]


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the last one is answered, until `stopping`."""

    def __init__(self, paths: Iterator[str]) -> None:
        self._paths = paths
        self._received = b""
        self._asked = 0.0
        self.latencies: list[float] = []
        self.stopping = False
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        self._transport.write(f"GET {next(self._paths)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Record the latency of a complete answer."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(self._received.decode()))
            return
        self.latencies.append(time.perf_counter() - self._asked)
        self._received = b""
        if self.stopping:
            self._transport.close()
            self.done.set_result(None)
        else:
            self._ask()


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(target: Target, paths: Iterator[str], connections: int, seconds: float) -> Load:
    """Keep the connections busy for some seconds."""
    loop = asyncio.get_running_loop()
    start, used = time.perf_counter(), cpu_seconds(target.pid)
    opened = [
        (await loop.create_connection(lambda: Connection(paths), "127.0.0.1", target.port))[1]
        for _ in range(connections)
    ]
    await asyncio.sleep(seconds)
    for connection in opened:
        connection.stopping = True
    await asyncio.gather(*(connection.done for connection in opened))
    took = time.perf_counter() - start
    latencies = [latency for connection in opened for latency in connection.latencies]
    return Load(took, latencies, cpu_seconds(target.pid) - used)
