"""Processes end with the one that started them, also when that one is killed."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_GRACE_SECONDS = 20.0  # twice what uvicorn allows the requests under way


def end_with_parent(parent: int) -> None:
    """For any program, as its `preexec_fn`: on Linux the kernel sends it SIGTERM when the parent ends."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before we could ask
            os.kill(os.getpid(), signal.SIGTERM)


def end_with_parent_process() -> None:
    """For a process of `multiprocessing`, on every system: a thread waits for the end of the parent."""
    threading.Thread(target=_end_after_parent, name="parent-watch", daemon=True).start()


def _end_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)
