from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from app_process import Service, Valkey, eventually
from jobs_process import KEY, QUICK, Operator, Worker, write_baskets
from redis import Redis


def test_after_flushall_the_worker_is_healthy_again_and_does_jobs(
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


def test_the_worker_says_what_it_misses(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app", "worker", "--store", str(tmp_path / "store")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRIPOD_")}
    scheduled = clean | {"REDIS_URL": "redis://127.0.0.1:1", "TRIPOD_RETRAIN_CRON": "0 4 * * *"}
    result = subprocess.run(command, env=scheduled, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert result.stderr.strip() == (
        "TRIPOD_DATA is not set: scheduled training jobs have nothing to learn from."
    )
