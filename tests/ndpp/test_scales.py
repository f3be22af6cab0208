"""Statements about the whole basket, against exact arithmetic, for kernels of any scale."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from ndpp_reference import KINDS, make_kernel

from ndpp import Kernel, condition

Rows = list[list[Fraction]]


def exact_matrix(kernel: Kernel) -> Rows:
    """L in fractions: nothing is rounded."""
    F, X, d = (
        np.vectorize(Fraction, otypes=[object])(part)
        for part in (kernel.factors, kernel.core, kernel.diagonal)
    )
    return [list(row) for row in F @ X @ F.T + np.diag(d)]


def reduced(matrix: Rows, pivots: list[int]) -> tuple[Fraction, Rows]:
    """The determinant of the pivots' block, and the Schur complement in place of the other rows."""
    rows, determinant = [list(row) for row in matrix], Fraction(1)
    for pivot in pivots:
        own = rows[pivot][pivot]
        determinant *= own
        rows = [
            row
            if number == pivot
            else [a - row[pivot] * b / own for a, b in zip(row, rows[pivot], strict=True)]
            for number, row in enumerate(rows)
        ]
    return determinant, rows


def log_of(number: Fraction) -> float:
    return log(number.numerator) - log(number.denominator)


def exact(kernel: Kernel, cart: list[int]) -> tuple[float, float, list[float]]:
    """log of 1 / det(I + L^Y), the expected further items, and the inclusion of every item."""
    _, rows = reduced(exact_matrix(kernel), cart)
    rest = [row for row in range(kernel.size) if row not in cart]
    opened = [[rows[i][j] + (i == j) for j in rest] for i in rest]
    determinant, _ = reduced(opened, list(range(len(rest))))
    inclusion = []
    for place in range(len(rest)):  # 1 − (I + L^Y)⁻¹_ii, by leaving the item out
        others = [row for row in range(len(rest)) if row != place]
        without, _ = reduced(opened, others)
        inclusion.append(float(1 - without / determinant))
    return -log_of(determinant), sum(inclusion), inclusion


@pytest.mark.parametrize("scale", [1e-30, 1e6, 1e18, 1e60])
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_of_the_basket_is_right_at_any_scale(kind: str, diagonal: bool, scale: float) -> None:
    for size, cart in ((6, []), (6, [4]), (6, [5, 2]), (3, [1])):
        plain = make_kernel(np.random.default_rng(size), size, kind, rank=3, diagonal=diagonal)
        for kernel in (
            Kernel(plain.factors, plain.core * scale, plain.diagonal * scale),
            Kernel(plain.factors * scale**0.5, plain.core, plain.diagonal * scale),
        ):
            state = condition(kernel, cart)
            log_complete, further, inclusion = exact(kernel, cart)
            assert state.completeness == pytest.approx(exp(log_complete), rel=1e-6, abs=1e-300)
            assert state.expected_further == pytest.approx(further, rel=1e-6)
            rest = [row for row in range(size) if row not in cart]
            np.testing.assert_allclose(state.inclusion(rest), inclusion, rtol=1e-6, atol=1e-6)
            if not cart:
                assert kernel.log_normaliser == pytest.approx(-log_complete, rel=1e-6)
