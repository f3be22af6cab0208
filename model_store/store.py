"""The model store: publish, open, verify, activate, list, delete, prune."""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from model_store.artifact import Draft, StoredModel, check_sum, damage_named, read_files, write_files
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
from model_store.kernel_file import KERNEL, Tensor, describe_tensors
from model_store.manifest import MANIFEST, Manifest, check_version, is_version, new_version, parse_manifest
from model_store.remote import RemoteFolder
from model_store.shopper_ids import ShopperIds
from model_store.storage import ACTIVE, FORGOTTEN, HISTORY, SHOPPER_KEY, LocalFolder, Storage


@dataclass(frozen=True)
class VersionInfo:
    """A version in the listing."""

    version: str
    active: bool
    manifest: Manifest


class ModelStore:
    """Immutable versions in a folder or behind an fsspec URL, and a pointer to the active one.

    Versions are published atomically and verified against their manifests when they are opened.
    """

    def __init__(self, url: str | Path, cache: Path | None = None) -> None:
        """`cache` is the folder for downloads from a remote store, by default the user's cache folder."""
        self._storage = _storage(url, cache or _default_cache())

    @property
    def location(self) -> str:
        """The folder or URL, for messages."""
        return self._storage.location

    def publish(self, draft: Draft) -> str:
        """Publish the draft as a new version, not active yet, and return its name."""
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
                    raise  # else another version was activated meanwhile, and this one may be deleted

    def verify(self, version: str) -> Manifest:
        """Verify the checksums of a version in its storage, and that its parts fit together."""
        return self._open(check_version(version), checksums=True).manifest

    def manifest(self, version: str) -> Manifest:
        """The manifest of a version; of its files only the sizes are checked."""
        with self._reading(check_version(version)):
            manifest, _ = self._read_manifest(version)
            self._check_files(manifest, checksums=False)
        return manifest

    def tensors(self, version: str) -> list[Tensor]:
        """Describe the tensors of a version's kernel; only the header of the file is read."""
        path = f"{check_version(version)}/{KERNEL}"
        with self._reading(version), self._storage.open(path) as file, damage_named(path):
            return describe_tensors(file)

    def read_file(self, version: str, name: str) -> bytes:
        """Read and verify one file of a version, such as `report.html`, without reading the others."""
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
        """Name of the active version, None before the first activation."""
        text = self._text(ACTIVE)
        if text is None:
            return None
        version = text.removesuffix("\n")
        if not is_version(version):
            raise DamagedModelError(
                f"{ACTIVE} in {self.location} is damaged: it names no version; activate one to repair it"
            )
        return version

    def history(self) -> list[Activated]:
        """The latest activations, newest first; their versions may have been deleted since.

        The active version comes first even if the file lacks it: release 0.1 does not write the file.
        """
        noted, active = self._noted(), self.active()
        if active is None or (noted and noted[0].version == active):
            return noted
        return newest_of_each([Activated(active), *noted])

    def _noted(self) -> list[Activated]:
        return parse_history(self._text(HISTORY) or "")

    def activate(self, version: str, *, by_gate: bool = False) -> None:
        """Verify a version and make it the active one; on an error the previous one stays active.

        `by_gate`: activated by the gate of a training job, not by a person.
        """
        self._require(version)
        with self._translated(f"model {version} could not be activated"), self._storage.exclusive():
            self.verify(version)
            try:
                history = self.history()
            except DamagedModelError:  # in ACTIVE, which is replaced below
                history = self._noted()
            history = newest_of_each([Activated(version, by_gate), *history])
            # The history first: after a crash here it has a version that was not activated, and the active
            # one counts as chosen by a person. Both are harmless.
            self._storage.replace(HISTORY, write_history(history))
            self._storage.replace(ACTIVE, f"{version}\n")

    def versions(self) -> list[VersionInfo]:
        """All valid versions, newest first; `broken` has the others."""
        return self._survey()[0]

    def broken(self) -> dict[str, ModelStoreError]:
        """The versions (or the file `ACTIVE`) that cannot be used, each with its error."""
        return self._survey()[1]

    def delete(self, version: str) -> None:
        """Remove a version, valid or broken, unless it is the active one."""
        self._require(version)
        with self._translated(f"model {version} could not be deleted"), self._storage.exclusive():
            self._require(version)
            if version == self.active():
                raise ActiveVersionError(
                    f"model {version} is active: activate another one before deleting it"
                )
            self._storage.remove(version)

    def prune(self, keep: int) -> list[str]:
        """Remove old and unfinished versions; returns the names of the removed versions.

        The newest `keep` versions stay, and so do the active one and the one active before it.
        """
        if keep < 0:
            raise BadRequestError(f"cannot keep {keep} versions: keep 0 or more")
        with self._translated("the model store could not be pruned"), self._storage.exclusive():
            names = sorted(self._storage.versions(), reverse=True)
            rollback = [entry.version for entry in self.history() if entry.version in names][:2]
            removed = [name for name in names[keep:] if name not in rollback]
            for name in removed:
                self._storage.remove(name)
            self._storage.sweep()
        return removed

    def shopper_ids(self, key: str | None = None) -> ShopperIds:
        """Hashes shopper ids with this key, or else with the store's own, which is made when first needed."""
        if key is None and (key := self._text(SHOPPER_KEY)) is None:
            with self._writing(f"{SHOPPER_KEY} could not be written"):
                if (key := self._text(SHOPPER_KEY)) is None:
                    key = secrets.token_urlsafe(32)
                    self._storage.replace(SHOPPER_KEY, key, private=True)
        return ShopperIds(key)

    def forget_shopper(self, mark: str) -> None:
        """Remember the mark of a forgotten shopper: training skips what they bought until now."""
        with self._writing("the forgotten shopper could not be noted"):
            marks = {**self.forgotten_shoppers(), mark: int(time.time())}
            lines = (f"{mark} {seconds}\n" for mark, seconds in marks.items())
            self._storage.replace(FORGOTTEN, "".join(lines), private=True)

    def forgotten_shoppers(self) -> dict[str, int]:
        """The marks of forgotten shoppers, each with the time in seconds since 1970."""
        lines = (line.split() for line in (self._text(FORGOTTEN) or "").splitlines())
        return {parts[0]: int(parts[1]) for parts in lines if len(parts) == 2 and parts[1].isdigit()}

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        with self._translated(what):
            self._storage.make()
            with self._storage.exclusive():
                yield

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
        with self._translated("the model store could not be listed"):
            names = sorted(self._storage.versions(), reverse=True)
        for name in names:
            try:
                sound.append(VersionInfo(name, name == active, self.manifest(name)))
            except UnknownVersionError:
                continue  # deleted meanwhile
            except ModelStoreError as error:
                broken[name] = error
        return sound, broken

    def _text(self, name: str) -> str | None:
        """The text of a file beside the versions, None if it does not exist."""
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
        """UnknownVersionError if the version does not exist, DamagedModelError if it lacks a file."""
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
        """Turn errors of the disk or the network into a StorageError."""
        try:
            yield
        except ModelStoreError:
            raise
        except self._storage.failures as error:
            raise StorageError(f"{what} in {self.location}: {reason(error)}") from error


def _storage(url: str | Path, cache: Path) -> Storage:
    if isinstance(url, Path) or "://" not in url:
        return _local(Path(url).expanduser().absolute())
    shown = re.sub("//[^/@]*@", "//…@", url)  # without the password
    try:
        # No cached listings: other processes publish and delete versions.
        fs, root = fsspec.url_to_fs(url, use_listings_cache=False)
    except Exception as error:
        raise StorageError(f"the model store {shown} cannot be reached: {reason(error)}") from error
    if isinstance(fs, LocalFileSystem):
        return _local(Path(root))
    return RemoteFolder(fs, root, shown, cache)


def _local(folder: Path) -> LocalFolder:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        raise StorageError(f"the model store {folder} cannot be used: {existing} is a file, not a folder")
    return LocalFolder(folder)


def _default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tripod" / "models"
