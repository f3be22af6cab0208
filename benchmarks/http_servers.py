"""Server processes of `benchmarks.http`: starting them, their processor time and their memory."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_LONGEST_START = 600.0  # seconds
_ANSWERS = 20  # in a row until all workers are taken to be ready


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    pid: int
    ready_seconds: float  # from its start to the first answer 200

    def processes(self) -> list[int]:
        """The process and its workers."""
        found = [self.pid]
        for pid in found:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        return found

    def cpu_seconds(self) -> float:
        """CPU time that all processes have used so far."""
        ticks = 0
        for pid in self.processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> dict[str, float]:
        """Memory of the largest process in MB: its own pages, and pages of files, which processes share."""
        sizes = []
        for pid in self.processes():
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            kilobytes = {name: int(value.split()[0]) for name, value in (line.split(":") for line in lines)}
            own, files = kilobytes["Anonymous"] + kilobytes["Swap"], kilobytes["Rss"] - kilobytes["Anonymous"]
            sizes.append((own / 1024, files / 1024))
        private_mb, shared_mb = max(sizes)
        return {"private MB": private_mb, "shared MB": shared_mb}


@contextmanager
def running(command: list[str], port: int, path: str, **environment: str) -> Iterator[Server]:
    """Run a server process, and wait until this path answers 200."""
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--port", str(port)],
        env=os.environ | ONE_THREAD | environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for(process, port, path, started)
        yield Server(port, process.pid, time.monotonic() - started)
    finally:
        process.terminate()
        process.wait()


def wait_for_workers(port: int, path: str) -> None:
    """Wait until every worker answers: new connections reach any of them."""
    deadline, answers = time.monotonic() + _LONGEST_START, 0
    while answers < _ANSWERS:
        answers = answers + 1 if _answers(port, path) else 0
        if time.monotonic() > deadline:
            raise SystemExit(f"the workers on port {port} did not become ready")
        time.sleep(0.02)


def _wait_for(process: subprocess.Popen[bytes], port: int, path: str, started: float) -> None:
    while not _answers(port, path):
        if process.poll() is not None or time.monotonic() > started + _LONGEST_START:
            raise SystemExit(f"http://127.0.0.1:{port}{path} did not answer 200")
        time.sleep(0.02)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()
