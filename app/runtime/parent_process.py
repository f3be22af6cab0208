"""Makes a process end with its parent, even if the parent is killed."""

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
_GRACE_SECONDS = 20.0  # twice the time that uvicorn gives requests in progress


def end_with_parent(parent: int) -> None:
    """A `preexec_fn` for any program: on Linux the kernel sends SIGTERM when the parent ends."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent has ended already
            os.kill(os.getpid(), signal.SIGTERM)


def end_with_parent_process() -> None:
    """For a `multiprocessing` process on any system: a thread waits for the end of the parent."""
    threading.Thread(target=_end_after_parent, name="parent-watch", daemon=True).start()


def _end_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)
