"""Top-k and batches against the full scan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndpp_reference import full_scan, kernels, make_kernel, random_tilt

from ndpp import Kernel, Tilt, condition, condition_many, top_k
from ndpp.kernel import BLOCK
from ndpp.scan import best_rows
from ndpp.topk import gain_scoring


@given(
    kernels(40),
    st.lists(st.integers(0, 39), max_size=12),
    st.integers(0, 45),
    st.integers(0, 1000),
    st.tuples(st.sampled_from([0.0, 0.9]), st.booleans()),
)
def test_top_k_equals_the_full_scan(
    kernel: Kernel, cart: list[int], k: int, seed: int, mode: tuple[float, bool]
) -> None:
    omega, single = mode
    if single:
        kernel = Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)
    state = condition(kernel, [row % kernel.size for row in cart], decoupling=omega)
    tilt = random_tilt(np.random.default_rng(seed), kernel.size)
    expected, found = full_scan(state, k, tilt), top_k(state, k, tilt)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.scores, expected.scores)


@given(
    kernels(20),
    st.lists(st.lists(st.integers(0, 19), max_size=6), max_size=5),
    st.sampled_from([0.0, 0.9]),
)
def test_a_batch_equals_its_single_carts(kernel: Kernel, carts: list[list[int]], omega: float) -> None:
    carts = [[row % kernel.size for row in cart] for cart in carts]
    batch = condition_many(kernel, carts, decoupling=omega)
    singles = [condition(kernel, cart, decoupling=omega) for cart in carts]
    assert batch.gains().shape == (len(carts), kernel.size)
    for number, single in enumerate(singles):
        scale = single.form.spread * kernel.squared_norms.max() + kernel.diagonal.max()
        np.testing.assert_allclose(batch.gains()[number], single.gains(), rtol=1e-7, atol=1e-9 * scale)
        np.testing.assert_allclose(
            batch.gains(slice(1, 4))[number], batch.gains()[number, 1:4], rtol=1e-9, atol=1e-9 * scale
        )
    for ranking, single in zip(batch.top_k(3), singles, strict=True):
        np.testing.assert_array_equal(ranking.rows, top_k(single, 3).rows)


def large_kernel(shape: str) -> Kernel:
    """Several blocks of rows: popularity falls as in real catalogues, or not at all."""
    rng = np.random.default_rng(8)
    size, rank = 3 * BLOCK + 100, 12
    norms = np.arange(1, size + 1) ** -0.5 if shape == "zipf" else np.ones(size)
    if shape == "shuffled":
        norms = rng.permutation(np.arange(1, size + 1) ** -0.5)
    V, B = (rng.normal(size=(size, rank)) * norms[:, None] for _ in range(2))
    D = rng.normal(size=(rank, rank))
    kernel = Kernel.scalable(V, B, D - D.T, 0.1 * norms**2)
    return Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)


@pytest.mark.parametrize("shape", ["zipf", "flat", "shuffled"])
@pytest.mark.parametrize("omega", [0.0, 0.9])
def test_a_scan_over_many_blocks_is_exact(shape: str, omega: float) -> None:
    kernel, rng = large_kernel(shape), np.random.default_rng(9)
    filtered = Tilt.only(rng.random(kernel.size) < 0.01)
    listed = Tilt.boosting(rng.integers(0, kernel.size, 300), rng.uniform(0, 50, 300))
    tilts = [
        Tilt(),
        filtered,
        listed,
        filtered * listed,
        Tilt.popularity(kernel, 0.7),
        Tilt.popularity(kernel, 1.5),
    ]
    carts = [rng.integers(0, kernel.size, size) for size in (0, 1, 5, 5, 8, 30)]
    states = [condition(kernel, cart, decoupling=omega) for cart in carts]
    together = condition_many(kernel, carts, decoupling=omega).top_k(10, tilts)
    for state, tilt, from_batch in zip(states, tilts, together, strict=True):
        expected = full_scan(state, 10, tilt)
        np.testing.assert_array_equal(top_k(state, 10, tilt).rows, expected.rows)
        np.testing.assert_array_equal(from_batch.rows, expected.rows)
        np.testing.assert_allclose(from_batch.scores, expected.scores, rtol=1e-9)


def test_a_zipf_shaped_catalogue_is_not_scanned_to_its_end() -> None:
    kernel = large_kernel("zipf")
    state = condition(kernel, [5, 50])
    scoring, touched = gain_scoring(state), []

    def counting(factors: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        touched.append(len(factors))
        return np.asarray(scoring.scan(factors, rows))

    found = best_rows(replace(scoring, scan=counting), 10, Tilt(), state.cart)
    assert sum(touched) < kernel.size / 4
    np.testing.assert_array_equal(found.rows, top_k(state, 10).rows)


def test_single_precision_and_double_precision_agree_on_large_carts() -> None:
    kernel = large_kernel("zipf")
    double = Kernel(kernel.factors.astype(np.float64), kernel.core, kernel.diagonal)
    rng = np.random.default_rng(1)
    for size in (1, 10, 40, 95):
        cart = rng.integers(0, 1000, size)
        single, exact = (top_k(condition(k, cart, decoupling=0.9), 10) for k in (kernel, double))
        np.testing.assert_array_equal(single.rows, exact.rows)


def test_equal_items_come_in_catalogue_order() -> None:
    kernel = Kernel.symmetric(np.tile(np.random.default_rng(0).normal(size=(1, 3)), (50, 1)))
    assert list(top_k(condition(kernel, []), 10).rows) == list(range(10))


def test_a_batch_wants_one_tilt_a_cart() -> None:
    batch = condition_many(make_kernel(np.random.default_rng(0), 5, "tied"), [[0], [1]])
    with pytest.raises(ValueError, match="2 carts need one tilt each, got 1"):
        batch.top_k(2, [Tilt()])


def test_a_tilt_for_another_catalogue_is_refused() -> None:
    state = condition(make_kernel(np.random.default_rng(0), 5, "tied"), [0])
    with pytest.raises(ValueError, match="names row 7, but the catalogue has rows 0 to 4"):
        top_k(state, 2, Tilt.excluding([7]))
    with pytest.raises(ValueError, match="base has shape"):
        top_k(state, 2, Tilt(np.ones(3)))
