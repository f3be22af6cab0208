"""`make run` with real processes, on the tiny data set."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import httpx

from model_store import ModelStore
from scripts.run import BANNER_END
from tests.app.app_process import eventually, free_port

ROOT = Path(__file__).parents[2]
TIMEOUT = 240  # seconds; the machine may be busy


class Running:
    """`python -m scripts.run` on a free port, with model store and data in a temporary folder."""

    def __init__(self, folder: Path, *, file_limit: int | None = None, **environment: str) -> None:
        self.output = folder / "output.txt"
        places = ["--store", str(folder / "store"), "--data", str(folder / "data")]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRIPOD_")}
        inherited.pop("REDIS_URL", None)
        if file_limit is not None:
            inherited.pop("COVERAGE_PROCESS_CONFIG", None)  # the data file of coverage.py would be too large

        def limit_files() -> None:
            if file_limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "scripts.run", "--dataset", "tiny", *places],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=inherited
                | {"TRIPOD_PORT": str(free_port()), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
                | environment,
                preexec_fn=limit_files,  # noqa: PLW1509
            )

    def text(self) -> str:
        return self.output.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while words not in self.text():
            assert self.process.poll() is None and time.monotonic() < deadline, self.text()
            time.sleep(0.05)

    def descendants(self) -> set[int]:
        """Process ids of all descendants, from /proc."""
        found, waiting = set(), [self.process.pid]
        while waiting:
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                children = {int(pid) for pid in (task / "children").read_text().split()}
                waiting += children - found
                found |= children
        return found

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if _state(pid) not in ("gone", "Z")}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def test_first_run_trains_and_second_run_reuses_the_model(tmp_path: Path) -> None:
    with Running(tmp_path) as first:
        first.wait_for(BANNER_END)
        check_banner(first.text())
        check_smoke(first.text())
        started = first.descendants()
        assert len(started) >= 3  # the service, its worker and Valkey
        assert first.end(signal.SIGINT) == 0
        assert alive(started) == set()

    with Running(tmp_path) as again:
        again.wait_for(BANNER_END)
        assert "No model yet" not in again.text()
        assert len(ModelStore(tmp_path / "store").versions()) == 2  # the demo's and the smoke test's
        started = again.descendants()
        again.end(signal.SIGKILL)
        eventually(lambda: not alive(started), "child processes survived their parent")


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[1]


def check_banner(shown: str) -> None:
    assert "400/400" in shown  # the progress bar
    assert "generated from a seed" in shown  # the note about the data set
    assert "/docs" in shown
    request = found(r"curl '(.*)'", shown)
    shown_answer = json.loads(found(r"(?s)curl '.*?'(.*)Press Ctrl-C", shown))
    answer = httpx.get(request, timeout=30).json()
    assert shown_answer | {"took_ms": 0} == answer | {"took_ms": 0}
    assert len(answer["items"]) == 3
    address, key = request.partition("/recommend")[0] + "/items/catsup", found(r"admin key +(\S+)", shown)
    assert httpx.patch(address, json={"price": 1}).status_code == 401
    assert httpx.patch(address, json={"price": 1}, headers={"X-Admin-Key": key}).status_code == 200


def check_smoke(shown: str) -> None:
    smoke = subprocess.run(
        [ROOT / "scripts" / "smoke", found(r"curl '(.*)/recommend", shown)],
        env=os.environ | {"TRIPOD_ADMIN_KEY": found(r"admin key +(\S+)", shown)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert smoke.returncode == 0, smoke.stderr
    checks = ["carts and recommendations", "bundles", "retraining and rollback"]
    assert [line.split(" (")[0] for line in smoke.stdout.splitlines()] == [f"ok  {name}" for name in checks]


def test_busy_port_is_reported_before_training(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with Running(tmp_path, TRIPOD_PORT=port) as refused:
            assert refused.process.wait(TIMEOUT) == 1
    assert len(refused.text().splitlines()) == 1
    assert f"port {port}: Address already in use" in refused.text()
    assert not (tmp_path / "store").exists()


def test_invalid_setting_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with Running(tmp_path, TRIPOD_PORT="eighty") as refused:
        assert refused.process.wait(TIMEOUT) == 1
    assert len(refused.text().splitlines()) == 1
    assert "TRIPOD_PORT" in refused.text()


def test_full_disk_is_reported_without_a_traceback(tmp_path: Path) -> None:
    """A file size limit of 4 kB imitates a full disk."""
    with Running(tmp_path, file_limit=4096) as full:
        assert full.process.wait(TIMEOUT) == 1
    assert f"error: File too large ({tmp_path / 'data' / 'baskets.parquet'})" in full.text()
    assert "Traceback" not in full.text()
    assert "Training the demo model failed" in full.text().splitlines()[-1]


def test_ctrl_c_stops_the_training(tmp_path: Path) -> None:
    with Running(tmp_path) as run:
        run.wait_for("preparing")
        started = run.descendants()
        for pid in (
            run.process.pid,
            *started,
        ):  # as a terminal does: SIGINT goes to the foreground process group
            os.kill(pid, signal.SIGINT)
        assert run.process.wait(TIMEOUT) in (0, 1)
        assert alive(started) == set()
    assert "Traceback" not in run.text(), run.text()
