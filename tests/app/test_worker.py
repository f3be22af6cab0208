"""The worker as a real process: health check, FLUSHALL, a second worker, a restart of Redis, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis

from tests.app.app_process import Service, Valkey, clean_environment, eventually
from tests.app.jobs_process import KEY, LONG, QUICK, Operator, Worker, write_baskets


def test_after_flushall_the_worker_is_healthy_and_runs_jobs(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    write_baskets(tmp_path / "data", baskets=300)
    settings = {"REDIS_URL": valkey.url, "TRIPOD_ADMIN_KEY": KEY, "TRIPOD_DATA": str(tmp_path / "data")}
    service = start(**settings)
    operator = Operator(service)

    def healthy() -> bool:
        command = [sys.executable, "-m", "app", "worker", "--check"]
        check = subprocess.run(
            command, env=os.environ | settings, capture_output=True, text=True, check=False
        )
        assert (check.returncode, check.stderr) in ((0, ""), (2, "No worker is alive on this host.\n"))
        return check.returncode == 0

    assert not healthy()
    with (
        Worker(tmp_path / "store", tmp_path / "data", **settings) as worker,
        Redis.from_url(valkey.url) as redis,
    ):
        eventually(healthy, "the worker is not healthy")
        first = operator.finished(operator.start(options=QUICK)["job_id"])
        assert first["state"] == "succeeded", worker.log_path.read_text()
        redis.flushall()
        eventually(healthy, "the worker is not healthy after FLUSHALL")
        second = operator.finished(operator.start(activate="always")["job_id"])
        assert second["state"] == "succeeded", worker.log_path.read_text()


def test_another_worker_takes_over_survives_a_redis_restart_and_requeues_on_ctrl_c(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    write_baskets(tmp_path / "data", baskets=300)
    settings = {"REDIS_URL": valkey.url, "TRIPOD_ADMIN_KEY": KEY, "TRIPOD_DATA": str(tmp_path / "data")}
    service = start(**settings, TRIPOD_JOB_RETRIES="1")
    operator = Operator(service)
    workers = [Worker(tmp_path / "store", tmp_path / "data", **settings) for _ in range(2)]
    with workers[0], workers[1]:
        job_id = operator.start(options=LONG)["job_id"]
        operator.reaches(job_id, 25)
        second, first = sorted(workers, key=lambda worker: len(worker.children()))
        orphan = first.work_process()
        assert second.children() == []
        first.process.kill()
        eventually(
            lambda: not Path(f"/proc/{orphan}").exists(), "the work process still runs without a worker"
        )
        eventually(lambda: operator.job(job_id)["attempt"] == 2, "the job was not queued again")
        operator.reaches(job_id, 25)

        process = second.work_process()
        following = operator.follow(job_id)
        _, before = next(following)
        valkey.kill()
        time.sleep(2)
        valkey.start()
        assert any((job["step"] or 0) >= before["step"] + 25 for _, job in following)
        following.close()
        assert second.children() == [process]

        began = time.monotonic()
        os.killpg(second.process.pid, signal.SIGINT)  # a terminal sends Ctrl-C to the whole group
        assert second.process.wait(60) == 0
        took = time.monotonic() - began
        assert took < 10
        stopped = operator.job(job_id)
        assert (stopped["state"], stopped["attempt"]) == ("queued", 2)
        assert stopped["error"] == "The worker was stopped: the next one starts the job again."
        assert not Path(f"/proc/{process}").exists()
        assert "Traceback" not in second.log_path.read_text()
    print(f"the worker stopped after {took:.1f} s")


def test_schedule_without_data_stops_the_worker_with_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app", "worker", "--store", str(tmp_path / "store")]
    scheduled = clean_environment() | {"REDIS_URL": "redis://127.0.0.1:1", "TRIPOD_RETRAIN_CRON": "0 4 * * *"}
    result = subprocess.run(command, env=scheduled, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert result.stderr.strip() == (
        "TRIPOD_DATA is not set: scheduled training jobs need baskets to learn from."
    )
