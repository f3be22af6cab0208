"""Figure 2 of the paper: greedy against exact MAP inference for random 5×5 kernels of rank 3.

The kernels are V₁ Diag(s) V₂ᵀ with random orthonormal V₁ and V₂, and s drawn from the singular values of a
learned kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ndpp import Kernel, map_greedy
from ndpp.kernel import Matrix, Vector

ITEMS, RANK = 5, 3  # in the paper k = K = 3
_BATCH = 50_000

Draw = Callable[[np.random.Generator, Matrix], Matrix]


@dataclass(frozen=True)
class GreedyRatios:
    """Greedy against exact for many kernels of one kind."""

    log_condition: list[float]  # log(σ_max / σ_min) of the nonzero singular values
    greedy: list[float]  # log det of greedy's set
    exact: list[float]  # log det of the best set

    @property
    def ratios(self) -> Vector:
        """The paper's approximation ratio, log det greedy / log det exact."""
        return np.divide(self.greedy, self.exact)

    @property
    def shares(self) -> Vector:
        """det greedy / det exact, at most 1."""
        return np.exp(np.subtract(self.greedy, self.exact))


@dataclass(frozen=True)
class GreedyExperiment:
    """Figure 2."""

    singular_values: list[float]  # of the learned kernel, in descending order
    symmetric: GreedyRatios
    p0: GreedyRatios  # all principal minors ≥ 0: the paper's nonsymmetric kernels
    semidefinite: GreedyRatios  # positive semidefinite symmetric part: what V, B and C can represent


def greedy_experiment(learned: Kernel, kernels: int, seed: int) -> GreedyExperiment:
    """Draw the kernels with singular values of the learned one, and compare greedy with enumeration."""
    rng = np.random.default_rng(seed)
    singular_values = nonzero_singular_values(learned)
    chosen = np.array([rng.choice(singular_values, RANK, replace=False) for _ in range(kernels)])
    return GreedyExperiment(
        singular_values.tolist(),
        symmetric=_measure(draw_symmetric(rng, chosen), chosen, greedy_of_kernels),
        p0=_measure(draw_until(is_p0, draw_nonsymmetric, rng, chosen), chosen, greedy_of_minors),
        semidefinite=_measure(
            draw_until(is_semidefinite, draw_in_one_subspace, rng, chosen), chosen, greedy_of_kernels
        ),
    )


def nonzero_singular_values(kernel: Kernel) -> Vector:
    """The singular values of L, without the zeros."""
    values = np.linalg.svd(kernel.submatrix(np.arange(kernel.size)), compute_uv=False)
    return np.asarray(values[values > 1e-10 * values[0]])


def _measure(kernels: Matrix, chosen: Matrix, greedy: Callable[[Matrix], Vector]) -> GreedyRatios:
    exact = np.log(np.max([_minors(kernels, rows) for rows in combinations(range(ITEMS), RANK)], axis=0))
    condition = np.log(chosen.max(axis=1) / chosen.min(axis=1))
    return GreedyRatios(condition.tolist(), greedy(kernels).tolist(), exact.tolist())


def greedy_of_kernels(kernels: Matrix) -> Vector:
    """log det of greedy's set: each matrix becomes V, B and C by Lemma 1, then Algorithm 1."""
    return np.array([map_greedy(Kernel.from_matrix(L), RANK).log_det for L in kernels])


def greedy_of_minors(kernels: Matrix) -> Vector:
    """log det of greedy's set, from determinants: for P₀ matrices that Lemma 1 does not cover."""
    log_dets = []
    for L in kernels:
        chosen: list[int] = []
        for _ in range(RANK):
            others = [[*chosen, row] for row in range(ITEMS) if row not in chosen]
            chosen = max(others, key=lambda rows: float(np.linalg.det(L[np.ix_(rows, rows)])))
        log_dets.append(float(np.linalg.slogdet(L[np.ix_(chosen, chosen)])[1]))
    return np.array(log_dets)


def draw_symmetric(rng: np.random.Generator, s: Matrix) -> Matrix:
    """V Diag(s) Vᵀ for each row of s, (n, 5, 5)."""
    V = _orthonormal(rng, len(s), ITEMS)
    return (V * s[:, None, :]) @ V.swapaxes(1, 2)


def draw_nonsymmetric(rng: np.random.Generator, s: Matrix) -> Matrix:
    """V₁ Diag(s) V₂ᵀ with independent V₁ and V₂, given that the diagonal is positive.

    Changing the signs of rows of V₂ does not change its distribution, and one choice of signs makes the
    diagonal positive: 1/32 of the draws until a P₀ matrix.
    """
    left, right = _orthonormal(rng, len(s), ITEMS), _orthonormal(rng, len(s), ITEMS)
    kernels = (left * s[:, None, :]) @ right.swapaxes(1, 2)
    return np.asarray(kernels * np.sign(np.einsum("nii->ni", kernels))[:, None, :])


def draw_in_one_subspace(rng: np.random.Generator, s: Matrix) -> Matrix:
    """V₁ Diag(s) V₂ᵀ where V₁ and V₂ span the same subspace.

    Every L with a positive semidefinite symmetric part has this form: if L x = 0, then xᵀ(L + Lᵀ)x = 0, so
    (L + Lᵀ)x = 0 and Lᵀx = 0. Independent V₁ and V₂ never have it.
    """
    basis = _orthonormal(rng, len(s), ITEMS)
    left, right = basis @ _orthonormal(rng, len(s), RANK), basis @ _orthonormal(rng, len(s), RANK)
    return (left * s[:, None, :]) @ right.swapaxes(1, 2)


def draw_until(
    accept: Callable[[Matrix], NDArray[np.bool_]], draw: Draw, rng: np.random.Generator, s: Matrix
) -> Matrix:
    """One accepted kernel for each row of s: the orthonormal matrices are drawn again until it is."""
    accepted = np.empty((len(s), ITEMS, ITEMS))
    waiting = np.arange(len(s))
    while len(waiting):
        tried = np.resize(waiting, _BATCH)
        drawn = draw(rng, s[tried])
        good = accept(drawn)
        rows, first = np.unique(tried[good], return_index=True)
        accepted[rows] = drawn[good][first]
        waiting = np.setdiff1d(waiting, rows)
    return accepted


def is_p0(kernels: Matrix) -> NDArray[np.bool_]:
    """Whether all principal minors are ≥ 0; those of more than 3 rows are zero, because the rank is 3."""
    good = np.arange(len(kernels))
    for size in range(1, RANK + 1):
        for rows in combinations(range(ITEMS), size):
            good = good[_minors(kernels[good], rows) >= 0]
    return np.isin(np.arange(len(kernels)), good)


def is_semidefinite(kernels: Matrix) -> NDArray[np.bool_]:
    """Whether the symmetric part is positive semidefinite, up to rounding."""
    values = np.linalg.eigvalsh(kernels + kernels.swapaxes(1, 2))
    return np.asarray(values[:, 0] >= -1e-12 * values[:, -1])


def _minors(kernels: Matrix, rows: tuple[int, ...]) -> Vector:
    """det(L_Y) of each kernel."""
    index = np.array(rows)
    return np.asarray(np.linalg.det(kernels[:, index[:, None], index]))


def _orthonormal(rng: np.random.Generator, count: int, size: int) -> Matrix:
    """Uniformly distributed matrices with 3 orthonormal columns, (count, size, 3)."""
    Q, R = np.linalg.qr(rng.normal(size=(count, size, RANK)))
    return np.asarray(Q * np.sign(np.einsum("nii->ni", R))[:, None, :])
