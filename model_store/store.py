"""The store: publish, open, verify, activate, list, delete, prune."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from model_store.artifact import Draft, StoredModel, check_sum, read_files, write_files
from model_store.errors import (
    ActiveVersionError,
    BadRequestError,
    DamagedModelError,
    ModelStoreError,
    NoActiveModelError,
    StorageError,
    UnknownFileError,
    UnknownVersionError,
    reason,
)
from model_store.history import Activated, newest_of_each, parse_history, write_history
from model_store.manifest import MANIFEST, Manifest, check_version, is_version, new_version, parse_manifest
from model_store.remote import RemoteFolder
from model_store.storage import ACTIVE, HISTORY, LocalFolder, Storage


@dataclass(frozen=True)
class VersionInfo:
    """A line of the listing."""

    version: str
    active: bool
    manifest: Manifest


class ModelStore:
    """Immutable versions in a folder or behind an fsspec URL, and a pointer to the active one.

    A version appears all at once or not at all, and what is opened has been checked against its manifest.
    """

    def __init__(self, url: str | Path, cache: Path | None = None) -> None:
        """`cache` is where models from a remote store are kept, by default in the user's cache folder."""
        self._storage = _storage(url, cache or _default_cache())

    @property
    def location(self) -> str:
        """The folder or URL, for messages."""
        return self._storage.location

    def publish(self, draft: Draft) -> str:
        """Store the draft as a new version and return its name; it is not active yet."""
        version, created = new_version()
        what = f"model {version} could not be written"
        with self._translated(what), self._storage.scratch(version) as folder:
            write_files(draft, version, created, folder)
            self._storage.commit(folder, version)
        return version

    def open(self, version: str | None = None, *, verify: bool = True) -> StoredModel:
        """Open a version, None for the active one; `verify=False` checks file sizes but not checksums."""
        checksums = verify and not self._storage.fetch_verifies
        if version is not None:
            return self._open(check_version(version), checksums)
        while True:
            version = self.active()
            if version is None:
                raise NoActiveModelError(f"{self.location} has no active model: publish and activate one")
            try:
                return self._open(version, checksums)
            except ModelStoreError:
                if self.active() == version:
                    raise  # otherwise the pointer moved on meanwhile, and the old version may be gone

    def verify(self, version: str) -> Manifest:
        """Check every byte of a version where it is stored, and that its parts fit together."""
        return self._open(check_version(version), checksums=True).manifest

    def manifest(self, version: str) -> Manifest:
        """What a version says about itself; of its files only the sizes are checked."""
        with self._reading(check_version(version)):
            manifest, _ = self._read_manifest(version)
            self._check_files(manifest, checksums=False)
        return manifest

    def read_file(self, version: str, name: str) -> bytes:
        """One file of a version, such as `report.html`, checked; but for its manifest no other is read."""
        with self._reading(check_version(version)):
            manifest, _ = self._read_manifest(version)
            entry = manifest.files.get(name)
            if entry is None:
                raise UnknownFileError(f"model {version} has no file {name!r}")
            path = f"{version}/{name}"
            with self._storage.open(path) as file:
                data = file.read()
            check_sum(io.BytesIO(data), entry, path)
        return data

    def active(self) -> str | None:
        """The name of the active version, None before the first activation."""
        text = self._text(ACTIVE)
        if text is None:
            return None
        version = text.removesuffix("\n")
        if not is_version(version):
            raise DamagedModelError(
                f"{ACTIVE} in {self.location} is damaged: it names no version, activate one to repair it"
            )
        return version

    def history(self) -> list[Activated]:
        """The versions that were activated last, newest first; some may have been deleted since.

        The active one comes first whatever the file says: release 0.1 activates without writing it.
        """
        noted, active = self._noted(), self.active()
        if active is None or (noted and noted[0].version == active):
            return noted
        return newest_of_each([Activated(active), *noted])

    def _noted(self) -> list[Activated]:
        return parse_history(self._text(HISTORY) or "")

    def activate(self, version: str, *, by_gate: bool = False) -> None:
        """Make a version the active one, after verifying it; on any error the old one stays active.

        `by_gate`: the gate of a training job decided it, not a person.
        """
        self._require(version)
        with self._translated(f"model {version} could not be activated"), self._storage.exclusive():
            self.verify(version)
            try:
                history = self.history()
            except DamagedModelError:  # of the pointer, which is replaced now
                history = self._noted()
            history = newest_of_each([Activated(version, by_gate), *history])
            # The history first: should a crash come now, it names a version that nearly was active, and the
            # active one counts as chosen by a person. Both do no harm.
            self._storage.replace(HISTORY, write_history(history))
            self._storage.replace(ACTIVE, f"{version}\n")

    def versions(self) -> list[VersionInfo]:
        """All sound versions, newest first. What is left out, and why, is in `broken`."""
        return self._survey()[0]

    def broken(self) -> dict[str, ModelStoreError]:
        """The versions (or the pointer `ACTIVE`) that cannot be used, with the reason."""
        return self._survey()[1]

    def delete(self, version: str) -> None:
        """Remove a version, sound or not, unless it is the active one."""
        self._require(version)
        with self._translated(f"model {version} could not be deleted"), self._storage.exclusive():
            self._require(version)
            if version == self.active():
                raise ActiveVersionError(
                    f"model {version} is active: activate another one before deleting it"
                )
            self._storage.remove(version)

    def prune(self, keep: int) -> list[str]:
        """Remove old versions, and what dead publishers left; returns the names of the removed versions.

        The newest `keep` versions stay, the active one, and the one that was active before it.
        """
        if keep < 0:
            raise BadRequestError(f"cannot keep {keep} versions: keep 0 or more")
        with self._translated("the store could not be pruned"), self._storage.exclusive():
            names = sorted(self._storage.versions(), reverse=True)
            way_back = [entry.version for entry in self.history() if entry.version in names][:2]
            removed = [name for name in names[keep:] if name not in way_back]
            for name in removed:
                self._storage.remove(name)
            self._storage.sweep()
        return removed

    def _open(self, version: str, checksums: bool) -> StoredModel:
        with self._reading(version):
            manifest, digest = self._read_manifest(version)
            self._check_files(manifest, checksums)
            return read_files(self._storage.fetch(manifest, digest), manifest)

    def _read_manifest(self, version: str) -> tuple[Manifest, str]:
        with self._storage.open(f"{version}/{MANIFEST}") as file:
            data = file.read()
        return parse_manifest(data, version), hashlib.sha256(data).hexdigest()

    def _check_files(self, manifest: Manifest, checksums: bool) -> None:
        sizes = self._storage.sizes(manifest.version)
        for name, entry in manifest.files.items():
            path = f"{manifest.version}/{name}"
            if name not in sizes:
                raise DamagedModelError(f"{path} is missing")
            if sizes[name] != entry.bytes:
                raise DamagedModelError(f"{path} is damaged: {sizes[name]} bytes instead of {entry.bytes}")
            if checksums:
                with self._storage.open(path) as file:
                    check_sum(file, entry, path)

    def _survey(self) -> tuple[list[VersionInfo], dict[str, ModelStoreError]]:
        sound: list[VersionInfo] = []
        broken: dict[str, ModelStoreError] = {}
        active = None
        try:
            active = self.active()
        except DamagedModelError as error:
            broken[ACTIVE] = error
        with self._translated("the store could not be listed"):
            names = sorted(self._storage.versions(), reverse=True)
        for name in names:
            try:
                sound.append(VersionInfo(name, name == active, self.manifest(name)))
            except UnknownVersionError:
                continue  # deleted a moment ago
            except ModelStoreError as error:
                broken[name] = error
        return sound, broken

    def _text(self, name: str) -> str | None:
        """A small file beside the versions, None if there is none."""
        with self._translated(f"{name} could not be read"):
            try:
                with self._storage.open(name) as file:
                    return file.read().decode(errors="replace")
            except FileNotFoundError:
                return None

    def _require(self, version: str) -> None:
        with self._translated(f"model {version} could not be read"):
            if not self._storage.exists(check_version(version)):
                raise UnknownVersionError(f"there is no model {version} in {self.location}")

    @contextmanager
    def _reading(self, version: str) -> Iterator[None]:
        """Tell a version that was never there, or is gone by now, from one with a missing file."""
        with self._translated(f"model {version} could not be read"):
            try:
                yield
            except (FileNotFoundError, DamagedModelError) as error:
                self._require(version)
                if isinstance(error, DamagedModelError):
                    raise
                name = Path(str(error.filename or error)).name
                raise DamagedModelError(f"{version}/{name} is missing") from error

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Turn what the disk or the network throws into the store's own error."""
        try:
            yield
        except ModelStoreError:
            raise
        except self._storage.failures as error:
            raise StorageError(f"{what} in {self.location}: {reason(error)}") from error


def _storage(url: str | Path, cache: Path) -> Storage:
    if isinstance(url, Path) or "://" not in url:
        return _local(Path(url).expanduser().absolute())
    shown = re.sub("//[^/@]*@", "//…@", url)  # a password in the URL is for nobody's eyes
    try:
        # Listings must be fresh: other processes publish and delete.
        fs, root = fsspec.url_to_fs(url, use_listings_cache=False)
    except Exception as error:
        raise StorageError(f"the model store {shown} cannot be reached: {reason(error)}") from error
    if isinstance(fs, LocalFileSystem):
        return _local(Path(root))
    return RemoteFolder(fs, root, shown, cache)


def _local(folder: Path) -> LocalFolder:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        raise StorageError(f"the model store {folder} cannot be a folder: {existing} is a file")
    return LocalFolder(folder)


def _default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tripod" / "models"
