"""Samplers against enumerated probabilities, by a chi-square test with a fixed seed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from ndpp_reference import KINDS, dense_conditional, make_kernel
from scipy import stats

from ndpp import Kernel, Tilt, sample, sample_k


def expected_shares(K: np.ndarray, sets: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    minors = {s: max(float(np.linalg.det(K[np.ix_(s, s)])), 0.0) if s else 1.0 for s in sets}
    return {s: minor / sum(minors.values()) for s, minor in minors.items()}


def all_sets(size: int) -> list[tuple[int, ...]]:
    return [s for k in range(size + 1) for s in itertools.combinations(range(size), k)]


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
@pytest.mark.parametrize("diagonal", [False, True])
def test_samples_follow_the_distribution(kind: str, diagonal: bool) -> None:
    rng = np.random.default_rng(11)
    kernel = make_kernel(rng, 5, kind, rank=2, diagonal=diagonal, scale=0.7)
    shares = expected_shares(kernel.submatrix(np.arange(5)), all_sets(5))
    shares = {s: share if share > 1e-12 else 0.0 for s, share in shares.items()}
    assert chi_square(lambda: sample(kernel, rng), shares, 3000) > 0.001


def test_samples_complete_a_cart_under_a_tilt() -> None:
    rng = np.random.default_rng(12)
    kernel = make_kernel(rng, 6, "scalable", rank=4, diagonal=True, scale=0.7)
    tilt = Tilt(rng.uniform(0.5, 2, 6)) * Tilt.excluding([5])
    shares = expected_shares(dense_conditional(kernel, [1], tilt, 0.0), all_sets(6))
    shares = {s: share if share > 1e-12 else 0.0 for s, share in shares.items()}
    assert chi_square(lambda: sample(kernel, rng, cart=[1], tilt=tilt), shares, 3000) > 0.001


@pytest.mark.parametrize("kind", KINDS)
def test_k_samples_follow_the_distribution(kind: str) -> None:
    rng = np.random.default_rng(13)
    kernel = make_kernel(rng, 6, kind, rank=4)
    tilt = Tilt.boosting([2], 2.0) * Tilt.excluding([3])
    shares = expected_shares(
        dense_conditional(kernel, [0], tilt, 0.0),
        [s for s in itertools.combinations(range(6), 2) if not set(s) & {0, 3}],
    )
    draws = chi_square(lambda: sample_k(kernel, 2, rng, cart=[0], tilt=tilt, steps=25), shares, 800)
    assert draws > 0.001


@pytest.mark.parametrize("omega", [0.0, 0.5, 1.0])
def test_samples_stay_inside_the_catalogue(omega: float) -> None:
    rng = np.random.default_rng(14)
    kernel = make_kernel(rng, 30, "scalable", rank=5, diagonal=True)
    for _ in range(20):
        rows = sample(kernel, rng, cart=[3, 4], decoupling=omega)
        assert not set(rows) & {3, 4}
        assert (np.diff(rows) > 0).all()
        assert len(sample_k(kernel, 3, rng, cart=[3, 4], decoupling=omega, steps=10)) == 3


def test_nothing_to_sample_gives_nothing() -> None:
    rng = np.random.default_rng(0)
    kernel = Kernel.symmetric(np.zeros((3, 2)))
    assert len(sample(kernel, rng)) == 0
    assert len(sample_k(kernel, 2, rng)) == 0
    assert len(sample_k(Kernel.symmetric(np.eye(3)), 0, rng)) == 0
