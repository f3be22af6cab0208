"""`make run` with real processes, on the tiny data."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
from app_process import eventually, free_port

from model_store import ModelStore

ROOT = Path(__file__).parents[2]


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

    def wait_for_banner(self) -> None:
        eventually(lambda: "Ctrl-C stops it" in self.text() or self.process.poll() is not None, self.text())
        assert self.process.poll() is None, self.text()

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
        return self.process.wait(60)


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if _state(pid) not in ("gone", "Z")}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def test_from_nothing_to_a_recommendation_and_back(tmp_path: Path) -> None:
    first = Running(tmp_path)
    first.wait_for_banner()
    shown = first.text()
    assert "400/400" in shown  # the progress bar
    assert "seeded generator" in shown  # what is to be said about the data
    assert "/docs" in shown
    question = shown.split("curl '")[1].split("'")[0]
    pasted = json.loads(shown.split(f"curl '{question}'")[1].split("Ctrl-C")[0])
    asked = httpx.get(question, timeout=30).json()
    assert pasted | {"took_ms": 0} == asked | {"took_ms": 0}
    assert len(asked["items"]) == 3
    key = shown.split("admin key")[1].split()[0]
    address = question.split("/recommend")[0] + "/items/catsup"
    assert httpx.patch(address, json={"price": 1}).status_code == 403
    assert httpx.patch(address, json={"price": 1}, headers={"X-Admin-Key": key}).status_code == 200

    started = first.descendants()
    assert len(started) >= 2  # the service and Valkey
    assert first.end(signal.SIGINT) == 0
    assert alive(started) == set()

    again = Running(tmp_path)
    again.wait_for_banner()
    assert "no model yet" not in again.text()
    assert len(ModelStore(tmp_path / "store").versions()) == 1
    started = again.descendants()
    again.end(signal.SIGKILL)
    eventually(lambda: not alive(started), "processes outlived what started them")


def test_a_busy_port_is_a_sentence_before_any_work(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = Running(tmp_path, TRIPOD_PORT=port)
        assert refused.process.wait(60) == 1
    assert len(refused.text().splitlines()) == 1
    assert f"port {port}: Address already in use" in refused.text()
    assert not (tmp_path / "store").exists()


def test_a_wrong_setting_is_a_sentence(tmp_path: Path) -> None:
    refused = Running(tmp_path, TRIPOD_PORT="eighty")
    assert refused.process.wait(60) == 1
    assert len(refused.text().splitlines()) == 1
    assert "TRIPOD_PORT" in refused.text()


def test_a_disk_that_fills_up_is_a_sentence(tmp_path: Path) -> None:
    """No file may grow beyond a few kilobytes, as on a full disk."""
    full = Running(tmp_path, file_limit=4096)
    assert full.process.wait(120) == 1
    assert f"error: File too large ({tmp_path / 'data' / 'baskets.parquet'})" in full.text()
    assert "Traceback" not in full.text()
    assert "could not be made" in full.text().splitlines()[-1]


def test_ctrl_c_during_the_training_ends_it_too(tmp_path: Path) -> None:
    run = Running(tmp_path)
    eventually(lambda: "preparing" in run.text(), run.text())
    started = run.descendants()
    for pid in (run.process.pid, *started):  # what a terminal does: everyone in the foreground gets it
        os.kill(pid, signal.SIGINT)
    assert run.process.wait(60) in (0, 1)
    assert alive(started) == set()
    assert "Traceback" not in run.text(), run.text()
