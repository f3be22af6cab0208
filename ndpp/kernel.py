"""The kernel L = Diag(d) + F X Fᵀ: memory and time grow linearly with the number of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.decomposition import decompose

FloatArray = NDArray[np.floating[Any]]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.intp]

_PSD_TOLERANCE = 1e-6
_LEAST_WEIGHT = 1e-30  # keeps log L_ii finite
_LARGEST_PLAIN = 1e5  # up to this norm of X G, adding the identity loses only a few digits
_ROUNDING = 1e-12  # singular values below this share of the largest are rounding errors
BLOCK = 4096  # rows of F per product: few enough to stay in a cache, enough for a fast product
STRONGEST = 128  # rows scored before the search for the best row, so that it starts with a high threshold


@dataclass(frozen=True, eq=False)
class Kernel:
    """A (nonsymmetric) DPP kernel `Diag(d) + F X Fᵀ` over M items, of rank R plus its diagonal.

    An item is a row number. The most popular item is row 0, so ties are resolved in favour of the lower row.
    """

    factors: FloatArray  # F (M, R), float32 (as stored and served) or float64
    core: Matrix  # X (R, R): its symmetric part is positive semidefinite, so principal minors of L are ≥ 0
    diagonal: Vector  # d (M,), ≥ 0

    def __post_init__(self) -> None:
        factors = np.asarray(self.factors)
        if factors.dtype not in (np.float32, np.float64):
            factors = factors.astype(np.float64)
        core = np.array(self.core, dtype=np.float64)
        diagonal = np.asarray(self.diagonal, dtype=np.float64)
        _check_shapes(factors, core, diagonal)
        _check_values(factors, core, diagonal)
        for name, array in (("factors", factors), ("core", core), ("diagonal", diagonal)):
            frozen = array.view()
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)

    @property
    def size(self) -> int:
        """M, the number of items."""
        return int(self.factors.shape[0])

    @property
    def rank(self) -> int:
        """R, the number of columns of F."""
        return int(self.factors.shape[1])

    def submatrix(self, rows: ArrayLike) -> Matrix:
        """The dense L_Y of the rows Y, in float64: (n, n), or (…, n, n) for a stack of sets (…, n)."""
        index = np.asarray(rows, dtype=np.intp)
        chosen = self.rows(index)  # (…, n, R)
        block = self.times_core(chosen) @ chosen.swapaxes(-1, -2)
        place = np.arange(index.shape[-1])
        block[..., place, place] += self.diagonal[index]
        return block

    def rows(self, index: Indices) -> Matrix:
        """Rows of F in float64, (…, R)."""
        return self.factors.take(index, axis=0).astype(np.float64)

    def times_core(self, rows: Matrix) -> Matrix:
        """rows · X."""
        return _times(rows, self.core, self._core_entries)

    def times_core_transposed(self, rows: Matrix) -> Matrix:
        """rows · Xᵀ."""
        return _times(rows, self.core.T, self._transposed_entries)

    @cached_property
    def _core_entries(self) -> tuple[Indices, Vector] | None:
        return _single_entries(self.core)

    @cached_property
    def _transposed_entries(self) -> tuple[Indices, Vector] | None:
        return _single_entries(self.core.T)

    @cached_property
    def symmetric_columns(self) -> int | None:
        """K if X is symmetric in its first K columns and skew-symmetric in the others, else None.

        Xᵀ is then X with the signs of the other columns changed. Only tied kernels have no such K.
        """
        symmetric = (self.core == self.core.T).all(axis=0)
        count = self.rank if symmetric.all() else int(np.argmin(symmetric))
        return count if (self.core == -self.core.T).all(axis=0)[count:].all() else None

    def blocks(self) -> Iterator[slice]:
        """Consecutive ranges of rows, so that F is never copied as a whole."""
        for start in range(0, self.size, BLOCK):
            yield slice(start, min(start + BLOCK, self.size))

    @cached_property
    def weights(self) -> Vector:
        """L_ii, each item's gain on the empty cart."""
        symmetric = (self.core + self.core.T) / 2
        is_diagonal = np.count_nonzero(symmetric - np.diag(np.diag(symmetric))) == 0
        total = self.diagonal.copy()
        for rows in self.blocks():
            block = self.factors[rows].astype(np.float64)
            image = block * np.diag(symmetric) if is_diagonal else block @ symmetric
            total[rows] += np.einsum("ir,ir->i", image, block)
        return np.maximum(total, 0.0)

    @cached_property
    def log_weights(self) -> Vector:
        """log L_ii."""
        return np.log(np.maximum(self.weights, _LEAST_WEIGHT))

    @cached_property
    def squared_norms(self) -> Vector:
        """‖f_i‖² of every row of F."""
        norms = np.empty(self.size)
        for rows in self.blocks():
            block = self.factors[rows].astype(np.float64)
            norms[rows] = np.einsum("ir,ir->i", block, block)
        return norms

    @cached_property
    def strongest(self) -> Indices:
        """The rows with the largest L_ii + ‖f_i‖², ascending: they are most likely to have a high gain."""
        strength = self.weights + self.squared_norms
        if self.size <= STRONGEST:
            return np.arange(self.size)
        return np.sort(np.argpartition(-strength, STRONGEST)[:STRONGEST])

    @cached_property
    def block_peaks(self) -> tuple[Vector, Vector]:
        """The highest L_ii and the highest ‖f_i‖² in each block, without the `strongest` rows."""
        weights, norms = self.weights.copy(), self.squared_norms.copy()
        weights[self.strongest] = norms[self.strongest] = 0.0
        starts = np.arange(0, self.size, BLOCK)
        return np.maximum.reduceat(weights, starts), np.maximum.reduceat(norms, starts)

    @cached_property
    def core_norm(self) -> float:
        """The spectral norm of X: |L_ij| ≤ core_norm ‖f_i‖ ‖f_j‖ off the diagonal."""
        return float(np.linalg.norm(self.core, 2)) if self.rank else 0.0

    @cached_property
    def item_scales(self) -> Vector:
        """s with |L_ij| ≤ s_i s_j: makes tolerances independent of how popular an item is."""
        scales: Vector = np.sqrt(self.diagonal + self.core_norm * self.squared_norms)
        return scales

    def _weighted_gram(self) -> Matrix:
        """G = Fᵀ Diag(1/(1+d)) F."""
        total = np.zeros((self.rank, self.rank))
        for rows in self.blocks():
            block = self.factors[rows] / np.sqrt(1 + self.diagonal[rows, None])  # float64
            total += block.T @ block
        return total

    @cached_property
    def log_normaliser(self) -> float:
        """log det(L + I) = Σ log(1+d_i) + log det(I_R + X G) with G = Fᵀ Diag(1/(1+d)) F."""
        return float(np.log1p(self.diagonal).sum()) + self._normaliser_and_marginal[0]

    @property
    def marginal_core(self) -> Matrix:
        """Q = (I + X G)⁻¹ X: see `MarginalKernel`."""
        return self._normaliser_and_marginal[1]

    @cached_property
    def _normaliser_and_marginal(self) -> tuple[float, Matrix]:
        """log det(I + X G) and (I + X G)⁻¹ X.

        If X G is so large that rounding errors could hide the identity, it is first restricted to the
        directions in which it is not a rounding error: G = S Sᵀ and Sᵀ X S = U Diag(s) Vᵀ.
        """
        core, gram = self.core, self._weighted_gram()
        trace = float(np.trace(gram))
        if self.core_norm * trace <= _LARGEST_PLAIN:
            system = np.eye(len(core)) + core @ gram
            sign, value = np.linalg.slogdet(system)
            return max(float(value), 0.0) if sign > 0 else 0.0, np.asarray(np.linalg.solve(system, core))
        values, vectors = np.linalg.eigh(gram)
        kept = values > _ROUNDING * trace
        lengths, directions = np.sqrt(values[kept]), vectors[:, kept]
        roots = directions * lengths  # S
        U, s, Vt = np.linalg.svd(roots.T @ core @ roots)
        kept = s > _ROUNDING * self.core_norm * trace
        U, s, Vt = U[:, kept], s[kept], Vt[kept]
        small = np.diag(1 / s) + Vt @ U
        inverse_roots = directions / lengths
        marginal = inverse_roots @ U @ np.linalg.solve(small, Vt) @ inverse_roots.T
        log_det = float(np.log(s).sum() + np.linalg.slogdet(small)[1])
        return max(log_det, 0.0), np.asarray(marginal)

    @property
    def log_not_empty(self) -> float:
        """log P(a random set is not empty) = log(1 − 1 / det(L + I))."""
        return float(np.log(-np.expm1(-self.log_normaliser)))

    @classmethod
    def symmetric(cls, V: ArrayLike, d: ArrayLike | None = None) -> Kernel:
        """L = V Vᵀ, the low-rank DPP of Gartrell et al. 2017."""
        V = np.asarray(V)
        return cls(V, np.eye(V.shape[1]), _diagonal(d, len(V)))

    @classmethod
    def ndpp2019(cls, V: ArrayLike, B: ArrayLike, C: ArrayLike, d: ArrayLike | None = None) -> Kernel:
        """L = V Vᵀ + B Cᵀ − C Bᵀ, the NDPP of Gartrell et al. 2019."""
        V, B, C = np.asarray(V), np.asarray(B), np.asarray(C)
        K, S = V.shape[1], B.shape[1]
        core = np.eye(K + 2 * S)
        core[K:, K:] = np.block([[np.zeros((S, S)), np.eye(S)], [-np.eye(S), np.zeros((S, S))]])
        return cls(np.hstack([V, B, C]), core, _diagonal(d, len(V)))

    @classmethod
    def scalable(cls, V: ArrayLike, B: ArrayLike, C: ArrayLike, d: ArrayLike | None = None) -> Kernel:
        """L = V Vᵀ + B C Bᵀ with a skew-symmetric C: the paper's decomposition, Eq. (1)."""
        V, B, C = np.asarray(V), np.asarray(B), np.asarray(C, dtype=np.float64)
        K = V.shape[1]
        core = np.eye(K + B.shape[1])
        core[K:, K:] = C
        return cls(np.hstack([V, B]), core, _diagonal(d, len(V)))

    @classmethod
    def tied(cls, V: ArrayLike, C: ArrayLike, d: ArrayLike | None = None) -> Kernel:
        """L = V (I + C) Vᵀ with a skew-symmetric C: B = V, as in the paper's experiments."""
        V, C = np.asarray(V), np.asarray(C, dtype=np.float64)
        return cls(V, np.eye(V.shape[1]) + C, _diagonal(d, len(V)))

    @classmethod
    def from_matrix(cls, L: ArrayLike) -> Kernel:
        """The kernel of a dense M×M matrix whose symmetric part is positive semidefinite; see `decompose`."""
        return cls.scalable(*decompose(L))


