"""Conditioning on batches of carts against conditioning on each cart alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndpp import Kernel, condition
from ndpp.batch import condition_many
from tests.ndpp.ndpp_reference import KINDS, dense_gains, full_matrix, kernels, make_kernel


def in_single_precision(kernel: Kernel) -> Kernel:
    return Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)


def assert_gains_are_those_of_single_carts(
    kernel: Kernel, carts: list[list[int]], omega: float = 0.0, *, tolerance: float = 16.0
) -> None:
    """Equal within `tolerance` rounding bounds: multiplying the inverse with images of F rounds more."""
    batch = condition_many(kernel, carts, decoupling=omega)
    gains, rows = batch.all_fast_gains(), np.arange(kernel.size)
    assert gains.shape == (len(carts), kernel.size)
    assert gains.dtype == kernel.factors.dtype
    for cart, own, conditional in zip(carts, gains, batch.conditionals, strict=True):
        alone = condition(kernel, cart, decoupling=omega)
        assert list(conditional.cart) == list(alone.cart)
        assert list(conditional.used) == list(alone.used)
        bound = tolerance * alone.rounding(rows, kernel.factors.dtype)
        assert (np.abs(own - alone.exact_gains(rows)) <= bound).all()


@given(
    st.sampled_from(KINDS),
    st.lists(st.lists(st.integers(0, 199), max_size=12), max_size=6),
    st.integers(0, 1000),
    st.tuples(st.sampled_from([0.0, 0.9]), st.booleans(), st.booleans()),
)
def test_batch_equals_single_carts(
    kind: str, carts: list[list[int]], seed: int, mode: tuple[float, bool, bool]
) -> None:
    """Carts of all sizes, empty ones and ones larger than the rank, with repeated rows."""
    omega, single, diagonal = mode
    kernel = make_kernel(np.random.default_rng(seed), 200, kind, rank=6, diagonal=diagonal)
    assert_gains_are_those_of_single_carts(in_single_precision(kernel) if single else kernel, carts, omega)


@given(
    kernels(20),
    st.lists(st.lists(st.integers(0, 19), max_size=12), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.9]),
)
def test_batch_equals_single_carts_for_degenerate_kernels(
    kernel: Kernel, carts: list[list[int]], omega: float
) -> None:
    """Zero rows, repeated rows and huge scales."""
    carts = [[row % kernel.size for row in cart] for cart in carts]
    assert_gains_are_those_of_single_carts(kernel, carts, omega)


@pytest.mark.parametrize("kind", KINDS)
def test_gains_of_a_batch_equal_ratios_of_determinants(kind: str) -> None:
    kernel = make_kernel(np.random.default_rng(1), 30, kind, diagonal=True)
    carts = [[], [3], [4, 9, 1], [12, 0, 7], [5, 6]]
    for cart, own in zip(carts, condition_many(kernel, carts, decoupling=0.5).all_fast_gains(), strict=True):
        own[cart] = 0.0
        np.testing.assert_allclose(own, dense_gains(full_matrix(kernel), cart, 0.5), rtol=1e-9)


def test_carts_with_ignored_items_in_a_batch() -> None:
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, 60, "scalable", rank=5, diagonal=True)
    factors, diagonal = kernel.factors.copy(), kernel.diagonal.copy()
    factors[7], diagonal[[7, 8]] = factors[8], 0.0
    factors[9], diagonal[9] = 0.0, 0.0
    kernel = Kernel(factors, kernel.core, diagonal)
    carts = [[1, 2, 3], [7, 8, 1], [4, 5, 6], [9, 1, 2], [3, 2, 1], [10, 11, 12], [9], []]
    batch = condition_many(kernel, carts)
    assert [len(conditional.ignored) for conditional in batch.conditionals] == [0, 1, 0, 1, 0, 0, 1, 0]
    assert_gains_are_those_of_single_carts(kernel, carts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("closeness", [1e-2, 1e-4])
def test_nearly_equal_items_in_a_batch_keep_their_precision(kind: str, closeness: float) -> None:
    """The inverse is too large for float32, and the catalogue has several strips of rows."""
    rng = np.random.default_rng(4)
    kernel = make_kernel(rng, 1200, kind, rank=8)
    factors = kernel.factors.copy()
    factors[1] = factors[0] * (1 + closeness * rng.normal(size=factors.shape[1]))
    kernel = in_single_precision(Kernel(factors, kernel.core, kernel.diagonal))
    assert_gains_are_those_of_single_carts(kernel, [[0, 1, 2], [5, 6, 7], [0, 1], [], [8]], tolerance=1.0)


def test_empty_batch() -> None:
    batch = condition_many(make_kernel(np.random.default_rng(0), 5, "tied"), [])
    assert batch.all_fast_gains().shape == (0, 5)
    assert batch.conditionals == ()
