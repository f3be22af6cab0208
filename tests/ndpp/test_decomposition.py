"""Lemma 1: V, B and C of random nonsymmetric positive semidefinite matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ndpp import Kernel, decompose, map_greedy

Matrix = NDArray[np.float64]


def random_matrix(seed: int, size: int, rank: int, pairs: int) -> Matrix:
    """A matrix with a PSD symmetric part of the given rank and a skew-symmetric part of rank 2 · pairs."""
    rng = np.random.default_rng(seed)
    V, left, right = (rng.normal(size=(size, columns)) for columns in (rank, pairs, pairs))
    return V @ V.T + left @ right.T - right @ left.T


def assert_canonical(C: Matrix) -> None:
    """C consists of blocks [[0, λ], [−λ, 0]] with λ > 0, in descending order."""
    strengths = np.diag(C, 1)[::2]
    blocks = np.zeros_like(C)
    for place, strength in enumerate(strengths):
        blocks[2 * place : 2 * place + 2, 2 * place : 2 * place + 2] = [[0, strength], [-strength, 0]]
    np.testing.assert_array_equal(C, blocks)
    assert (strengths > 0).all()
    assert (np.diff(strengths) <= 0).all()


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_random_matrix_is_reproduced_with_minimal_ranks(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    rank, pairs = data.draw(st.integers(0, size)), data.draw(st.integers(0, size // 2))
    L = random_matrix(data.draw(st.integers(0, 2**32)), size, rank, pairs)
    V, B, C = decompose(L)
    # A Gaussian rank-K part can have an eigenvalue near zero: NumPy's rank says so too.
    symmetric, skew = (L + L.T) / 2, (L - L.T) / 2
    noise = 1e-9 * np.linalg.norm(L, 2)
    assert V.shape[1] >= np.linalg.matrix_rank(symmetric, tol=noise)
    assert B.shape[1] >= np.linalg.matrix_rank(skew, tol=noise)
    assert V.shape[1] <= rank
    assert B.shape[1] <= 2 * pairs
    assert C.shape == (B.shape[1], B.shape[1])
    assert_canonical(C)
    np.testing.assert_allclose(np.linalg.norm(B, axis=0), 1)
    np.testing.assert_allclose(V @ V.T + B @ C @ B.T, L, atol=1e-8 * max(np.abs(L).max(), 1e-300))


@pytest.mark.parametrize(("size", "rank", "pairs"), [(1, 1, 0), (5, 3, 1), (7, 7, 3), (8, 0, 4), (9, 2, 4)])
def test_ranks_are_those_of_the_two_parts(size: int, rank: int, pairs: int) -> None:
    V, B, _ = decompose(random_matrix(4, size, rank, pairs))
    assert (V.shape, B.shape) == ((size, rank), (size, 2 * pairs))


def test_zero_matrix_has_no_columns() -> None:
    V, B, C = decompose(np.zeros((3, 3)))
    assert (V.shape, B.shape, C.shape) == ((3, 0), (3, 0), (0, 0))


def test_one_item() -> None:
    V, B, _ = decompose([[4]])
    assert abs(V[0, 0]) == pytest.approx(2)
    assert B.shape == (1, 0)


def test_symmetric_matrix_with_rounding_errors_has_no_skew_part() -> None:
    V = np.random.default_rng(0).normal(size=(40, 6))
    L = (V * np.pi) @ (V / 3).T  # symmetric up to rounding
    assert np.abs(L - L.T).max() > 0
    factors, B, _ = decompose(L)
    assert factors.shape == (40, 6)
    assert B.shape == (40, 0)


def test_skew_matrix_with_repeated_eigenvalues_has_no_symmetric_part() -> None:
    A = np.kron(np.eye(3), [[0.0, 5.0], [-5.0, 0.0]])
    mix = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    V, B, C = decompose(mix @ A @ mix.T)
    assert V.shape == (6, 0)
    assert_canonical(C)
    np.testing.assert_allclose(B @ C @ B.T, mix @ A @ mix.T, atol=1e-12)


def test_strength_of_a_single_pair_is_its_skew_entry() -> None:
    _, _, C = decompose([[0.8, 0.3, 0.2], [-0.3, 0.5, 0.1], [0.2, 0.1, 0.4]])
    np.testing.assert_allclose(C, [[0, 0.3], [-0.3, 0]], atol=1e-15)


def test_every_entry_is_accurate_when_items_differ_in_scale() -> None:
    scales = 10.0 ** np.array([-100, -9, -6, 0, 3, 8, 100])
    L = random_matrix(2, 7, 4, 2) * np.outer(scales, scales)
    V, B, C = decompose(L)
    assert (V.shape[1], B.shape[1]) == (4, 4)
    error = (V @ V.T + B @ C @ B.T - L) / np.outer(scales, scales)
    assert np.abs(error).max() < 1e-12


def test_weak_skew_part_is_kept() -> None:
    L = np.eye(3) + 1e-6 * (np.eye(3, k=1) - np.eye(3, k=-1))
    _, B, C = decompose(L)
    np.testing.assert_allclose(B @ C @ B.T, (L - L.T) / 2, atol=1e-15)
    assert C.shape == (2, 2)


def test_tolerance_for_single_precision() -> None:
    L = random_matrix(3, 30, 4, 2).astype(np.float32)
    V, B, _ = decompose(L, tolerance=1e-5)
    assert (V.shape[1], B.shape[1]) == (4, 4)
    with pytest.raises(ValueError, match="positive semidefinite"):
        decompose(L)


@pytest.mark.parametrize(
    "L",
    [
        [[-1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 3.0], [1.0, 1.0]],
        [[0.0, 1.0], [0.0, 1.0]],  # all principal minors are ≥ 0
        [[1e12, 0.0], [0.0, -1e-3]],
    ],
)
def test_symmetric_part_that_is_not_positive_semidefinite_is_an_error(L: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="must be positive semidefinite, but has an eigenvalue of -"):
        decompose(L)


@pytest.mark.parametrize(
    ("L", "reason"),
    [
        ([[1.0, 2.0]], "must be square"),
        ([1.0], "must be square"),
        (np.zeros((0, 0)), "at least one row"),
        ([[np.nan]], "must be finite"),
        ([[np.inf]], "must be finite"),
        ([[1 + 1j]], "must be real"),
    ],
)
def test_wrong_argument_is_an_error(L: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decompose(L)  # type: ignore[arg-type]


def test_kernel_from_matrix_has_its_minors_and_normaliser() -> None:
    L = random_matrix(5, 6, 4, 2)
    kernel = Kernel.from_matrix(L)
    np.testing.assert_allclose(kernel.submatrix(range(6)), L, atol=1e-12)
    assert kernel.log_normaliser == pytest.approx(np.linalg.slogdet(np.eye(6) + L)[1])
    bundle = map_greedy(kernel, 3)
    chosen = L[np.ix_(bundle.items, bundle.items)]
    assert bundle.log_det == pytest.approx(np.linalg.slogdet(chosen)[1])