def _single_entries(core: Matrix) -> tuple[Indices, Vector] | None:
    """The row and the value of each column's only nonzero entry; None if a column has several (tied)."""
    if not core.size or np.count_nonzero(core, axis=0).max() > 1:
        return None
    rows: Indices = np.argmax(core != 0, axis=0)
    return rows, core[rows, np.arange(len(core))]


def _times(rows: Matrix, core: Matrix, entries: tuple[Indices, Vector] | None) -> Matrix:
    """rows · core; if every column of the core has one entry, by permuting columns instead of multiplying."""
    if entries is None:
        return rows @ core
    product: Matrix = rows.take(entries[0], axis=-1)
    product *= entries[1]
    return product


def _diagonal(d: ArrayLike | None, size: int) -> Vector:
    return np.zeros(size) if d is None else np.asarray(d, dtype=np.float64)


def _check_shapes(factors: FloatArray, core: Matrix, diagonal: Vector) -> None:
    if factors.ndim != 2 or factors.shape[0] == 0:
        raise ValueError(
            f"the kernel's factors must have shape (items, rank) with at least one item, got {factors.shape}"
        )
    rank = factors.shape[1]
    if core.shape != (rank, rank):
        raise ValueError(f"factors of rank {rank} need a core of shape ({rank}, {rank}), got {core.shape}")
    if diagonal.shape != (factors.shape[0],):
        raise ValueError(
            f"a kernel of {factors.shape[0]} items needs a diagonal of that length, got {diagonal.shape}"
        )


def _check_values(factors: FloatArray, core: Matrix, diagonal: Vector) -> None:
    for name, array in (("factors", factors), ("core", core), ("diagonal", diagonal)):
        if not all(np.isfinite(array[start : start + BLOCK]).all() for start in range(0, len(array), BLOCK)):
            raise ValueError(f"the kernel's {name} must be finite")
    if (diagonal < 0).any():
        raise ValueError("the kernel's diagonal must not be negative")
    if core.size:
        symmetric = (core + core.T) / 2
        smallest = float(np.linalg.eigvalsh(symmetric)[0])
        if smallest < -_PSD_TOLERANCE * max(1.0, float(np.abs(symmetric).max())):
            raise ValueError(
                "the symmetric part of the kernel's core must be positive semidefinite, "
                f"but has an eigenvalue of {smallest:.3g}"
            )
