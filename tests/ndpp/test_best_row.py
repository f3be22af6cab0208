"""The search for the best row against the exact scores of all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndpp import Conditional, Kernel, Tilt, condition, map_greedy
from ndpp.best_row import best_row
from ndpp.bundles.greedy import gain_score
from ndpp.kernel import BLOCK
from tests.ndpp.ndpp_reference import kernels, make_kernel, random_tilt


def best_of_all(conditional: Conditional, tilt: Tilt) -> int | None:
    scores = tilt.dense(conditional.kernel.size) * conditional.gains()
    return int(np.argmax(scores)) if scores.max() > 0 else None


@given(
    kernels(40),
    st.lists(st.integers(0, 39), max_size=12),
    st.integers(0, 1000),
    st.tuples(st.sampled_from([0.0, 0.9]), st.booleans()),
)
def test_best_row_is_the_argmax_of_all_scores(
    kernel: Kernel, cart: list[int], seed: int, mode: tuple[float, bool]
) -> None:
    omega, single = mode
    if single:
        kernel = Kernel(kernel.factors.astype(np.float32), kernel.core, kernel.diagonal)
    conditional = condition(kernel, [row % kernel.size for row in cart], decoupling=omega)
    tilt = random_tilt(np.random.default_rng(seed), kernel.size)
    assert best_row(gain_score(conditional), tilt, conditional.cart, above=0.0) == best_of_all(
        conditional, tilt
    )


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
def test_search_over_many_blocks_is_exact(shape: str, omega: float) -> None:
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
        conditional = condition(kernel, rng.integers(0, kernel.size, size), decoupling=omega)
        excluded: list[int] = []
        for _ in range(5):  # the best row, then the second best, …
            left = tilt * Tilt.excluding(excluded)
            expected = best_of_all(conditional, left)
            assert best_row(gain_score(conditional), left, conditional.cart, above=0.0) == expected
            if expected is not None:
                excluded.append(expected)


def test_bounds_rule_out_most_of_a_zipf_shaped_catalogue() -> None:
    kernel = large_kernel("zipf")
    conditional, touched = condition(kernel, [5, 50]), []
    score = gain_score(conditional)

    def counting(factors: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        touched.append(len(factors))
        return np.asarray(score.fast(factors, rows))

    found = best_row(replace(score, fast=counting), Tilt(), conditional.cart, above=0.0)
    assert sum(touched) < kernel.size / 4
    assert found == best_of_all(conditional, Tilt())


@pytest.mark.parametrize("size", [50, BLOCK + 50])
def test_ties_go_to_the_lowest_row(size: int) -> None:
    kernel = Kernel.symmetric(np.tile(np.random.default_rng(0).normal(size=(1, 3)), (size, 1)))
    conditional = condition(kernel, [])
    assert best_row(gain_score(conditional), Tilt(), conditional.cart, above=0.0) == 0
    assert best_row(gain_score(conditional), Tilt.excluding([0, 1]), conditional.cart, above=0.0) == 2


def test_no_row_if_no_score_is_above_the_limit() -> None:
    conditional = condition(Kernel.symmetric(np.eye(3) * 2), [])
    assert best_row(gain_score(conditional), Tilt(), conditional.cart, above=3.9) == 0
    assert best_row(gain_score(conditional), Tilt(), conditional.cart, above=4.0) is None


def test_tilt_for_another_catalogue_is_refused() -> None:
    kernel = make_kernel(np.random.default_rng(0), 5, "tied")
    with pytest.raises(ValueError, match="names row 7, but the catalogue has rows 0 to 4"):
        map_greedy(kernel, 2, tilt=Tilt.excluding([7]))
    with pytest.raises(ValueError, match="base has shape"):
        map_greedy(kernel, 2, tilt=Tilt(np.ones(3)))
