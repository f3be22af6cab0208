"""The table of pairs against dense determinants and against the float64 form it stands in for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndpp_reference import dense_gains, full_matrix, kernels, make_kernel, well_conditioned

from ndpp import Conditional, Kernel, PairTable, condition


def rounding(state: Conditional) -> np.ndarray:
    """How far rounding to float32 can move the gains.

    No entry exceeds 1, so the terms of the sum are at most Σ_ab |s_a (L̃_Y⁻¹)_ab s_b| together, each rounded
    no more often than in two sums over the cart.
    """
    scales = state.kernel.item_scales
    inverse = state.inverse * np.outer(scales[state.used], scales[state.used])
    steps = 2 * len(state.used) + 8
    bounds: np.ndarray = steps * np.finfo(np.float32).eps * (1 + np.abs(inverse).sum()) * scales**2
    return bounds


OMEGAS = st.sampled_from([0.0, 0.3, 0.9, 1.0])


@given(kernels(20), st.lists(st.integers(0, 19), max_size=20), OMEGAS, st.booleans())
def test_gains_lie_within_their_errors(kernel: Kernel, cart: list[int], omega: float, single: bool) -> None:
    """Carts from none to beyond the rank, repeated and nearly repeated rows, huge and tiny scales."""
    if single:
        kernel = Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)
    state = condition(kernel, [row % kernel.size for row in cart], decoupling=omega)
    rows = np.arange(kernel.size)
    gains, errors = PairTable.of(kernel).gains(state), rounding(state)
    for exact in (state.form.exact(rows), state.form.gains(rows)):
        assert (np.abs(np.maximum(gains, 0.0) - np.maximum(exact, 0.0)) <= errors).all()


@given(kernels(), st.data(), OMEGAS)
def test_gains_equal_ratios_of_determinants(kernel: Kernel, data: st.DataObject, omega: float) -> None:
    cart = data.draw(st.lists(st.integers(0, kernel.size - 1), max_size=kernel.size, unique=True))
    L = full_matrix(kernel)
    if not well_conditioned(L, cart):
        return
    state = condition(kernel, cart, decoupling=omega)
    gains, errors = PairTable.of(kernel).gains(state), rounding(state)
    others = np.setdiff1d(np.arange(kernel.size), cart)
    expected, slack = dense_gains(L, cart, omega), 1e-8 * np.abs(L).max(initial=1e-300)
    assert (np.abs(np.maximum(gains, 0.0) - expected)[others] <= errors[others] + slack).all()


def test_items_without_any_weight_have_no_gain() -> None:
    kernel = Kernel.symmetric(np.array([[0.0, 0.0], [1e-30, 1e-30], [1e18, 2e18]]))
    table = PairTable.of(kernel)
    assert np.isfinite(table.forward).all()
    gains = table.gains(condition(kernel, [2]))
    assert gains[0] == 0
    assert gains[1] == pytest.approx(2e-60 * (1 - 0.9), rel=1e-4)


def test_the_table_suits_carts_up_to_the_rank() -> None:
    table = PairTable.of(make_kernel(np.random.default_rng(0), 8, "symmetric", rank=4))
    assert table.suits(4)
    assert not table.suits(5)
