"""`python -m app worker`: takes jobs from the queue, each into a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import rq
from redis import Redis
from redis.exceptions import RedisError
from rq.serializers import JSONSerializer

from app.jobs.schedule import Schedule
from app.jobs.store import QUEUE, JobStore
from app.logs import get_logger
from app.settings import Settings, SettingsError

_TICK_SECONDS = 1.0


def run_worker(settings: Settings) -> None:
    """Work until stopped; a job that runs then goes back to the queue."""
    if find_spec("torch") is None or find_spec("training") is None:
        raise SettingsError(
            "The worker needs PyTorch and Tripod's training part: pip install 'tripod-ndpp[train]'."
        )
    url = settings.redis_url or ""
    upkeep = _Upkeep(
        Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5),
        Schedule(settings),
    )
    upkeep.start()
    while True:
        worker = _Worker(Redis.from_url(url))
        try:
            worker.work()
        except (RedisError, OSError) as error:
            get_logger().warning("the worker cannot reach redis", error=str(error))
        if worker.stopping:
            return
        time.sleep(_TICK_SECONDS)


def is_alive_here(settings: Settings) -> bool:
    """Whether a worker on this host has given a sign of life in the last seconds."""
    client = Redis.from_url(settings.redis_url or "", socket_timeout=5, socket_connect_timeout=5)
    return JobStore(client).worker_alive(socket.gethostname())


class _Worker(rq.Worker):
    """RQ's worker, but it does not wait for the end of a job when it is told to stop."""

    def __init__(self, client: Redis) -> None:
        super().__init__([QUEUE], connection=client, serializer=JSONSerializer, log_job_description=False)
        self.stopping = False
        self._store = JobStore(client)

    def handle_warm_shutdown_request(self) -> None:
        """Ctrl-C or SIGTERM: a fit may take an hour, and whoever stops us has ten seconds."""
        self.stopping = True
        if self.horse_pid:
            self.kill_horse()

    def handle_work_horse_killed(self, job: Any, retpid: int, ret_val: int, rusage: Any) -> None:
        """The work process ended without a word: cancelled, killed, or out of memory."""
        super().handle_work_horse_killed(job, retpid, ret_val, rusage)  # type: ignore[no-untyped-call]
        if self.stopping:
            self._store.died(job.args[0], "The worker was stopped: the next one begins again.", again=True)
            return
        how = f"by {signal.Signals(os.WTERMSIG(ret_val)).name}" if os.WIFSIGNALED(ret_val) else "unexpectedly"
        reason = f"The work process was ended {how}: by hand, or because the machine ran out of memory."
        self._store.died(job.args[0], reason)


class _Upkeep(threading.Thread):
    """Every second: says that a worker lives, finds jobs whose process died, and starts what is due."""

    def __init__(self, client: Redis, schedule: Schedule) -> None:
        super().__init__(name="upkeep", daemon=True)
        self._store = JobStore(client)
        self._schedule = schedule

    def run(self) -> None:
        """Until the process ends; with Redis away there is nothing to keep up."""
        while True:
            try:
                self._store.note_worker(socket.gethostname())
                self._store.keep_going()
                self._schedule.tick(self._store, datetime.now(UTC))
            except (RedisError, OSError):
                pass
            except Exception:  # one strange job must not end the upkeep of all others
                get_logger().exception("the upkeep of training jobs failed")
            time.sleep(_TICK_SECONDS)
