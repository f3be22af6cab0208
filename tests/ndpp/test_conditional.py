"""Conditioning against dense determinants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndpp import Kernel, condition
from tests.ndpp.ndpp_reference import (
    KINDS,
    dense_gains,
    full_matrix,
    kernels,
    make_kernel,
    well_conditioned,
)

OMEGAS = st.sampled_from([0.0, 0.3, 0.9, 1.0])


def draw_cart(data: st.DataObject, size: int) -> list[int]:
    return data.draw(st.lists(st.integers(0, size - 1), max_size=size, unique=True))


@given(kernels(), st.data(), OMEGAS)
def test_gains_equal_ratios_of_determinants(kernel: Kernel, data: st.DataObject, omega: float) -> None:
    cart = draw_cart(data, kernel.size)
    L = full_matrix(kernel)
    conditional = condition(kernel, cart, decoupling=omega)
    scale = np.abs(L).max(initial=1e-300)
    if well_conditioned(L, cart):
        np.testing.assert_allclose(
            conditional.gains(), dense_gains(L, cart, omega), rtol=1e-6, atol=1e-8 * scale
        )
        assert not len(conditional.ignored)
    fast = np.maximum(conditional.all_fast_gains(), 0.0)
    fast[cart] = 0.0
    bound = conditional.rounding(slice(None), np.dtype(np.float64))
    assert (np.abs(fast - conditional.gains()) <= 2 * bound).all()


@given(kernels(), st.data(), OMEGAS)
def test_gains_are_finite_and_not_negative(kernel: Kernel, data: st.DataObject, omega: float) -> None:
    conditional = condition(kernel, draw_cart(data, kernel.size), decoupling=omega)
    assert np.isfinite(conditional.gains()).all()
    assert (conditional.gains() >= 0).all()


@given(kernels(), st.data(), OMEGAS)
def test_order_and_repetitions_in_a_cart_do_not_matter(
    kernel: Kernel, data: st.DataObject, omega: float
) -> None:
    cart = draw_cart(data, kernel.size)
    shuffled = data.draw(st.permutations(cart))
    one, other = (condition(kernel, c, decoupling=omega) for c in (cart, [*shuffled, *cart]))
    np.testing.assert_array_equal(one.gains(), other.gains())
    assert set(one.ignored) == set(other.ignored)
    assert list(other.cart) == shuffled


@given(kernels(), st.data(), st.sampled_from([0.0, 0.9, 1.0]))
def test_contributions_equal_the_change_without_the_item(
    kernel: Kernel, data: st.DataObject, omega: float
) -> None:
    cart = draw_cart(data, kernel.size - 1) if kernel.size > 1 else []
    row = kernel.size - 1
    if row in cart:
        return
    conditional = condition(kernel, cart, decoupling=omega)
    expected = [
        conditional.exact_gains(np.array([row]))[0]
        - condition(kernel, [c for c in cart if c != y], decoupling=omega).exact_gains(np.array([row]))[0]
        for y in conditional.cart
    ]
    scale = (conditional.spread + kernel.core_norm) * kernel.squared_norms.max() + kernel.diagonal.max()
    np.testing.assert_allclose(
        conditional.contributions(row), np.array(expected), rtol=1e-4, atol=1e-7 * scale
    )


def test_sign_of_contributions_for_complements_and_substitutes() -> None:
    V = np.array([[1.0, 0, 0], [1, 0.2, 0], [0, 0, 1.0], [0, 0, 1.0]])
    B = np.array([[0.0, 0], [0, 0], [1, 0], [0, 1.0]])
    kernel = Kernel.scalable(V, B, np.array([[0, 2.0], [-2, 0]]))
    conditional = condition(kernel, [0, 2])
    assert conditional.contributions(1)[0] < 0  # item 1 is nearly a copy of item 0
    assert conditional.contributions(3)[1] > 0  # item 2 attracts item 3
    with pytest.raises(ValueError, match="row 2 is in the cart"):
        conditional.contributions(2)


def test_conditioning_on_a_pair_of_items_with_zero_weight() -> None:
    """With V = 0 the determinant of every single item is 0, but that of a pair is not."""
    rng = np.random.default_rng(0)
    D = rng.normal(size=(4, 4))
    kernel = Kernel.scalable(np.zeros((6, 1)), rng.normal(size=(6, 4)), D - D.T)
    L = full_matrix(kernel)
    conditional = condition(kernel, [1, 4])
    assert list(conditional.used) == [1, 4]
    np.testing.assert_allclose(conditional.gains(), dense_gains(L, [1, 4], 0.0), atol=1e-9)
    assert list(condition(kernel, [1]).ignored) == [1]
    assert condition(kernel, [1]).contributions(0) == pytest.approx([0.0])
    assert np.isfinite(conditional.contributions(0)).all()


def test_duplicate_of_a_cart_item_is_ignored() -> None:
    V = np.array([[1.0, 0], [1.0, 0], [0.5, 1.0]])
    kernel = Kernel.symmetric(V)
    both = condition(kernel, [1, 0])
    assert len(both.ignored) == 1
    np.testing.assert_allclose(both.gains(), condition(kernel, [0]).gains(), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gains_of_carts_larger_than_the_rank(kind: str) -> None:
    kernel = make_kernel(np.random.default_rng(1), 30, kind, rank=2)
    conditional = condition(kernel, list(range(12)))
    assert (conditional.gains() == 0).all()
    with_diagonal = condition(Kernel(kernel.factors, kernel.core, np.full(30, 0.1)), list(range(12)))
    assert (with_diagonal.gains()[12:] >= 0.1 - 1e-9).all()


@pytest.mark.parametrize(
    ("cart", "message"),
    [([9], "cart row 9 is not in the catalogue, whose rows are 0 to 2"), ([0.5], "whole numbers")],
)
def test_invalid_cart_is_refused(cart: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        condition(Kernel.symmetric(np.eye(3)), cart)


def test_invalid_decoupling_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        condition(Kernel.symmetric(np.eye(3)), [], decoupling=1.5)
