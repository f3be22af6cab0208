"""`make run` with real processes, on the tiny data."""

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
from app_process import eventually, free_port

from model_store import ModelStore

ROOT = Path(__file__).parents[2]
BANNER = "Ctrl-C stops it"
PATIENCE = 240  # seconds, for a machine that has other things to do


class Running:
    """`python -m scripts.run` on a free port, with its store and data in a folder of its own."""

    def __init__(self, folder: Path, *, file_limit: int | None = None, **environment: str) -> None:
        self.output = folder / "output.txt"
        places = ["--store", str(folder / "store"), "--data", str(folder / "data")]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRIPOD_")}
        inherited.pop("REDIS_URL", None)

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
        deadline = time.monotonic() + PATIENCE
        while words not in self.text():
            assert self.process.poll() is None and time.monotonic() < deadline, self.text()
            time.sleep(0.05)

    def descendants(self) -> set[int]:
        """The processes below ours, from /proc."""
        found, waiting = set(), [self.process.pid]
        while waiting:
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                children = {int(pid) for pid in (task / "children").read_text().split()}
                waiting += children - found
                found |= children
        return found

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if _state(pid) not in ("gone", "Z")}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def test_from_nothing_to_a_recommendation_and_back(tmp_path: Path) -> None:
    with Running(tmp_path) as first:
        first.wait_for(BANNER)
        check_banner(first.text())
        check_smoke(first.text())
        started = first.descendants()
        assert len(started) >= 3  # the service, its worker and Valkey
        assert first.end(signal.SIGINT) == 0
        assert alive(started) == set()

    with Running(tmp_path) as again:
        again.wait_for(BANNER)
        assert "no model yet" not in again.text()
        assert len(ModelStore(tmp_path / "store").versions()) == 2  # the demo's and the smoke test's
        started = again.descendants()
        again.end(signal.SIGKILL)
        eventually(lambda: not alive(started), "processes outlived what started them")


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[1]


def check_banner(shown: str) -> None:
    assert "400/400" in shown  # the progress bar
    assert "seeded generator" in shown  # what is to be said about the data
    assert "/docs" in shown
    question = found(r"curl '(.*)'", shown)
    pasted = json.loads(found(r"(?s)curl '.*?'(.*)Ctrl-C", shown))
    asked = httpx.get(question, timeout=30).json()
    assert pasted | {"took_ms": 0} == asked | {"took_ms": 0}
    assert len(asked["items"]) == 3
    address, key = question.partition("/recommend")[0] + "/items/catsup", found(r"admin key +(\S+)", shown)
    assert httpx.patch(address, json={"price": 1}).status_code == 401
    assert httpx.patch(address, json={"price": 1}, headers={"X-Admin-Key": key}).status_code == 200


def check_smoke(shown: str) -> None:
    smoke = subprocess.run(
        [ROOT / "scripts" / "smoke", found(r"curl '(.*)/recommend", shown)],
        env=os.environ | {"TRIPOD_ADMIN_KEY": found(r"admin key +(\S+)", shown)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert smoke.returncode == 0, smoke.stderr
    checks = ["carts and recommendations", "bundles", "retraining and rollback"]
    assert [line.split(" (")[0] for line in smoke.stdout.splitlines()] == [f"ok  {name}" for name in checks]


def test_a_busy_port_is_a_sentence_before_any_work(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with Running(tmp_path, TRIPOD_PORT=port) as refused:
            assert refused.process.wait(PATIENCE) == 1
    assert len(refused.text().splitlines()) == 1
    assert f"port {port}: Address already in use" in refused.text()
    assert not (tmp_path / "store").exists()


def test_a_wrong_setting_is_a_sentence(tmp_path: Path) -> None:
    with Running(tmp_path, TRIPOD_PORT="eighty") as refused:
        assert refused.process.wait(PATIENCE) == 1
    assert len(refused.text().splitlines()) == 1
    assert "TRIPOD_PORT" in refused.text()


def test_a_disk_that_fills_up_is_a_sentence(tmp_path: Path) -> None:
    """No file may grow beyond a few kilobytes, as on a full disk."""
    with Running(tmp_path, file_limit=4096) as full:
        assert full.process.wait(PATIENCE) == 1
    assert f"error: File too large ({tmp_path / 'data' / 'baskets.parquet'})" in full.text()
    assert "Traceback" not in full.text()
    assert "could not be made" in full.text().splitlines()[-1]


def test_ctrl_c_during_the_training_ends_it_too(tmp_path: Path) -> None:
    with Running(tmp_path) as run:
        run.wait_for("preparing")
        started = run.descendants()
        for pid in (run.process.pid, *started):  # what a terminal does: everyone in the foreground gets it
            os.kill(pid, signal.SIGINT)
        assert run.process.wait(PATIENCE) in (0, 1)
        assert alive(started) == set()
    assert "Traceback" not in run.text(), run.text()
