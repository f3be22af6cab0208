"""`kernel.safetensors`: the paper's V, B, C and d, from which serving gets its F and X.

    L = V Vᵀ + B C Bᵀ + Diag(d) = F X Fᵀ + Diag(d)

Every kind of kernel has all four tensors. docs/decisions/kernel-file.md says why a large file also holds F.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from model_store.arrays import dtype_of, is_large, read_array, read_header
from model_store.manifest import Kind
from ndpp.kernel import Kernel, Matrix

KERNEL = "kernel.safetensors"
FORMULA = "L = V @ V.T + B @ C @ B.T + np.diag(d)"
_FORMULA_0_1 = "L = F @ X @ F.T + np.diag(d)"
_SKEW_TOLERANCE = 1e-6  # training computes I + C in float32
_MEANINGS = {
    "V": "a row per item; V Vᵀ is the symmetric part of L, which makes items replace each other",
    "B": "a row per item; B C Bᵀ is the skew-symmetric part of L, which makes items attract each other",
    "C": "skew-symmetric: how the columns of B act on each other",
    "F": "a row per item: V and B side by side, as serving maps them into memory",
    "X": "how the columns of F act on each other (the form of release 0.1)",
    "d": "a number per item, added to the diagonal of L",
}


class Tensor(NamedTuple):
    """A tensor of a kernel file, described."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    meaning: str


def kernel_tensors(kernel: Kernel, kind: Kind) -> dict[str, NDArray[Any]]:
    """V, B, C and d of a kernel; ValueError if it does not have the form of its kind.

    The NDPP of 2019, A = B Cᵀ − C Bᵀ, has [B C] as its B and [[0, I], [−I, 0]] as its C.
    """
    F, X = kernel.factors, kernel.core
    if kind == "tied":
        V, B, C = F, F, X - np.eye(len(X))
    else:
        rank = int(np.count_nonzero(np.diag(X)))  # the identity of V has ones there, a skew-symmetric C zeros
        V, B, C = F[:, :rank], F[:, rank:], X[rank:, rank:]
    skew = np.abs(C + C.T).max(initial=0.0) <= _SKEW_TOLERANCE * np.abs(X).max(initial=0.0)
    if not skew or not np.array_equal(_core(V.shape[1], C, kind), X):
        raise ValueError(
            f"its kernel is not V Vᵀ + B C Bᵀ with a skew-symmetric C, as the kind {kind!r} needs"
        )
    return {"V": V, "B": B, "C": C, "d": kernel.diagonal}


def write_kernel(kernel: Kernel, kind: Kind, path: Path) -> None:
    """Write V and B in float32, C and d in float64; ValueError if float32 cannot hold the factors."""
    tensors = kernel_tensors(kernel, kind)
    if kind != "tied" and len(tensors["C"]) and is_large(kernel.factors.size * 4):
        tensors["F"] = kernel.factors
    with np.errstate(over="ignore"):
        stored = {
            name: np.ascontiguousarray(tensor, dtype=np.float32 if name in "VBF" else np.float64)
            for name, tensor in tensors.items()
        }
    if not all(np.isfinite(tensor).all() for tensor in stored.values()):
        raise ValueError("its factors exceed the range of float32")
    # One entry, because safetensors shuffles several: the same model must give the same bytes.
    note = {"model": json.dumps({"kind": kind, "form": FORMULA})}
    safetensors.numpy.save_file(stored, path, note)


def read_kernel(path: Path, kind: Kind) -> Kernel:
    """The kernel with exactly the F, X and d that were written; a large F is memory-mapped."""
    with path.open("rb") as file:
        header, _ = read_header(file)
    d = read_array(path, "d")
    if "X" in header:  # release 0.1
        return Kernel(read_array(path, "F"), read_array(path, "X"), d)
    C = read_array(path, "C")
    if "F" in header:
        F = read_array(path, "F")
    elif kind == "tied" or not len(C):
        F = read_array(path, "V")
    else:
        F = np.hstack([read_array(path, "V"), read_array(path, "B")])
    return Kernel(F, _core(header["V"]["shape"][1], C, kind), d)


def describe_tensors(file: BinaryIO) -> list[Tensor]:
    """The tensors of an open kernel file, from its header alone."""
    header, _ = read_header(file)
    return [
        Tensor(name, tuple(header[name]["shape"]), dtype_of(header[name]).name, meaning)
        for name, meaning in _MEANINGS.items()
        if name in header
    ]


def formula(tensors: list[Tensor]) -> str:
    """L from these tensors, in one line of NumPy."""
    return FORMULA if tensors[0].name == "V" else _FORMULA_0_1


def _core(rank: int, C: Matrix, kind: Kind) -> Matrix:
    """X: I + C if B is V, blockdiag(I, C) otherwise; `rank` is the number of columns of V."""
    if kind == "tied":
        return np.eye(rank) + C
    core = np.eye(rank + len(C))
    core[rank:, rank:] = C
    return core
