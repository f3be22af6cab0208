"""Publish, open, list, delete and prune, in a local folder and behind fsspec URLs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import fsspec
import numpy as np
import pytest

from model_store import (
    ActiveVersionError,
    BadRequestError,
    DamagedModelError,
    Draft,
    InvalidDraftError,
    InvalidVersionError,
    Items,
    Knobs,
    ModelStore,
    NoActiveModelError,
    StorageError,
    UnknownFileError,
    UnknownVersionError,
)
from model_store.manifest import FileEntry
from ndpp import DenseKernel
from ndpp.arrivals import ArrivalWeights
from ndpp.basket_sizes import FEATURES, BasketSizes
from ndpp.coherence import CoherenceScale
from ndpp.kernel import Kernel

Drafts = Callable[..., Draft]
SIZES = BasketSizes(
    item_log_sizes=np.linspace(0, 2, 7).astype(np.float32),
    usual_log_size=0.9,
    complete=np.arange(FEATURES) / 3,
    further=-np.arange(FEATURES) / 7,
    dispersion=0.6,
    counts=np.array([0, 4, 3]),
)
COHERENCE = CoherenceScale(np.array([[0.5, 1.5], *np.full((5, 2), np.nan)]), np.arange(6))


def test_published_model_is_read_back_unchanged(any_store: ModelStore, draft: Drafts) -> None:
    given = draft()
    version = any_store.publish(given)
    model = any_store.open(version)
    assert model.version == version
    np.testing.assert_array_equal(model.kernel.factors, given.kernel.factors)
    np.testing.assert_array_equal(model.kernel.core, given.kernel.core)
    np.testing.assert_array_equal(model.kernel.diagonal, given.kernel.diagonal)
    assert model.kernel.factors.dtype == np.float32
    assert (model.items.ids, model.items.names, model.items.categories) == (
        given.items.ids,
        given.items.names,
        given.items.categories,
    )
    assert (model.items.prices, model.items.in_stock, model.items.counts) == (
        given.items.prices,
        given.items.in_stock,
        given.items.counts,
    )
    assert given.relevance is not None
    assert model.relevance is not None
    for name in ("offsets", "neighbours", "weights", "floor"):
        np.testing.assert_array_equal(getattr(model.relevance, name), getattr(given.relevance, name))
    assert model.read_file("report.html") == b"<p>report</p>"
    manifest = model.manifest
    assert (manifest.kind, manifest.sizes.items, manifest.sizes.rank) == ("scalable", 7, 4)
    assert (manifest.knobs, manifest.metrics, manifest.seed) == (given.knobs, given.metrics, 1)
    assert set(manifest.files) == {
        "kernel.safetensors",
        "items.json",
        "items.safetensors",
        "words.safetensors",
        "pairs.safetensors",
        "relevance.safetensors",
        "report.html",
        "report.json",
    }


def test_version_of_release_0_2_is_read(store: ModelStore, draft: Drafts) -> None:
    """It has `relevance.npz`, and neither words nor pairs nor arrays of items."""
    version = store.publish(draft())
    new = store.open(version)
    assert new.relevance is not None
    folder = Path(store.location) / version
    for name in ("items", "words", "pairs", "relevance"):
        (folder / f"{name}.safetensors").unlink()
    arrays = {field.name: getattr(new.relevance, field.name) for field in fields(new.relevance)}
    np.savez(folder / "relevance.npz", **{name: array for name, array in arrays.items() if array is not None})
    files = {
        path.name: FileEntry(sha256=hashlib.sha256(path.read_bytes()).hexdigest(), bytes=path.stat().st_size)
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }
    manifest = new.manifest.model_copy(update={"files": files, "format_version": 2})
    (folder / "manifest.json").write_bytes(manifest.to_json())
    old = store.open(version)
    assert (old.words, old.pairs) == (None, None)
    assert (old.items.ids, old.items.names, old.items.prices) == (
        new.items.ids,
        new.items.names,
        new.items.prices,
    )
    assert old.relevance is not None
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(old.relevance, name), array)


def test_words_and_pairs_are_those_of_items_and_kernel(any_store: ModelStore, draft: Drafts) -> None:
    model = any_store.open(any_store.publish(draft()))
    assert model.words is not None and model.pairs is not None
    assert model.words.words == sorted({"kaffee", "fur", "zwei", "item", "drinks", *map(str, range(7))})
    assert np.flatnonzero(model.words.scores(["kaffee"])).tolist() == [0]
    expected = DenseKernel.of(model.kernel)
    np.testing.assert_array_equal(model.pairs.forward, expected.forward)
    np.testing.assert_array_equal(model.pairs.backward, expected.backward)


def test_weights_of_arrivals_are_read_back_and_have_defaults(any_store: ModelStore, draft: Drafts) -> None:
    own = ArrivalWeights(category=0.25, rate=1.75, shape=3.5)
    assert any_store.open(any_store.publish(draft(arrivals=own))).arrival_weights == own
    without = any_store.open(any_store.publish(draft()))
    assert without.manifest.arrivals is None
    assert without.arrival_weights == ArrivalWeights()


def test_model_without_relevance(any_store: ModelStore, draft: Drafts) -> None:
    version = any_store.publish(draft(relevance=None, files={}))
    model = any_store.open(version, verify=False)
    assert model.relevance is None
    with pytest.raises(UnknownFileError, match=r"no file 'report\.html'"):
        model.read_file("report.html")


def test_read_file_does_not_need_the_other_files(
    any_store: ModelStore, draft: Drafts, tmp_path: Path
) -> None:
    version = any_store.publish(draft())
    fs, root = fsspec.url_to_fs(any_store.location)
    fs.rm_file(f"{root}/{version}/kernel.safetensors")
    assert any_store.read_file(version, "report.html") == b"<p>report</p>"
    assert not (tmp_path / "cache").exists()
    with pytest.raises(UnknownFileError, match=r"no file 'secret\.txt'"):
        any_store.read_file(version, "secret.txt")
    with pytest.raises(UnknownVersionError):
        any_store.read_file("20260101-000000-abcdef", "report.html")
    with pytest.raises(InvalidVersionError):
        any_store.read_file("..", "report.html")
    fs.pipe_file(f"{root}/{version}/report.html", b"<p>REPORT</p>")
    with pytest.raises(DamagedModelError, match=rf"{version}/report\.html is damaged"):
        any_store.read_file(version, "report.html")
    fs.rm_file(f"{root}/{version}/report.html")
    with pytest.raises(DamagedModelError, match=rf"{version}/report\.html is missing"):
        any_store.read_file(version, "report.html")


def test_published_version_is_not_active(any_store: ModelStore, draft: Drafts) -> None:
    version = any_store.publish(draft())
    assert any_store.active() is None
    with pytest.raises(NoActiveModelError, match="no active model"):
        any_store.open()
    any_store.activate(version)
    assert any_store.active() == version
    assert any_store.open().version == version


def test_versions_are_listed_newest_first(any_store: ModelStore, draft: Drafts) -> None:
    assert any_store.versions() == []
    published = [any_store.publish(draft(seed)) for seed in (1, 2, 3)]
    any_store.activate(published[1])
    listing = any_store.versions()
    assert [info.version for info in listing] == published[::-1]
    assert [info.active for info in listing] == [False, True, False]
    assert [info.manifest.seed for info in listing] == [3, 2, 1]
    assert any_store.broken() == {}


def test_delete_refuses_the_active_version(any_store: ModelStore, draft: Drafts) -> None:
    first, second = any_store.publish(draft(1)), any_store.publish(draft(2))
    any_store.activate(first)
    with pytest.raises(ActiveVersionError, match=f"{first} is active"):
        any_store.delete(first)
    any_store.delete(second)
    assert [info.version for info in any_store.versions()] == [first]
    for action in (any_store.open, any_store.delete, any_store.activate, any_store.verify):
        with pytest.raises(UnknownVersionError, match=second):
            action(second)
    assert any_store.active() == first


def test_prune_keeps_the_newest_and_the_active(any_store: ModelStore, draft: Drafts) -> None:
    published = [any_store.publish(draft(seed)) for seed in range(5)]
    any_store.activate(published[0])
    assert any_store.prune(keep=2) == [published[2], published[1]]
    kept = [info.version for info in any_store.versions()]
    assert kept == [published[4], published[3], published[0]]
    with pytest.raises(BadRequestError, match="keep"):
        any_store.prune(keep=-1)


@pytest.mark.parametrize(
    "name", ["../../x", "", "ACTIVE", "..", "20261116-021530-3f9a1c/..", "２0261116-021530-3f9a1c"]
)
def test_invalid_version_names_are_refused(any_store: ModelStore, draft: Drafts, name: str) -> None:
    version = any_store.publish(draft())
    any_store.activate(version)
    for action in (any_store.open, any_store.delete, any_store.activate, any_store.verify):
        with pytest.raises(InvalidVersionError, match="not a version name"):
            action(name)
    assert any_store.open().version == version


def test_same_model_gives_the_same_bytes(store: ModelStore, draft: Drafts) -> None:
    first, second = store.publish(draft()), store.publish(draft())
    assert store.open(first).manifest.files == store.open(second).manifest.files


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "deep"}, "kind 'deep' is none of"),
        ({"kind": "tied"}, "not V Vᵀ \\+ B C Bᵀ with a skew-symmetric C, as the kind 'tied' needs"),
        ({"items": Items(ids=("a", "b"))}, "the kernel has 7 items, the item table 2"),
        ({"files": {"../x": b""}}, r"cannot be named '\.\./x'"),
        ({"files": {"manifest.json": b""}}, r"cannot be named 'manifest\.json'"),
    ],
)
def test_draft_whose_parts_do_not_fit_is_refused(
    draft: Drafts, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidDraftError, match=message):
        draft(**changes)


def test_factors_beyond_float32_are_refused(store: ModelStore, draft: Drafts) -> None:
    kernel = Kernel.symmetric(np.full((7, 1), 1e200))
    with pytest.raises(InvalidDraftError, match="float32"):
        store.publish(draft(kernel=kernel, kind="symmetric"))
    assert store.versions() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"hyperparameters": {"path": Path("x")}},
        {"items": Items(ids=tuple(f"\ud800{row}" for row in range(7)))},
    ],
)
def test_values_that_json_cannot_hold_are_refused(
    store: ModelStore, draft: Drafts, changes: dict[str, object]
) -> None:
    with pytest.raises(InvalidDraftError, match="cannot be published"):
        store.publish(draft(**changes))
    assert [path.name for path in Path(store.location).iterdir()] == [".lock"]


def test_metric_nan_is_stored_as_null(store: ModelStore, draft: Drafts) -> None:
    version = store.publish(draft(metrics={"hit": float("nan")}))
    assert store.manifest(version).metrics == {"hit": None}


def test_missing_store_folder_is_not_created_by_reading(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "typo")
    assert store.versions() == []
    for action in (store.open, store.delete, store.activate):
        with pytest.raises(UnknownVersionError, match="typo"):
            action("20261116-021530-3f9a1c")
    with pytest.raises(StorageError, match="typo"):
        store.prune(keep=1)
    assert list(tmp_path.iterdir()) == []


def test_unreachable_store_is_named_without_its_password() -> None:
    with pytest.raises(StorageError, match="nowhere://…@host/x") as raised:
        ModelStore("nowhere://user:password@host/x")
    assert "password" not in str(raised.value)


def test_knobs_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="decoupling"):
        Knobs(decoupling=1.5)


def test_optional_parts_are_read_back_unchanged(any_store: ModelStore, draft: Drafts) -> None:
    given = draft(basket_sizes=SIZES, coherence=COHERENCE)
    model = any_store.open(any_store.publish(given))
    assert {"basket_sizes.safetensors", "coherence.safetensors"} <= set(model.manifest.files)
    for part, read in ((SIZES, model.basket_sizes), (COHERENCE, model.coherence)):
        for array in fields(part):
            np.testing.assert_array_equal(getattr(read, array.name), getattr(part, array.name))
    old = any_store.open(any_store.publish(draft()))
    assert old.basket_sizes is None
    assert old.coherence is None


def test_parts_that_do_not_fit_the_kernel_are_refused(store: ModelStore, draft: Drafts) -> None:
    with pytest.raises(InvalidDraftError, match="the kernel has 8 items, the basket sizes 7"):
        store.publish(draft(size=8, basket_sizes=SIZES))
