"""Batches against the full scan of each of their carts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndpp_reference import KINDS, full_scan, kernels, make_kernel, random_tilt

from ndpp import Kernel, Tilt, condition, condition_many, top_k
from ndpp.kernel import BLOCK


def in_single_precision(kernel: Kernel) -> Kernel:
    return Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)


def assert_answers_as_the_full_scan(
    kernel: Kernel, carts: list[list[int]], k: int, tilts: list[Tilt], omega: float = 0.0
) -> None:
    found = condition_many(kernel, carts, decoupling=omega).top_k(k, tilts)
    assert len(found) == len(carts)
    for cart, tilt, ranking in zip(carts, tilts, found, strict=True):
        expected = full_scan(condition(kernel, cart, decoupling=omega), k, tilt)
        np.testing.assert_array_equal(ranking.rows, expected.rows)
        np.testing.assert_allclose(ranking.scores, expected.scores, rtol=1e-6)


@given(
    st.sampled_from(KINDS),
    st.lists(st.lists(st.integers(0, 199), max_size=12), max_size=6),
    st.integers(0, 210),
    st.integers(0, 1000),
    st.tuples(st.sampled_from([0.0, 0.9]), st.booleans(), st.booleans()),
)
def test_every_cart_is_answered_as_by_a_full_scan(
    kind: str, carts: list[list[int]], k: int, seed: int, mode: tuple[float, bool, bool]
) -> None:
    """Carts of all sizes, empty ones and ones larger than the rank, each with a tilt of its own."""
    omega, single, diagonal = mode
    rng = np.random.default_rng(seed)
    kernel = make_kernel(rng, 200, kind, rank=6, diagonal=diagonal)
    kernel = in_single_precision(kernel) if single else kernel
    if not diagonal:
        carts = [cart[:4] for cart in carts]  # beyond the rank all gains are 0 but for rounding
    assert_answers_as_the_full_scan(kernel, carts, k, [random_tilt(rng, 200) for _ in carts], omega)


@given(kernels(20), st.lists(st.lists(st.integers(0, 19), max_size=12), min_size=1, max_size=5))
def test_a_batch_survives_every_kernel(kernel: Kernel, carts: list[list[int]]) -> None:
    """Zero rows, repeated rows and huge scales: what cannot be told apart may change places, no more."""
    carts = [[row % kernel.size for row in cart] for cart in carts]
    for cart, ranking in zip(carts, condition_many(kernel, carts).top_k(5), strict=True):
        state = condition(kernel, cart)
        expected = top_k(state, 5)
        assert len(ranking.rows) == len(expected.rows)
        assert not set(ranking.rows.tolist()) & set(cart)
        scale = state.form.spread * kernel.squared_norms.max() + kernel.diagonal.max()
        np.testing.assert_allclose(ranking.scores, expected.scores, rtol=1e-6, atol=1e-9 * scale)


def test_some_carts_with_items_that_add_nothing_do_not_disturb_the_others() -> None:
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, 60, "scalable", rank=5, diagonal=True)
    factors, diagonal = kernel.factors.copy(), kernel.diagonal.copy()
    factors[7], diagonal[[7, 8]] = factors[8], 0.0
    factors[9], diagonal[9] = 0.0, 0.0
    kernel = Kernel(factors, kernel.core, diagonal)
    carts = [[1, 2, 3], [7, 8, 1], [4, 5, 6], [9, 1, 2], [3, 2, 1], [10, 11, 12], [9], []]
    batch = condition_many(kernel, carts)
    assert [len(state.ignored) for state in batch.states] == [0, 1, 0, 1, 0, 0, 1, 0]
    assert_answers_as_the_full_scan(kernel, carts, 12, [Tilt()] * len(carts))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("closeness", [1e-2, 1e-4])
def test_carts_of_nearly_equal_items_are_answered_exactly(kind: str, closeness: float) -> None:
    """Their inverses are too large for float32, in which a batch is scanned."""
    rng = np.random.default_rng(4)
    kernel = make_kernel(rng, 2 * BLOCK, kind, rank=8)
    factors = kernel.factors.copy()
    factors[1] = factors[0] * (1 + closeness * rng.normal(size=factors.shape[1]))
    kernel = in_single_precision(Kernel(factors, kernel.core, kernel.diagonal))
    assert_answers_as_the_full_scan(kernel, [[0, 1, 2], [5, 6, 7], [0, 1]], 10, [Tilt()] * 3)


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_covers_what_a_part_of_a_batch_scans(kind: str) -> None:
    """A part may be scanned in another way than the whole, which here has a cart of nearly equal items."""
    rng = np.random.default_rng(4)
    kernel = make_kernel(rng, 600, kind, rank=8)
    factors = kernel.factors.copy()
    factors[1] = factors[0] * (1 + 1e-4 * rng.normal(size=factors.shape[1]))
    kernel = in_single_precision(Kernel(factors, kernel.core, kernel.diagonal))
    carts = [[0, 1, 2], [5, 6, 7], [8], [], [9, 10, 11]]
    batch, rows = condition_many(kernel, carts), np.arange(kernel.size)
    for chosen in (np.arange(5), np.array([1, 3, 4]), np.array([0, 2])):
        gains = batch.form.only(chosen).scan(kernel.factors, slice(None))
        for cart, own in zip(chosen.tolist(), gains, strict=True):
            exact = batch.states[cart].form.exact(rows)
            pairs = np.full(kernel.size, cart)
            bound = batch.form.rounding(pairs, kernel.diagonal, kernel.squared_norms, exact=False)
            assert (np.abs(own - exact) <= bound).all()


@pytest.mark.parametrize("size", [50, 2 * BLOCK + 5])
def test_equal_items_come_in_catalogue_order_in_a_batch_too(size: int) -> None:
    rng = np.random.default_rng(0)
    V = np.tile(rng.normal(size=(1, 3)), (size, 1))
    V[20:40] = rng.normal(size=3)
    kernel = in_single_precision(Kernel.symmetric(V, np.full(size, 0.1)))
    carts = [[], [0, 1], [size - 1], [25]]
    assert_answers_as_the_full_scan(kernel, carts, 30, [Tilt(), Tilt.excluding([2, 25]), Tilt(), Tilt()])


@pytest.mark.parametrize("size", [30, BLOCK + 30])
def test_fewer_candidates_than_wanted_are_all_of_them(size: int) -> None:
    rng = np.random.default_rng(2)
    kernel = make_kernel(rng, size, "scalable", rank=6, diagonal=True)
    few = np.zeros(size)
    few[[3, 7, size - 1, size - 9]] = [1.0, 2.0, 0.5, 3.0]
    tilts = [Tilt(few), Tilt(few) * Tilt.excluding([7]), Tilt(few, np.array([3]), np.array([9.0])), Tilt()]
    carts = [[1], [size - 1, 2], [], [4, 5]]
    assert_answers_as_the_full_scan(kernel, carts, 10, tilts)
    assert [len(ranking.rows) for ranking in condition_many(kernel, carts).top_k(10, tilts)] == [4, 2, 4, 10]
    nothing = condition_many(kernel, carts).top_k(10, [Tilt(np.zeros(size))] * 4)
    assert [len(ranking.rows) for ranking in nothing] == [0, 0, 0, 0]


def test_long_lists_of_evidence_are_answered_exactly() -> None:
    """As the service asks: some hundred rows of each cart raised by large factors, others excluded."""
    rng = np.random.default_rng(6)
    size = 2 * BLOCK + 77
    norms = np.arange(1, size + 1) ** -0.5
    V, B = (rng.normal(size=(size, 10)) * norms[:, None] for _ in range(2))
    D = rng.normal(size=(10, 10))
    kernel = in_single_precision(Kernel.scalable(V, B, D - D.T, 0.1 * norms**2))
    carts = [rng.integers(0, size, count).tolist() for count in (0, 1, 2, 5, 5, 5, 9, 25)]
    shared = Tilt.popularity(kernel, 0.5)
    tilts = []
    for number, cart in enumerate(carts):
        evidence = Tilt.boosting(rng.integers(0, size, 400), rng.uniform(1, 100, 400) ** 2)
        excluded = Tilt.excluding([*rng.integers(0, 300, 40), *cart])
        tilts.append(evidence * excluded * shared if number % 2 else evidence * excluded)
    for omega in (0.0, 0.9):
        assert_answers_as_the_full_scan(kernel, carts, 10, tilts, omega)


def test_an_empty_batch_has_no_answers() -> None:
    kernel = make_kernel(np.random.default_rng(0), 5, "tied")
    assert condition_many(kernel, []).top_k(3) == []
    assert condition_many(kernel, []).gains().shape == (0, 5)
