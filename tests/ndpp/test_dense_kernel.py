"""Gains from the dense kernel against determinants and against the gains from F in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndpp import Conditional, DenseKernel, Kernel, condition
from tests.ndpp.ndpp_reference import dense_gains, full_matrix, kernels, make_kernel, well_conditioned


def rounding(conditional: Conditional) -> np.ndarray:
    """A bound on the error of gains in float32.

    No entry exceeds 1, so the terms of the sum are at most Σ_ab |s_a (L̃_Y⁻¹)_ab s_b| together, each rounded
    no more often than in two sums over the cart.
    """
    scales = conditional.kernel.item_scales
    inverse = conditional.inverse * np.outer(scales[conditional.used], scales[conditional.used])
    steps = 2 * len(conditional.used) + 8
    bounds: np.ndarray = steps * np.finfo(np.float32).eps * (1 + np.abs(inverse).sum()) * scales**2
    return bounds


OMEGAS = st.sampled_from([0.0, 0.3, 0.9, 1.0])


@given(kernels(20), st.lists(st.integers(0, 19), max_size=20), OMEGAS, st.booleans())
def test_gains_are_within_the_rounding_bound(
    kernel: Kernel, cart: list[int], omega: float, single: bool
) -> None:
    """Carts from none to beyond the rank, repeated and nearly repeated rows, huge and tiny scales."""
    if single:
        kernel = Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)
    conditional = condition(kernel, [row % kernel.size for row in cart], decoupling=omega)
    rows = np.arange(kernel.size)
    gains, errors = DenseKernel.of(kernel).gains(conditional), rounding(conditional)
    for exact in (conditional.exact_gains(rows), conditional.gains_of(rows)):
        assert (np.abs(np.maximum(gains, 0.0) - np.maximum(exact, 0.0)) <= errors).all()


@given(kernels(), st.data(), OMEGAS)
def test_gains_equal_ratios_of_determinants(kernel: Kernel, data: st.DataObject, omega: float) -> None:
    cart = data.draw(st.lists(st.integers(0, kernel.size - 1), max_size=kernel.size, unique=True))
    L = full_matrix(kernel)
    if not well_conditioned(L, cart):
        return
    conditional = condition(kernel, cart, decoupling=omega)
    gains, errors = DenseKernel.of(kernel).gains(conditional), rounding(conditional)
    others = np.setdiff1d(np.arange(kernel.size), cart)
    expected, slack = dense_gains(L, cart, omega), 1e-8 * np.abs(L).max(initial=1e-300)
    assert (np.abs(np.maximum(gains, 0.0) - expected)[others] <= errors[others] + slack).all()


def test_items_with_zero_or_tiny_weights() -> None:
    kernel = Kernel.symmetric(np.array([[0.0, 0.0], [1e-30, 1e-30], [1e18, 2e18]]))
    dense = DenseKernel.of(kernel)
    assert np.isfinite(dense.forward).all()
    gains = dense.gains(condition(kernel, [2]))
    assert gains[0] == 0
    assert gains[1] == pytest.approx(2e-60 * (1 - 0.9), rel=1e-4)


def test_dense_kernel_suits_carts_up_to_the_rank() -> None:
    dense = DenseKernel.of(make_kernel(np.random.default_rng(0), 8, "symmetric", rank=4))
    assert dense.suits(4)
    assert not dense.suits(5)
