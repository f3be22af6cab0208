"""Damaged files: the error names the file, and the active model stays."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from model_store import (
    DamagedModelError,
    Draft,
    ModelStore,
    NewerFormatError,
    StorageError,
    UnknownVersionError,
    arrays,
)
from model_store.manifest import parse_manifest

ROOT = Path(__file__).parents[2]  # where the subprocesses find the package `tests`
Drafts = Callable[..., Draft]
FILES = [
    "kernel.safetensors",
    "items.json",
    "items.safetensors",
    "pairs.safetensors",
    "relevance.safetensors",
    "report.html",
    "manifest.json",
]


@pytest.fixture
def good(store: ModelStore, draft: Drafts) -> str:
    version = store.publish(draft(1))
    store.activate(version)
    return version


@pytest.fixture
def bad(store: ModelStore, draft: Drafts, good: str) -> Path:
    """The folder of a second version, to be damaged."""
    assert good == store.active()
    return Path(store.location) / store.publish(draft(2))


def assert_refused(store: ModelStore, folder: Path, good: str, message: str) -> None:
    for action in (store.open, store.verify, store.activate):
        with pytest.raises(DamagedModelError, match=message):
            action(folder.name)
    assert store.active() == good
    assert store.open().version == good


@pytest.mark.parametrize("name", FILES)
def test_truncated_file_is_refused(store: ModelStore, good: str, bad: Path, name: str) -> None:
    data = (bad / name).read_bytes()
    (bad / name).write_bytes(data[: len(data) // 2])
    assert_refused(store, bad, good, f"{bad.name}/{name} is damaged")
    with pytest.raises(DamagedModelError, match=name):
        store.open(bad.name, verify=False)
    assert [info.version for info in store.versions()] == [good]
    assert name in str(store.broken()[bad.name])


@pytest.mark.parametrize("name", FILES)
def test_missing_file_is_refused(store: ModelStore, good: str, bad: Path, name: str) -> None:
    (bad / name).unlink()
    assert_refused(store, bad, good, f"{bad.name}/{name} is missing")
    assert name in str(store.broken()[bad.name])


@pytest.mark.parametrize("name", FILES)
def test_flipped_bit_is_refused(store: ModelStore, good: str, bad: Path, name: str) -> None:
    data = bytearray((bad / name).read_bytes())
    for position in (0, len(data) // 3, len(data) // 2, len(data) - 1):
        data[position] ^= 1
        (bad / name).write_bytes(data)
        assert_refused(store, bad, good, f"{bad.name}/{name}")
        data[position] ^= 1
    (bad / name).write_bytes(data)
    assert store.verify(bad.name).version == bad.name


def test_every_flipped_bit_of_a_manifest_is_found(bad: Path) -> None:
    data = (bad / "manifest.json").read_bytes()
    for position in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            with pytest.raises(DamagedModelError, match=r"manifest\.json"):
                parse_manifest(bytes(flipped), bad.name)


def test_damage_without_verification_is_a_damaged_model_error(store: ModelStore, bad: Path) -> None:
    """With `verify=False` a flipped byte may go unnoticed, but if it breaks the file the error names it."""
    for name in ("kernel.safetensors", "items.safetensors", "relevance.safetensors", "words.safetensors"):
        data = (bad / name).read_bytes()
        seen = 0
        for position in range(0, len(data), 3):
            (bad / name).write_bytes(data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :])
            try:
                store.open(bad.name, verify=False)
            except DamagedModelError as error:
                seen += 1
                assert name in str(error) or f"model {bad.name}" in str(error)
        (bad / name).write_bytes(data)
        assert seen > 0


def test_newer_format_is_refused(store: ModelStore, good: str, bad: Path) -> None:
    path = bad / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 99}))
    assert_refused(store, bad, good, "upgrade Tripod")
    with pytest.raises(NewerFormatError, match=r"manifest\.json has format 99"):
        store.open(bad.name)


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"format_version": 1}', "[" * 100_000, "\xff"])
def test_manifest_with_other_content_is_refused(store: ModelStore, good: str, bad: Path, text: str) -> None:
    (bad / "manifest.json").write_bytes(text.encode("latin-1"))
    assert_refused(store, bad, good, r"manifest\.json is damaged")


def test_version_renamed_to_another_version_is_refused(store: ModelStore, good: str, bad: Path) -> None:
    copy = bad.rename(bad.with_name("20000101-000000-000000"))
    assert_refused(store, copy, good, f"belongs to version {bad.name}")


@pytest.mark.parametrize("text", ["", "../../x\n", "20261116-021530-3f9a1c20261116", "\x00\xff"])
def test_corrupted_active_file_is_repaired_by_activating(
    store: ModelStore, good: str, bad: Path, text: str
) -> None:
    (Path(store.location) / "ACTIVE").write_bytes(text.encode("latin-1"))
    for action in (store.active, store.open, lambda: store.delete(bad.name), lambda: store.prune(0)):
        with pytest.raises(DamagedModelError, match="ACTIVE"):
            action()
    assert [info.version for info in store.versions()] == [bad.name, good]
    assert "ACTIVE" in store.broken()
    store.activate(good)
    assert store.open().version == good


def test_active_file_naming_an_unknown_version(store: ModelStore, good: str) -> None:
    (Path(store.location) / "ACTIVE").write_text("20000101-000000-000000\n")
    with pytest.raises(UnknownVersionError, match="20000101-000000-000000"):
        store.open()
    store.activate(good)
    assert store.open().version == good


def test_open_follows_an_activation_that_happens_meanwhile(store: ModelStore, good: str, bad: Path) -> None:
    """The version that was active is deleted before it can be opened."""

    class SlowReader(ModelStore):
        def active(self) -> str | None:
            version = super().active()
            if version == good:
                store.activate(bad.name)
                store.delete(good)
            return version

    assert SlowReader(store.location).open().version == bad.name
    assert [info.version for info in store.versions()] == [bad.name]


def test_mapped_model_can_be_used_after_its_deletion(
    store: ModelStore, good: str, bad: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_COPIED_BYTES", 0)
    model = store.open(bad.name)
    expected = model.kernel.submatrix(range(7))
    store.delete(bad.name)
    assert (model.kernel.submatrix(range(7)) == expected).all()
    with pytest.raises(UnknownVersionError, match="deleted"):
        model.read_file("report.html")
    assert store.active() == good


_PUBLISH = """
import sys
from tests.model_store.conftest import make_draft
from model_store import ModelStore, StorageError
try:
    ModelStore(sys.argv[1]).publish(make_draft(size=int(sys.argv[2])))
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("limit", "name"), [(1, "kernel.safetensors"), (50_000, "kernel.safetensors"), (130_000, "items.json")]
)
def test_full_disk_leaves_no_files(store: ModelStore, good: str, limit: int, name: str) -> None:
    """A limit of the file size stands for a full disk: it needs no root."""
    before = sorted(Path(store.location).rglob("*"))
    result = subprocess.run(
        [sys.executable, "-c", _PUBLISH, store.location, "5000"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert f"/{name} could not be written in {store.location}: File too large\n" in result.stdout
    assert result.stdout.count("\n") == 1
    assert sorted(Path(store.location).rglob("*")) == before
    assert store.open().version == good


def test_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no store")
    for place in (tmp_path / "file", tmp_path / "file" / "below", f"file://{tmp_path}/file"):
        with pytest.raises(StorageError, match="is a file"):
            ModelStore(place)


class TestRemote:
    @pytest.fixture
    def remote(self, tmp_path: Path) -> ModelStore:
        return ModelStore(f"memory://{tmp_path.name}", cache=tmp_path / "cache")

    def test_damage_in_a_remote_store_is_found(self, remote: ModelStore, draft: Drafts) -> None:
        good, bad = remote.publish(draft(1)), remote.publish(draft(2))
        remote.activate(good)
        memory = fsspec.filesystem("memory")
        path = f"{remote.location}/{bad}/kernel.safetensors"
        data = memory.cat_file(path)
        memory.pipe_file(path, data[:-1] + bytes([data[-1] ^ 1]))
        for action in (remote.open, remote.verify, remote.activate):
            with pytest.raises(DamagedModelError, match=rf"{bad}/kernel\.safetensors"):
                action(bad)
        assert remote.open().version == good

    def test_upload_without_a_manifest_is_not_a_version(self, remote: ModelStore, draft: Drafts) -> None:
        version = remote.publish(draft())
        fsspec.filesystem("memory").rm_file(f"{remote.location}/{version}/manifest.json")
        assert remote.versions() == []
        with pytest.raises(UnknownVersionError, match=version):
            remote.open(version)
        remote.prune(keep=0)  # it may be an upload under way
        assert fsspec.filesystem("memory").exists(f"{remote.location}/{version}/kernel.safetensors")

    def test_abandoned_uploads_are_pruned(self, remote: ModelStore, draft: Drafts) -> None:
        kept = remote.publish(draft())
        abandoned = f"{remote.location}/20000101-000000-000000"
        fsspec.filesystem("memory").pipe_file(f"{abandoned}/items.json", b"{}")
        assert remote.prune(keep=1) == []
        assert not fsspec.filesystem("memory").exists(abandoned)
        assert remote.open(kept).version == kept

    def test_cache_is_filled_once_and_repaired(
        self, remote: ModelStore, draft: Drafts, tmp_path: Path
    ) -> None:
        version = remote.publish(draft())
        kernel_file = remote.open(version).folder / "kernel.safetensors"
        first = kernel_file.stat().st_ino
        assert remote.open(version).folder == kernel_file.parent
        assert kernel_file.stat().st_ino == first
        kernel_file.write_bytes(b"")
        assert remote.open(version).kernel.size == 7
        remote.delete(version)
        remote.open(remote.publish(draft()))
        assert not kernel_file.exists()  # the cache forgets what the store deleted
        assert not list(tmp_path.glob("cache/*/.unfinished-*"))
