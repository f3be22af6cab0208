"""MAP methods against dense determinants."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndpp import (
    Bundle,
    Kernel,
    Tilt,
    map_exact,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
)
from tests.ndpp.ndpp_reference import KINDS, best_set, dense_conditional, kernels, make_kernel, random_tilt

Method = Callable[..., Bundle]
METHODS: dict[str, Callable[[], Method]] = {
    "greedy": lambda: map_greedy,
    "local_search": lambda: map_local_search,
    "exact": lambda: map_exact,
    "stochastic": lambda: partial(map_stochastic_greedy, rng=np.random.default_rng(0)),
    "mcmc": lambda: partial(map_mcmc, rng=np.random.default_rng(0)),
}


def det(K: np.ndarray, items: object) -> float:
    rows = list(items)  # type: ignore[call-overload]
    return float(np.linalg.det(K[np.ix_(rows, rows)]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("omega", [0.0, 0.9])
def test_every_method_keeps_the_contract(method: str, kind: str, omega: float) -> None:
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, 12, kind, rank=6, diagonal=True)
    cart, tilt = [4, 7], Tilt(rng.uniform(0.5, 2, 12)) * Tilt.excluding([0, 4]) * Tilt.boosting([3], 1.5)
    bundle = METHODS[method]()(kernel, 4, cart=cart, tilt=tilt, decoupling=omega)
    K = dense_conditional(kernel, cart, tilt, omega)
    assert len(set(bundle.items)) == 4
    assert not set(bundle.items) & {0, 4, 7}
    assert bundle.log_det == pytest.approx(np.log(det(K, bundle.items)))
    minors = [det(K, bundle.items[:size]) for size in range(5)]
    np.testing.assert_allclose(bundle.gains, np.array(minors[1:]) / minors[:-1], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@given(kernels(8), st.integers(0, 10), st.integers(0, 1000))
def test_odd_kernels_and_sizes_never_break_a_method(method: str, kernel: Kernel, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tilt = random_tilt(rng, kernel.size)
    cart = [int(row) for row in rng.integers(0, kernel.size, rng.integers(0, 3))]
    bundle = METHODS[method]()(kernel, k, cart=cart, tilt=tilt)
    candidates = set(np.flatnonzero(tilt.dense(kernel.size) > 0)) - set(cart)
    assert set(bundle.items) <= candidates
    assert len(set(bundle.items)) == len(bundle.items) == len(bundle.gains) <= k
    assert np.isfinite(bundle.log_det)
    assert np.isfinite(bundle.gains).all()
    assert (bundle.gains > 0).all()


@given(kernels(8), st.integers(1, 4))
def test_greedy_matches_algorithm_1(kernel: Kernel, k: int) -> None:
    K = kernel.submatrix(np.arange(kernel.size))
    bundle = map_greedy(kernel, k)
    chosen: list[int] = []
    for row, gain in zip(bundle.items, bundle.gains, strict=True):
        minors = {i: det(K, [*chosen, i]) for i in set(range(kernel.size)) - set(chosen)}
        best = max(minors.values())
        assert minors[row] >= best * (1 - 1e-6)
        assert gain == pytest.approx(best / det(K, chosen), rel=1e-5)
        chosen.append(int(row))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_local_search_ends_where_no_exchange_of_one_or_two_improves(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel = make_kernel(rng, 15, kind, rank=7, diagonal=bool(seed % 2))
    tilt, cart = random_tilt(rng, 15), [int(row) for row in rng.integers(0, 15, seed)]
    K = dense_conditional(kernel, list(dict.fromkeys(cart)), tilt, 0.0)
    greedy = map_greedy(kernel, 4, cart=cart, tilt=tilt)
    bundle = map_local_search(kernel, 4, cart=cart, tilt=tilt)
    assert bundle.log_det >= greedy.log_det - 1e-12
    reached = det(K, bundle.items)
    for kept in itertools.combinations(bundle.items, 2):
        for entering in itertools.combinations(set(range(15)) - set(kept), 2):
            assert det(K, [*kept, *entering]) <= reached * (1 + 1e-6)


def test_local_search_repairs_greedy() -> None:
    """The heaviest item is the diagonal of a square: greedy takes it, the best pair are the two sides."""
    kernel = Kernel.symmetric(np.array([[1.0, 1.0], [1.3, 0.0], [0.0, 1.3]]))
    assert set(map_greedy(kernel, 2).items) == {0, 1}
    assert set(map_local_search(kernel, 2).items) == {1, 2}
    assert best_set(kernel.submatrix(np.arange(3)), [0, 1, 2], 2) == (1, 2)


def test_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="size of a bundle must be at least 0"):
        map_greedy(Kernel.symmetric(np.eye(2)), -1)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_greedy_adds_a_pair_if_no_single_item_has_a_gain(k: int) -> None:
    rng = np.random.default_rng(0)
    D = rng.normal(size=(6, 6))
    kernel = Kernel.scalable(np.zeros((9, 1)), rng.normal(size=(9, 6)), D - D.T)
    K = kernel.submatrix(np.arange(9))
    bundle = map_greedy(kernel, k)
    assert len(bundle.items) == k - k % 2  # odd sets have no determinant
    assert set(bundle.items[:2]) == set(best_set(K, list(range(9)), 2))
    assert bundle.log_det == pytest.approx(np.log(det(K, bundle.items)))
    assert np.prod(bundle.gains) == pytest.approx(det(K, bundle.items))
    assert map_local_search(kernel, k).log_det >= bundle.log_det - 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_bundle_without_candidates_is_empty(method: str) -> None:
    kernel = make_kernel(np.random.default_rng(5), 3, "tied")
    bundle = METHODS[method]()(kernel, 2, tilt=Tilt.excluding([0, 1, 2]))
    assert len(bundle.items) == 0
    assert bundle.log_det == 0
