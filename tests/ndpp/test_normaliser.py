"""The normaliser against exact rational arithmetic, for kernels of any scale."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from ndpp import Kernel
from tests.ndpp.ndpp_reference import KINDS, make_kernel

Rows = list[list[Fraction]]


def exact_matrix(kernel: Kernel) -> Rows:
    """L as fractions, without rounding."""
    F, X, d = (
        np.vectorize(Fraction, otypes=[object])(part)
        for part in (kernel.factors, kernel.core, kernel.diagonal)
    )
    return [list(row) for row in F @ X @ F.T + np.diag(d)]


def exact_determinant(matrix: Rows) -> Fraction:
    """By elimination."""
    rows, determinant = [list(row) for row in matrix], Fraction(1)
    for pivot, own_row in enumerate(rows):
        determinant *= own_row[pivot]
        for row in rows[pivot + 1 :]:
            factor = row[pivot] / own_row[pivot]
            row[:] = [a - factor * b for a, b in zip(row, own_row, strict=True)]
    return determinant


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6, 1e18, 1e60])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_log_normaliser_at_any_scale(kind: str, diagonal: bool, scale: float) -> None:
    for size in (6, 3):
        plain = make_kernel(np.random.default_rng(size), size, kind, rank=3, diagonal=diagonal)
        for kernel in (
            Kernel(plain.factors, plain.core * scale, plain.diagonal * scale),
            Kernel(plain.factors * scale**0.5, plain.core, plain.diagonal * scale),
        ):
            matrix = exact_matrix(kernel)
            opened = [[value + (i == j) for j, value in enumerate(row)] for i, row in enumerate(matrix)]
            determinant = exact_determinant(opened)
            exact = log(determinant.numerator) - log(determinant.denominator)
            assert kernel.log_normaliser == pytest.approx(exact, rel=1e-6, abs=1e-12)
            if scale >= 1e-6:
                not_empty = log(1 - 1 / determinant)
                assert kernel.log_not_empty == pytest.approx(not_empty, rel=1e-6, abs=1e-12)
