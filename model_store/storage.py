"""Storage of versions: the operations that a model store needs, and their local implementation."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from model_store.manifest import Manifest, is_version

ACTIVE = "ACTIVE"  # file with the name of the active version
HISTORY = "HISTORY"  # file with the versions activated last, newest first, one per line; see `Activated`
SHOPPER_KEY = "SHOPPER_KEY"  # file with the key of shopper ids, if the settings have none
FORGOTTEN = "FORGOTTEN"  # file with the marks of forgotten shoppers
_SCRATCH = ".unfinished-"


class Storage(Protocol):
    """A folder or bucket of versions. Paths are relative to it; a missing file is a FileNotFoundError."""

    location: str
    failures: tuple[type[Exception], ...]  # exceptions of a failing disk or network
    fetch_verifies: bool  # whether `fetch` checks checksums itself

    def exists(self, version: str) -> bool:
        """Whether the version exists, valid or damaged."""

    def versions(self) -> list[str]:
        """Names of the complete versions."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""

    def sizes(self, version: str) -> dict[str, int]:
        """The files of a version and their sizes in bytes."""

    def fetch(self, manifest: Manifest, digest: str) -> Path:
        """A local folder with the version's files; `digest` is the SHA-256 of its manifest."""

    def scratch(self, version: str) -> AbstractContextManager[Path]:
        """A temporary local folder to write a version to."""

    def commit(self, scratch: Path, version: str) -> None:
        """Publish the written version atomically."""

    def make(self) -> None:
        """Create the folder if it does not exist."""

    def replace(self, name: str, text: str, *, private: bool = False) -> None:
        """Replace a small file beside the versions atomically; `private`: only its owner may read it."""

    def remove(self, version: str) -> None:
        """Hide a version, then remove its files."""

    def sweep(self) -> None:
        """Remove unfinished versions of publishers that no longer run."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Lock out other activations, deletions and sweeps, where the storage has locks."""


class LocalFolder:
    """Versions in a folder on a POSIX file system. Its methods are documented in `Storage`.

    Renames are atomic, and the kernel releases the locks of a dead process.
    """

    failures: tuple[type[Exception], ...] = (OSError,)
    fetch_verifies = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = str(root)

    def exists(self, version: str) -> bool:
        return (self.root / version).exists()

    def versions(self) -> list[str]:
        if not self.root.exists():
            return []
        return [path.name for path in self.root.iterdir() if is_version(path.name)]

    def open(self, path: str) -> BinaryIO:
        return (self.root / path).open("rb")

    def sizes(self, version: str) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in (self.root / version).iterdir()}

    def fetch(self, manifest: Manifest, digest: str) -> Path:  # noqa: ARG002  the files are local already
        return self.root / manifest.version

    @contextmanager
    def scratch(self, version: str) -> Iterator[Path]:
        self.make()
        with ExitStack() as stack:
            with self.exclusive():  # no sweep may see the folder before it is locked
                folder = stack.enter_context(_held_folder(self.root / f"{_SCRATCH}{version}"))
            yield folder

    def commit(self, scratch: Path, version: str) -> None:
        for path in scratch.iterdir():
            _fsync(path)
        _fsync(scratch)
        scratch.rename(self.root / version)
        _fsync(self.root)

    def make(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)

    def replace(self, name: str, text: str, *, private: bool = False) -> None:
        temporary = self.root / f"{_SCRATCH}{name}"  # one writer at a time: the caller holds the lock
        temporary.touch(0o600 if private else 0o666)
        temporary.write_text(text)
        _fsync(temporary)
        temporary.replace(self.root / name)
        _fsync(self.root)

    def remove(self, version: str) -> None:
        hidden = self.root / f"{_SCRATCH}deletion-{version}"  # not the scratch folder of its publisher
        (self.root / version).rename(hidden)
        shutil.rmtree(hidden)

    def sweep(self) -> None:
        for path in self.root.glob(f"{_SCRATCH}*"):
            if path.is_file():  # an unfinished `replace`
                path.unlink()
            elif not _is_held(path):
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with (self.root / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@contextmanager
def _held_folder(folder: Path) -> Iterator[Path]:
    """A new folder, locked while this process lives, and removed at the end unless it was renamed."""
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _is_held(folder: Path) -> bool:
    """Whether the process that writes the folder is alive and so holds its lock."""
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
