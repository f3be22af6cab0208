"""The bounded scan against the exact scores of all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndpp_reference import kernels, make_kernel, random_tilt

from ndpp import Conditional, Kernel, Tilt, condition, map_greedy
from ndpp.kernel import BLOCK
from ndpp.scan import Scoring, best_row


def scoring_of(state: Conditional) -> Scoring:
    form = state.form
    return Scoring(state.kernel, form.scan, form.rounding, form.gains, lambda: (1.0, form.growth))


def best_of_all(state: Conditional, tilt: Tilt) -> int | None:
    scores = tilt.dense(state.kernel.size) * state.gains()
    return int(np.argmax(scores)) if scores.max() > 0 else None


@given(
    kernels(40),
    st.lists(st.integers(0, 39), max_size=12),
    st.integers(0, 1000),
    st.tuples(st.sampled_from([0.0, 0.9]), st.booleans()),
)
def test_best_row_equals_the_full_scan(
    kernel: Kernel, cart: list[int], seed: int, mode: tuple[float, bool]
) -> None:
    omega, single = mode
    if single:
        kernel = Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)
    state = condition(kernel, [row % kernel.size for row in cart], decoupling=omega)
    tilt = random_tilt(np.random.default_rng(seed), kernel.size)
    assert best_row(scoring_of(state), tilt, state.cart, above=0.0) == best_of_all(state, tilt)


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
    filtered = Tilt((rng.random(kernel.size) < 0.01).astype(np.float64))
    listed = Tilt.boosting(rng.integers(0, kernel.size, 300), rng.uniform(0, 50, 300))
    tilts = [
        Tilt(),
        filtered,
        listed,
        filtered * listed,
        Tilt.popularity(kernel, 0.7),
        Tilt.popularity(kernel, 1.5),
        Tilt(np.zeros(kernel.size)),
    ]
    for size, tilt in zip((0, 1, 5, 5, 8, 30, 2), tilts, strict=True):
        state = condition(kernel, rng.integers(0, kernel.size, size), decoupling=omega)
        excluded: list[int] = []
        for _ in range(5):  # the best row, then the second best, …
            left = tilt * Tilt.excluding(excluded)
            expected = best_of_all(state, left)
            assert best_row(scoring_of(state), left, state.cart, above=0.0) == expected
            if expected is not None:
                excluded.append(expected)


def test_a_zipf_shaped_catalogue_is_not_scanned_to_its_end() -> None:
    kernel = large_kernel("zipf")
    state, touched = condition(kernel, [5, 50]), []
    scoring = scoring_of(state)

    def counting(factors: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        touched.append(len(factors))
        return np.asarray(scoring.scan(factors, rows))

    found = best_row(replace(scoring, scan=counting), Tilt(), state.cart, above=0.0)
    assert sum(touched) < kernel.size / 4
    assert found == best_of_all(state, Tilt())


@pytest.mark.parametrize("size", [50, BLOCK + 50])
def test_of_equal_items_the_first_of_the_catalogue_is_taken(size: int) -> None:
    kernel = Kernel.symmetric(np.tile(np.random.default_rng(0).normal(size=(1, 3)), (size, 1)))
    state = condition(kernel, [])
    assert best_row(scoring_of(state), Tilt(), state.cart, above=0.0) == 0
    assert best_row(scoring_of(state), Tilt.excluding([0, 1]), state.cart, above=0.0) == 2


def test_a_row_that_is_not_above_the_limit_is_not_taken() -> None:
    state = condition(Kernel.symmetric(np.eye(3) * 2), [])
    assert best_row(scoring_of(state), Tilt(), state.cart, above=3.9) == 0
    assert best_row(scoring_of(state), Tilt(), state.cart, above=4.0) is None


def test_a_tilt_for_another_catalogue_is_refused() -> None:
    kernel = make_kernel(np.random.default_rng(0), 5, "tied")
    with pytest.raises(ValueError, match="names row 7, but the catalogue has rows 0 to 4"):
        map_greedy(kernel, 2, tilt=Tilt.excluding([7]))
    with pytest.raises(ValueError, match="base has shape"):
        map_greedy(kernel, 2, tilt=Tilt(np.ones(3)))
