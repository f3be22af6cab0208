"""Samples of the Markov chain against enumerated probabilities, by a chi-square test with a fixed seed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from scipy import stats

from ndpp import Kernel, Tilt, map_exact, map_greedy, map_mcmc, sample_k
from ndpp.bundles.mcmc import MOST_STEPS, default_steps
from tests.ndpp.ndpp_reference import KINDS, dense_conditional, full_matrix, make_kernel


def expected_shares(K: np.ndarray, sets: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    minors = {s: max(float(np.linalg.det(K[np.ix_(s, s)])), 0.0) if s else 1.0 for s in sets}
    return {s: minor / sum(minors.values()) for s, minor in minors.items()}


def chi_square(draw: Callable[[], np.ndarray], shares: dict[tuple[int, ...], float], draws: int) -> float:
    """The p-value of drawn sets under the expected shares, rare sets pooled."""
    counts = Counter(tuple(int(row) for row in draw()) for _ in range(draws))
    assert set(counts) <= {s for s, share in shares.items() if share > 0}
    common = [s for s, share in shares.items() if share * draws >= 5]
    observed = [counts[s] for s in common]
    expected = [shares[s] * draws for s in common]
    rest = draws - sum(expected)
    if rest > 1e-6 * draws:
        observed.append(draws - sum(observed))
        expected.append(rest)
    return float(stats.chisquare(observed, np.array(expected) * sum(observed) / sum(expected)).pvalue)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_k_ndpp_distribution(kind: str) -> None:
    rng = np.random.default_rng(13)
    kernel = make_kernel(rng, 6, kind, rank=4)
    tilt = Tilt.boosting([2], 2.0) * Tilt.excluding([3])
    shares = expected_shares(
        dense_conditional(kernel, [0], tilt, 0.0),
        [s for s in itertools.combinations(range(6), 2) if not set(s) & {0, 3}],
    )
    draws = chi_square(lambda: sample_k(kernel, 2, rng=rng, steps=25, cart=[0], tilt=tilt).items, shares, 800)
    assert draws > 0.001


@pytest.mark.parametrize("omega", [0.0, 0.5, 1.0])
def test_samples_are_distinct_rows_outside_the_cart(omega: float) -> None:
    rng = np.random.default_rng(14)
    kernel = make_kernel(rng, 30, "scalable", rank=5, diagonal=True)
    for _ in range(20):
        rows = sample_k(kernel, 3, rng=rng, steps=10, cart=[3, 4], decoupling=omega).items
        assert len(rows) == 3
        assert not set(rows) & {3, 4}
        assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("kind", ["complements", "skew"])
@pytest.mark.parametrize("k", [2, 4])
def test_samples_of_pair_kernels_follow_the_distribution(kind: str, k: int) -> None:
    """V = 0: sets of complements only. No single swap leads from one set to another with a determinant."""
    rng = np.random.default_rng(15)
    C = np.zeros((8, 8))
    if kind == "complements":
        C[[0, 2, 4, 6], [1, 3, 5, 7]] = 1.0, 1.3, 0.7, 1.1
    else:
        C[...] = rng.normal(size=(8, 8))
    kernel = Kernel.scalable(np.zeros((8, 1)), np.eye(8), C - C.T)
    shares = expected_shares(full_matrix(kernel), itertools.combinations(range(8), k))
    assert chi_square(lambda: sample_k(kernel, k, rng=rng).items, shares, 250) > 0.001


@pytest.mark.parametrize("kind", ["scalable", "tied"])
def test_default_number_of_steps_is_enough_for_small_kernels(kind: str) -> None:
    rng = np.random.default_rng(16)
    kernel = make_kernel(rng, 7, kind, rank=5, diagonal=True)
    shares = expected_shares(full_matrix(kernel), itertools.combinations(range(7), 3))
    assert chi_square(lambda: sample_k(kernel, 3, rng=rng).items, shares, 250) > 0.001


def test_default_number_of_steps_grows_with_the_exchanges_up_to_a_limit() -> None:
    assert default_steps(5, 0) == default_steps(3, 3) == 0
    assert default_steps(10, 1) == math.ceil(2 * 9 * math.log(10))
    assert default_steps(10, 3) == math.ceil(2 * (3 * 7 + 3 * 21) * math.log(30))
    assert default_steps(100_000, 10) == MOST_STEPS


@pytest.mark.parametrize("k", [3, 5])
def test_sample_of_odd_size_from_a_pair_kernel_is_one_item_smaller(k: int) -> None:
    rng = np.random.default_rng(17)
    C = rng.normal(size=(8, 8))
    kernel = Kernel.scalable(np.zeros((8, 1)), np.eye(8), C - C.T)
    assert len(sample_k(kernel, k, rng=rng).items) == k - 1
    assert len(map_mcmc(kernel, k, rng=rng).items) == k - 1


@pytest.mark.parametrize("kind", KINDS)
def test_annealed_chain_ends_at_the_optimum_of_a_small_kernel(kind: str) -> None:
    rng = np.random.default_rng(18)
    kernel = make_kernel(rng, 20, kind, rank=6, diagonal=True)
    assert map_mcmc(kernel, 3, rng=rng).log_det == pytest.approx(map_exact(kernel, 3).log_det)


def test_annealing_finds_better_sets_than_the_chain_of_the_paper() -> None:
    rng = np.random.default_rng(19)
    kernel = make_kernel(rng, 120, "tied", rank=12)
    greedy = map_greedy(kernel, 8).log_det
    paper = [sample_k(kernel, 8, rng=rng, steps=3 * 120 // 12).log_det for _ in range(5)]
    annealed = [map_mcmc(kernel, 8, rng=rng, steps=5000).log_det for _ in range(3)]
    assert np.mean(paper) < greedy - 3
    assert min(annealed) > greedy - 1


def test_sample_without_candidates_is_empty() -> None:
    rng = np.random.default_rng(0)
    kernel = Kernel.symmetric(np.zeros((3, 2)))
    assert len(sample_k(kernel, 2, rng=rng, steps=10).items) == 0
    assert len(sample_k(Kernel.symmetric(np.eye(3)), 0, rng=rng, steps=10).items) == 0
