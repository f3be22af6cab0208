"""`python -m app worker`: claims jobs and runs each in a process of its own."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.util import find_spec

from redis.exceptions import RedisError

from app.jobs.schedule import Schedule
from app.jobs.schemas import Job
from app.jobs.store import JobStore, Lease
from app.runtime.logs import get_logger
from app.settings import Settings, SettingsError
from app.shoppers.forgetting import NOTE
from app.shoppers.seeding_process import SeedingProcess

_POLL_SECONDS = 0.5
_FORGET_AGAIN_SECONDS = 30.0  # the pause if something could not be forgotten


def run_worker(settings: Settings) -> None:
    """Run jobs until SIGTERM or Ctrl-C; a job that is running then goes back to the queue."""
    if find_spec("torch") is None or find_spec("training") is None:
        raise SettingsError(
            "The worker needs PyTorch and Tripod's training part: pip install 'tripod-ndpp[train]'."
        )
    _Worker(settings).run()


def is_alive_here(settings: Settings) -> bool:
    """Whether a worker on this host was alive in the last seconds."""
    return JobStore.connect(settings.redis_url).worker_alive(socket.gethostname())


class _Worker:
    def __init__(self, settings: Settings) -> None:
        self._store = JobStore.connect(settings.redis_url)
        self._schedule = Schedule(settings)
        self._seeding = SeedingProcess()
        self._forget_after = 0.0
        self._stopping = False
        self._redis_available = True

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        self._seeding.start()
        while not self._stopping:
            with self._errors_logged():
                self._keep_up()
            with self._errors_logged():
                if claimed := self._store.claim():
                    self._work(*claimed)
                    self._seeding.start()
                else:
                    self._forget()
            time.sleep(_POLL_SECONDS)
        self._seeding.stop()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _keep_up(self) -> None:
        """Record that this worker is alive, and create the jobs that are due."""
        self._store.note_worker(socket.gethostname())
        self._schedule.tick(self._store, datetime.now(UTC))

    def _work(self, job: Job, lease: Lease) -> None:
        """Run a job to its end, or kill its process if the worker is stopped: a fit may take an hour."""
        code = self._run_process("app.jobs.work", lease.job_id, lease.token)
        # If the process has ended its job, or the job was cancelled, this changes nothing.
        if self._stopping:
            reason = "The worker was stopped: the next one starts the job again."
        elif code < 0:
            how = signal.Signals(-code).name
            reason = f"The work process was killed by {how}: by hand, or because memory ran out."
        else:
            reason = f"The work process ended with exit code {code}: see the worker's log."
        self._store.died(job, reason, lease, again=self._stopping)

    def _forget(self) -> None:
        """Remove forgotten shoppers from files, if there are any; no job runs meanwhile."""
        if time.monotonic() < self._forget_after or not self._store.client.exists(NOTE):
            return
        token = f"forgetting:{secrets.token_hex(8)}"
        if self._store.hold(token) and self._run_process("app.jobs.forget", token) != 0:
            self._forget_after = time.monotonic() + _FORGET_AGAIN_SECONDS

    def _run_process(self, module: str, *arguments: str) -> int:
        """Run a module in a process of its own, which is killed if the worker is stopped; its exit code."""
        command = [sys.executable, "-m", module, *arguments, str(os.getpid())]
        process = subprocess.Popen(command, start_new_session=True)  # Ctrl-C does not reach it
        while process.poll() is None:
            if self._stopping:
                process.kill()
            else:
                with self._errors_logged():
                    self._keep_up()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
        return process.returncode

    @contextmanager
    def _errors_logged(self) -> Iterator[None]:
        """Log an error and continue. While Redis is unavailable, only the first error is logged."""
        try:
            yield
            self._redis_available = True
        except RedisError as error:
            if self._redis_available:
                get_logger().warning("redis unavailable", error=str(error))
            self._redis_available = False
        except Exception:
            get_logger().exception("worker error")
