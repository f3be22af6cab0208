"""Lemma 1 of the paper: a nonsymmetric positive semidefinite matrix as V Vᵀ + B C Bᵀ."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

_SCALING_STEPS = 20  # each halves, on a logarithmic scale, the distance of a row's largest entry from 1


def decompose(L: ArrayLike, *, tolerance: float = 1e-10) -> tuple[Matrix, Matrix, Matrix]:
    """V (M, K), B (M, S) and C (S, S) with L = V Vᵀ + B C Bᵀ, for a real L with a PSD symmetric part.

    C is block diagonal with blocks [[0, λ], [−λ, 0]] and λ > 0, in descending order; the columns of B have
    length 1. K is the rank of the symmetric part and S that of the skew-symmetric part, so no smaller V, B
    and C exist.

    The rows and columns of L are first scaled to similar size, so that a rare item is represented as
    accurately as a popular one. Eigenvalues of the scaled matrix within ±`tolerance` times its norm count as
    zero; for a matrix computed in single precision, use 1e-5. Raises ValueError if one is below that.
    """
    L = _checked(L)
    scales = _scales(L)
    scaled = _divide(L, scales)
    symmetric, skew = (scaled + scaled.T) / 2, (scaled - scaled.T) / 2
    values, vectors = np.linalg.eigh(symmetric)
    # i A is Hermitian: its eigenvalues are ±λ, and those of λ = 0.
    strengths, pairs = np.linalg.eigh(1j * skew)
    zero = tolerance * max(-values[0], values[-1], strengths[-1])
    if values[0] < -zero:
        raise ValueError(
            "the symmetric part of the matrix must be positive semidefinite, but has an eigenvalue of "
            f"{values[0]:.3g} when its rows and columns are scaled to a largest entry of 1"
        )
    kept, paired = values > zero, strengths > zero
    V = vectors[:, kept] * np.sqrt(values[kept])
    return scales[:, None] * V, *_skew_factors(strengths[paired], pairs[:, paired], scales)


def _checked(L: ArrayLike) -> Matrix:
    matrix = np.asarray(L)
    if np.iscomplexobj(matrix):
        raise ValueError("the matrix must be real")
    matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"the matrix must be square with at least one row, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("the entries of the matrix must be finite")
    return matrix


def _scales(L: Matrix) -> Vector:
    """s, powers of two, such that the largest |L_ij| / (s_i s_j) of each row and its column is about 1.

    Ruiz's algorithm. Scaling with Diag(s) changes neither a rank nor whether a matrix is positive
    semidefinite, and powers of two add no rounding errors.
    """
    size = np.maximum(np.abs(L), np.abs(L.T))
    exponents = np.zeros(len(L))
    for _ in range(_SCALING_STEPS):
        largest = _divide(size, np.exp2(exponents)).max(axis=1)
        exponents[largest > 0] += np.log2(largest[largest > 0]) / 2
    scales: Vector = np.exp2(np.round(exponents))
    return scales


def _divide(L: Matrix, scales: Vector) -> Matrix:
    """L_ij / (s_i s_j); by one factor after the other, because the product may overflow."""
    return L / scales[:, None] / scales


def _skew_factors(
    strengths: Vector, vectors: NDArray[np.complex128], scales: Vector
) -> tuple[Matrix, Matrix]:
    """B and C from the eigenvalues λ > 0 of i A and their eigenvectors x + i y, where A is scaled.

    A x = λ y and A y = −λ x, with x ⊥ y and |x|² = |y|² = ½, so A = Σ 2λ (y xᵀ − x yᵀ). Scaling back changes
    the lengths of x and y; λ takes them over.
    """
    (left, left_length), (right, right_length) = (
        _unit_columns(scales[:, None] * part) for part in (vectors.imag, vectors.real)
    )
    strengths = 2 * strengths * left_length * right_length
    order = np.argsort(-strengths, kind="stable")
    B = np.stack([left[:, order], right[:, order]], axis=2).reshape(len(scales), -1)  # pairs side by side
    C = np.zeros((B.shape[1], B.shape[1]))
    first = np.arange(0, len(C), 2)
    C[first, first + 1], C[first + 1, first] = strengths[order], -strengths[order]
    return B, C


def _unit_columns(columns: Matrix) -> tuple[Matrix, Vector]:
    """The columns divided by their lengths, and the lengths; squares of the entries could overflow."""
    largest = np.abs(columns).max(axis=0)
    columns = columns / largest
    lengths = np.linalg.norm(columns, axis=0)
    return columns / lengths, largest * lengths
