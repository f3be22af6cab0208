"""Start the worker as a real process, write training data, and call the job routes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx

from tests.app.app_process import Service, clean_environment, eventually
from training.synthetic import generate_baskets

KEY = "an admin key for tests"
ADMIN = {"X-Admin-Key": KEY}
QUICK = {
    "rank": 6,
    "skew_rank": 8,
    "steps": 60,
    "batch_size": 200,
    "learning_rate": 0.03,
    "tune": "none",
    "report": False,
}
LONG = {"rank": 6, "skew_rank": 8, "steps": 1_000_000, "patience": 1_000_000, "batch_size": 50}


def write_baskets(folder: Path, *, items: int = 40, baskets: int = 1500, seed: int = 7) -> None:
    found = generate_baskets(items, baskets, mean_size=4, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [" ".join(found.catalogue[row] for row in basket) for basket in found]
    (folder / "baskets.txt").write_text("\n".join(lines) + "\n")


class Worker:
    """`python -m app worker` in a process group of its own."""

    def __init__(self, store: Path, data: Path, **environment: str) -> None:
        self.log_path = store.parent / f"worker-{os.urandom(3).hex()}.log"
        with self.log_path.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "worker", "--store", str(store)],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=clean_environment() | {"TRIPOD_DATA": str(data), "PYTHONUNBUFFERED": "1"} | environment,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def children(self) -> list[int]:
        """The processes that run jobs; others seed the profiles of shoppers."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in path.read_text().split() if _runs_a_job(child)]

    def work_process(self) -> int:
        """The process id of the running job."""
        return int(eventually(self.children, "no work process")[0])


def _runs_a_job(process: str) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return b"app.jobs.work" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return False


class Operator:
    """A client of the job routes of a service."""

    def __init__(self, service: Service) -> None:
        self.client = service.client

    def start(self, **request: Any) -> dict[str, Any]:
        answer = self.client.post("/training-jobs", json=request, headers=ADMIN)
        assert answer.status_code == 202, answer.text
        assert answer.headers["location"] == f"/training-jobs/{answer.json()['job_id']}"
        return answer.json()

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.client.get(f"/training-jobs/{job_id}", headers=ADMIN)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def cancel(self, job_id: str) -> httpx.Response:
        return self.client.post(f"/training-jobs/{job_id}/cancel", headers=ADMIN)

    def follow(self, job_id: str, **headers: str) -> Generator[tuple[str, dict[str, Any]]]:
        """Each event until the stream ends: its id and the job."""
        address = f"/training-jobs/{job_id}/events"
        with self.client.stream("GET", address, headers=ADMIN | headers, timeout=120) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            event_id = ""
            for line in stream.iter_lines():
                if line.startswith("id:"):
                    event_id = line[3:].strip()
                elif line.startswith("data:"):
                    data = line[5:].strip()
                if not line and event_id:
                    yield event_id, json.loads(data)
                    event_id = ""

    def finished(self, job_id: str) -> dict[str, Any]:
        """Wait until the job has ended, and return it."""
        return list(self.follow(job_id))[-1][1]

    def reaches(self, job_id: str, step: int) -> dict[str, Any]:
        """Wait until the fit has done this many steps, and return the job."""
        for _, job in self.follow(job_id):
            if (job["step"] or 0) >= step:
                return job
        raise AssertionError(f"the job ended first: {self.job(job_id)}")
