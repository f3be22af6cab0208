"""Where versions are kept: what a store needs from a place, and the local folder that offers it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from model_store.manifest import Manifest, is_version

ACTIVE = "ACTIVE"  # one line: the active version
HISTORY = "HISTORY"  # the versions activated last, newest first, one a line; see `Activated`
_SCRATCH = ".unfinished-"


class Storage(Protocol):
    """A place that holds versions. Paths are relative to it; a missing file is a FileNotFoundError."""

    location: str
    failures: tuple[type[Exception], ...]  # what a failing disk or network throws here
    fetch_verifies: bool  # whether `fetch` compares checksums itself

    def exists(self, version: str) -> bool:
        """Whether the version is there, sound or not."""

    def versions(self) -> list[str]:
        """Names of the versions that are completely there."""

    def open(self, path: str) -> BinaryIO:
        """A file, for reading."""

    def sizes(self, version: str) -> dict[str, int]:
        """The files of a version and their sizes in bytes."""

    def fetch(self, manifest: Manifest, digest: str) -> Path:
        """A local folder with the version's files, which `digest` tells from any other of that name."""

    def scratch(self, version: str) -> AbstractContextManager[Path]:
        """An empty local folder to write a version to, gone afterwards whatever happens."""

    def commit(self, scratch: Path, version: str) -> None:
        """Make the written version visible, all of it or nothing."""

    def replace(self, name: str, text: str) -> None:
        """Replace a small file beside the versions, all of it or nothing."""

    def remove(self, version: str) -> None:
        """Make a version invisible, then remove its files."""

    def sweep(self) -> None:
        """Remove what dead publishers left behind."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep others from activating, deleting and sweeping at the same time, where the place can."""


class LocalFolder:
    """A folder on a POSIX file system: renames are atomic, locks die with their process."""

    failures: tuple[type[Exception], ...] = (OSError,)
    fetch_verifies = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = str(root)

    def exists(self, version: str) -> bool:
        """See Storage."""
        return (self.root / version).exists()

    def versions(self) -> list[str]:
        """See Storage."""
        if not self.root.exists():
            return []
        return [path.name for path in self.root.iterdir() if is_version(path.name)]

    def open(self, path: str) -> BinaryIO:
        """See Storage."""
        return (self.root / path).open("rb")

    def sizes(self, version: str) -> dict[str, int]:
        """See Storage."""
        return {path.name: path.stat().st_size for path in (self.root / version).iterdir()}

    def fetch(self, manifest: Manifest, digest: str) -> Path:  # noqa: ARG002 (it is here already)
        """See Storage."""
        return self.root / manifest.version

    @contextmanager
    def scratch(self, version: str) -> Iterator[Path]:
        """See Storage."""
        self.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            with self.exclusive():  # no sweeper may find the folder between its making and its locking
                folder = stack.enter_context(_held_folder(self.root / f"{_SCRATCH}{version}"))
            yield folder

    def commit(self, scratch: Path, version: str) -> None:
        """See Storage."""
        for path in scratch.iterdir():
            _fsync(path)
        _fsync(scratch)
        scratch.rename(self.root / version)
        _fsync(self.root)

    def replace(self, name: str, text: str) -> None:
        """See Storage."""
        temporary = self.root / f"{_SCRATCH}{name}"  # only one writer at a time: we hold the lock
        temporary.write_text(text)
        _fsync(temporary)
        temporary.replace(self.root / name)
        _fsync(self.root)

    def remove(self, version: str) -> None:
        """See Storage."""
        grave = self.root / f"{_SCRATCH}deletion-{version}"  # a name its publisher does not clean up
        (self.root / version).rename(grave)
        shutil.rmtree(grave)

    def sweep(self) -> None:
        """See Storage."""
        for path in self.root.glob(f"{_SCRATCH}*"):
            if path.is_file():  # it was never put in place
                path.unlink()
            elif not _is_held(path):
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """See Storage."""
        with (self.root / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@contextmanager
def _held_folder(folder: Path) -> Iterator[Path]:
    """A new folder, locked as long as its process lives, removed at the end unless it was renamed."""
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _is_held(folder: Path) -> bool:
    """Whether the process that writes the folder is alive: the kernel drops a dead one's lock."""
    try:
        lock = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # just renamed into place
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
