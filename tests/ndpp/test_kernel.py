"""Kernels: submatrices, products with the core, and validation."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import Kernel
from tests.ndpp.ndpp_reference import KINDS, full_matrix, make_kernel


@pytest.mark.parametrize("kind", KINDS)
def test_products_with_the_core(kind: str) -> None:
    rng = np.random.default_rng(1)
    kernel = make_kernel(rng, 9, kind, rank=4)
    rows = rng.normal(size=(2, 3, kernel.rank))
    np.testing.assert_allclose(kernel.times_core(rows), rows @ kernel.core, rtol=1e-12)
    np.testing.assert_allclose(kernel.times_core_transposed(rows), rows @ kernel.core.T, rtol=1e-12)
    middle = kernel.symmetric_columns
    assert middle == {"symmetric": 4, "ndpp2019": 4, "scalable": 4, "tied": None}[kind]
    if middle is not None:
        signs = np.where(np.arange(kernel.rank) < middle, 1, -1)
        np.testing.assert_array_equal(kernel.core.T, kernel.core * signs)


def test_submatrix_of_one_set_and_of_a_stack() -> None:
    rng = np.random.default_rng(1)
    V, B, D, d = (
        rng.normal(size=(7, 2)),
        rng.normal(size=(7, 4)),
        rng.normal(size=(4, 4)),
        rng.uniform(0, 1, 7),
    )
    L = np.diag(d) + V @ V.T + B @ (D - D.T) @ B.T
    kernel = Kernel.scalable(V, B, D - D.T, d)
    sets = [[4, 0, 2], [1, 2, 6]]
    np.testing.assert_allclose(full_matrix(kernel), L)
    np.testing.assert_allclose(kernel.submatrix(sets), [L[np.ix_(rows, rows)] for rows in sets])
    assert kernel.submatrix([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("factors", "core", "diagonal", "message"),
    [
        (np.ones(3), np.eye(1), np.ones(3), "shape"),
        (np.ones((3, 2)), np.eye(3), np.ones(3), "core of shape"),
        (np.ones((3, 2)), np.eye(2), np.ones(2), "diagonal of that length"),
        (np.full((3, 2), np.nan), np.eye(2), np.ones(3), "factors must be finite"),
        (np.ones((3, 2)), np.eye(2), -np.ones(3), "must not be negative"),
        (np.ones((3, 2)), -np.eye(2), np.ones(3), "positive semidefinite"),
    ],
)
def test_invalid_kernel_is_refused(
    factors: np.ndarray, core: np.ndarray, diagonal: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Kernel(factors, core, diagonal)
