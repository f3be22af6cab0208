"""Conditioning against dense determinants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndpp_reference import (
    KINDS,
    dense_gains,
    full_matrix,
    kernels,
    make_kernel,
    well_conditioned,
)

from ndpp import Kernel, condition

OMEGAS = st.sampled_from([0.0, 0.3, 0.9, 1.0])


def draw_cart(data: st.DataObject, size: int) -> list[int]:
    return data.draw(st.lists(st.integers(0, size - 1), max_size=size, unique=True))


@given(kernels(), st.data(), OMEGAS)
def test_gains_equal_ratios_of_determinants(kernel: Kernel, data: st.DataObject, omega: float) -> None:
    cart = draw_cart(data, kernel.size)
    L = full_matrix(kernel)
    state = condition(kernel, cart, decoupling=omega)
    scale = np.abs(L).max(initial=1e-300)
    if well_conditioned(L, cart):
        np.testing.assert_allclose(state.gains(), dense_gains(L, cart, omega), rtol=1e-6, atol=1e-8 * scale)
        assert not len(state.ignored)
    fast = np.maximum(state.form.all_gains(), 0.0)
    fast[cart] = 0.0
    bound = state.form.rounding(slice(None), np.dtype(np.float64))
    assert (np.abs(fast - state.gains()) <= 2 * bound).all()


@given(kernels(), st.data(), OMEGAS)
def test_nothing_is_ever_negative_infinite_or_not_a_number(
    kernel: Kernel, data: st.DataObject, omega: float
) -> None:
    state = condition(kernel, draw_cart(data, kernel.size), decoupling=omega)
    assert np.isfinite(state.gains()).all()
    assert (state.gains() >= 0).all()


@given(kernels(), st.data(), OMEGAS)
def test_the_order_of_a_cart_and_repeats_do_not_matter(
    kernel: Kernel, data: st.DataObject, omega: float
) -> None:
    cart = draw_cart(data, kernel.size)
    shuffled = data.draw(st.permutations(cart))
    one, other = (condition(kernel, c, decoupling=omega) for c in (cart, [*shuffled, *cart]))
    np.testing.assert_array_equal(one.gains(), other.gains())
    assert set(one.ignored) == set(other.ignored)
    assert list(other.cart) == shuffled


@given(kernels(), st.data(), st.sampled_from([0.0, 0.9, 1.0]))
def test_contributions_are_what_leaving_an_item_out_changes(
    kernel: Kernel, data: st.DataObject, omega: float
) -> None:
    cart = draw_cart(data, kernel.size - 1) if kernel.size > 1 else []
    row = kernel.size - 1
    if row in cart:
        return
    state = condition(kernel, cart, decoupling=omega)
    expected = [
        state.form.exact(np.array([row]))[0]
        - condition(kernel, [c for c in cart if c != y], decoupling=omega).form.exact(np.array([row]))[0]
        for y in state.cart
    ]
    scale = (state.form.spread + kernel.core_norm) * kernel.squared_norms.max() + kernel.diagonal.max()
    np.testing.assert_allclose(state.contributions(row), np.array(expected), rtol=1e-4, atol=1e-7 * scale)


def test_contributions_name_complements_and_substitutes() -> None:
    V = np.array([[1.0, 0, 0], [1, 0.2, 0], [0, 0, 1.0], [0, 0, 1.0]])
    B = np.array([[0.0, 0], [0, 0], [1, 0], [0, 1.0]])
    kernel = Kernel.scalable(V, B, np.array([[0, 2.0], [-2, 0]]))
    state = condition(kernel, [0, 2])
    assert state.contributions(1)[0] < 0  # 1 is nearly 0
    assert state.contributions(3)[1] > 0  # 2 attracts 3
    with pytest.raises(ValueError, match="row 2 is in the cart"):
        state.contributions(2)


def test_items_without_weight_of_their_own_condition_as_a_pair() -> None:
    """V = 0: every single determinant is 0, yet a pair has one, so it must not be skipped."""
    rng = np.random.default_rng(0)
    D = rng.normal(size=(4, 4))
    kernel = Kernel.scalable(np.zeros((6, 1)), rng.normal(size=(6, 4)), D - D.T)
    L = full_matrix(kernel)
    state = condition(kernel, [1, 4])
    assert list(state.used) == [1, 4]
    np.testing.assert_allclose(state.gains(), dense_gains(L, [1, 4], 0.0), atol=1e-9)
    assert list(condition(kernel, [1]).ignored) == [1]
    assert condition(kernel, [1]).contributions(0) == pytest.approx([0.0])
    assert np.isfinite(state.contributions(0)).all()


def test_a_repeated_item_is_ignored_and_says_so() -> None:
    V = np.array([[1.0, 0], [1.0, 0], [0.5, 1.0]])
    kernel = Kernel.symmetric(V)
    both = condition(kernel, [1, 0])
    assert len(both.ignored) == 1
    np.testing.assert_allclose(both.gains(), condition(kernel, [0]).gains(), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_carts_beyond_the_rank_have_no_gains(kind: str) -> None:
    kernel = make_kernel(np.random.default_rng(1), 30, kind, rank=2)
    state = condition(kernel, list(range(12)))
    assert (state.gains() == 0).all()
    with_diagonal = condition(Kernel(kernel.factors, kernel.core, np.full(30, 0.1)), list(range(12)))
    assert (with_diagonal.gains()[12:] >= 0.1 - 1e-9).all()


@pytest.mark.parametrize(
    ("cart", "message"),
    [([9], "cart row 9 is not in the catalogue, whose rows are 0 to 2"), ([0.5], "whole numbers")],
)
def test_a_wrong_cart_is_refused_in_one_sentence(cart: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        condition(Kernel.symmetric(np.eye(3)), cart)


def test_a_wrong_decoupling_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        condition(Kernel.symmetric(np.eye(3)), [], decoupling=1.5)
