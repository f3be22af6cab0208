"""Runs `app.shoppers.seeding` beside the worker: in another process, which needs memory for all baskets."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from app.runtime.parent_process import end_with_parent


class SeedingProcess:
    """The process; at most one runs at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it is running."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "app.shoppers.seeding"]
            self._process = subprocess.Popen(
                command,
                start_new_session=True,  # Ctrl-C does not reach it
                preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509  the worker has no threads
            )

    def stop(self) -> None:
        """End it; the next one starts again."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
