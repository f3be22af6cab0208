"""The tensors of `kernel.safetensors`: what they hold, and how they are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from model_store import Draft, ModelStore, StoredModel, arrays
from model_store.kernel_file import FORMULA
from model_store.manifest import Manifest
from ndpp.kernel import Kernel

Drafts = Callable[..., Draft]
KERNEL = "kernel.safetensors"
KINDS = ["symmetric", "ndpp2019", "scalable", "tied"]


def make_kernel(kind: str) -> Kernel:
    rng = np.random.default_rng(0)
    V, B = rng.normal(size=(2, 7, 4)).astype(np.float32)
    D, d = rng.normal(size=(4, 4)), rng.uniform(size=7)
    kernels = {
        "symmetric": Kernel.symmetric(V, d),
        "ndpp2019": Kernel.ndpp2019(V[:, :3], B[:, :2], B[:, 2:], d),
        "scalable": Kernel.scalable(V[:, :3], B, D - D.T, d),
        "tied": Kernel.tied(V, D - D.T, d),
    }
    return kernels[kind]


def assert_same_bits(kernel: Kernel, expected: Kernel) -> None:
    for name in ("factors", "core", "diagonal"):
        array, given = getattr(kernel, name), getattr(expected, name)
        assert (array.dtype, array.shape, array.tobytes()) == (given.dtype, given.shape, given.tobytes())
        assert array.flags.c_contiguous


def is_mapped(model: StoredModel) -> bool:
    """Whether the address of F lies in a mapping of the kernel's file."""
    path, address = str(model.folder / KERNEL), model.kernel.factors.ctypes.data
    spans = [line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if path in line]
    bounds = [[int(end, 16) for end in span.split("-")] for span in spans]
    return any(low <= address < high for low, high in bounds)


@pytest.mark.parametrize("kind", KINDS)
def test_documented_line_gives_the_dense_kernel(store: ModelStore, draft: Drafts, kind: str) -> None:
    kernel = make_kernel(kind)
    model = store.open(store.publish(draft(kernel=kernel, kind=kind)))
    tensors = safetensors.numpy.load_file(model.folder / KERNEL)
    assert set(tensors) == {"V", "B", "C", "d"}
    names = {**tensors, "np": np}
    exec(FORMULA, names)  # what `show` prints and docs/model.md says
    np.testing.assert_allclose(names["L"], kernel.submatrix(range(7)), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(tensors["C"], -tensors["C"].T)
    assert FORMULA in (Path(__file__).parents[2] / "docs" / "model.md").read_text()


@pytest.mark.parametrize("copied_bytes", [0, 64 << 20], ids=["large", "small"])
@pytest.mark.parametrize("kind", KINDS)
def test_kernel_is_read_back_bit_for_bit_and_mapped_if_large(
    any_store: ModelStore, draft: Drafts, monkeypatch: pytest.MonkeyPatch, kind: str, copied_bytes: int
) -> None:
    monkeypatch.setattr(arrays, "_COPIED_BYTES", copied_bytes)
    given = make_kernel(kind)
    model = any_store.open(any_store.publish(draft(kernel=given, kind=kind)))
    assert_same_bits(model.kernel, given)
    assert is_mapped(model) == (copied_bytes == 0)


def test_large_file_holds_both_factors_side_by_side_as_well(
    store: ModelStore, draft: Drafts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_COPIED_BYTES", 0)
    names = {}
    for kind in KINDS:
        version = store.publish(draft(kernel=make_kernel(kind), kind=kind))
        tensors = safetensors.numpy.load_file(Path(store.location) / version / KERNEL)
        names[kind] = "".join(sorted(tensors))
        if "F" in tensors:
            np.testing.assert_array_equal(tensors["F"], np.hstack([tensors["V"], tensors["B"]]))
    assert names == {"symmetric": "BCVd", "ndpp2019": "BCFVd", "scalable": "BCFVd", "tied": "BCVd"}


def test_small_kernel_does_not_depend_on_its_file(any_store: ModelStore, draft: Drafts) -> None:
    model = any_store.open(any_store.publish(draft()))
    expected = model.kernel.submatrix(range(7))
    os.truncate(model.folder / KERNEL, 0)  # reading a mapped file would now end this process
    assert (model.kernel.submatrix(range(7)) == expected).all()


def test_tied_core_rounded_by_training_is_kept(store: ModelStore, draft: Drafts) -> None:
    """Training computes I + D − Dᵀ in float32, which may leave 1 ± 1e-7 on the diagonal."""
    D = np.random.default_rng(0).normal(scale=1e-3, size=(4, 4)).astype(np.float32)
    core = (np.eye(4, dtype=np.float32) + D - D.T).astype(np.float64)
    assert (np.diag(core) != 1).any()
    given = Kernel(make_kernel("tied").factors, core, np.ones(7))
    assert_same_bits(store.open(store.publish(draft(kernel=given, kind="tied"))).kernel, given)


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_of_release_0_1_is_read_bit_for_bit(store: ModelStore, draft: Drafts, kind: str) -> None:
    given = make_kernel(kind)
    version = store.publish(draft(kernel=given, kind=kind))
    rewrite_as_release_0_1(Path(store.location) / version, given)
    assert_same_bits(store.open(version).kernel, given)
    names = [tensor.name for tensor in store.tensors(version)]
    assert names == ["F", "X", "d"]


def rewrite_as_release_0_1(folder: Path, kernel: Kernel) -> None:
    """Replace a version's kernel by F, X and d, and its manifest by one of format 1."""
    tensors = {"F": kernel.factors, "X": kernel.core, "d": kernel.diagonal}
    safetensors.numpy.save_file({name: np.array(array) for name, array in tensors.items()}, folder / KERNEL)
    path, data = folder / "manifest.json", (folder / KERNEL).read_bytes()
    manifest = Manifest.model_validate_json(path.read_bytes())
    entry = manifest.files[KERNEL].model_copy(
        update={"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    )
    changes = {"format_version": 1, "files": {**manifest.files, KERNEL: entry}}
    path.write_bytes(manifest.model_copy(update=changes).to_json())
