"""Storage behind an fsspec URL. Without atomic renames, a version exists once its manifest does."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, cast

from fsspec import AbstractFileSystem

from model_store.artifact import check_sum
from model_store.manifest import MANIFEST, Manifest, is_version
from model_store.storage import LocalFolder

_ABANDONED = timedelta(days=1)  # an upload without a manifest after this time has failed


class RemoteFolder:
    """Versions in an object store, with a local cache. Its methods are documented in `Storage`.

    Checksums are checked when a version is downloaded to the cache.
    """

    failures: tuple[type[Exception], ...] = (Exception,)  # each file system has its own errors
    fetch_verifies = True

    def __init__(self, fs: AbstractFileSystem, root: str, location: str, cache: Path) -> None:
        self.fs = fs
        self.root = root.rstrip("/")
        self.location = location
        key = hashlib.sha256(location.encode()).hexdigest()[:16]
        self.cache = LocalFolder(cache / key)

    def exists(self, version: str) -> bool:
        return bool(self.fs.exists(self._path(version, MANIFEST)))

    def versions(self) -> list[str]:
        return [name for name in self._uploads() if self.exists(name)]

    def open(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self.fs.open(self._path(path), "rb"))

    def sizes(self, version: str) -> dict[str, int]:
        entries = self.fs.ls(self._path(version), detail=True)
        return {entry["name"].rsplit("/", 1)[-1]: int(entry["size"]) for entry in entries}

    def fetch(self, manifest: Manifest, digest: str) -> Path:
        name = f"{manifest.version}-{digest}"
        folder = self.cache.root / name
        if not _is_whole(folder, manifest):
            with self.cache.scratch(f"{name}-{secrets.token_hex(4)}") as scratch:
                self._download(manifest, scratch)
                with self.cache.exclusive():
                    self.cache.sweep()
                    self._forget_deleted()
                    if not _is_whole(folder, manifest):  # another process may have committed it
                        shutil.rmtree(folder, ignore_errors=True)
                        self.cache.commit(scratch, name)
        return folder

    @contextmanager
    def scratch(self, version: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix=version) as folder:
            yield Path(folder)

    def commit(self, scratch: Path, version: str) -> None:
        manifest_last = sorted(scratch.iterdir(), key=lambda path: path.name == MANIFEST)
        try:
            for path in manifest_last:
                self.fs.put_file(str(path), self._path(version, path.name))
        except BaseException:
            with suppress(Exception):
                self.remove(version)
            raise

    def make(self) -> None:
        pass  # an object store has no folders

    def replace(self, name: str, text: str, *, private: bool = False) -> None:  # noqa: ARG002
        self.fs.pipe_file(self._path(name), text.encode())  # uploading an object is atomic

    def remove(self, version: str) -> None:
        with suppress(FileNotFoundError):
            self.fs.rm_file(self._path(version, MANIFEST))
        self.fs.rm(self._path(version), recursive=True)

    def sweep(self) -> None:
        long_ago = f"{datetime.now(UTC) - _ABANDONED:%Y%m%d-%H%M%S}"
        for name in set(self._uploads()) - set(self.versions()):
            if name < long_ago:
                self.remove(name)

    def exclusive(self) -> AbstractContextManager[None]:
        return nullcontext()  # an object store has no locks

    def _path(self, *parts: str) -> str:
        return "/".join((self.root, *parts))

    def _uploads(self) -> list[str]:
        try:
            entries = self.fs.ls(self.root, detail=False)
        except FileNotFoundError:
            return []
        names = (entry.rstrip("/").rsplit("/", 1)[-1] for entry in entries)
        return [name for name in names if is_version(name)]

    def _download(self, manifest: Manifest, folder: Path) -> None:
        for name, entry in manifest.files.items():
            target = folder / name
            self.fs.get_file(self._path(manifest.version, name), str(target))
            with target.open("rb") as file:
                check_sum(file, entry, f"{manifest.version}/{name}")

    def _forget_deleted(self) -> None:
        """Remove deleted versions from the cache; processes that have mapped their files can go on."""
        kept = set(self.versions())
        for folder in self.cache.root.iterdir():
            version = folder.name[:22]
            if is_version(version) and version not in kept:
                shutil.rmtree(folder, ignore_errors=True)


def _is_whole(folder: Path, manifest: Manifest) -> bool:
    """Whether a cached copy, verified when it was downloaded, has all files in their full length."""
    paths = {folder / name: entry.bytes for name, entry in manifest.files.items()}
    return all(path.exists() and path.stat().st_size == size for path, size in paths.items())
