"""The swap chain against enumerated probabilities, by a chi-square test with a fixed seed."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from ndpp_reference import KINDS, dense_conditional, make_kernel
from scipy import stats

from ndpp import Kernel, Tilt, sample_k


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
def test_k_samples_follow_the_distribution(kind: str) -> None:
    rng = np.random.default_rng(13)
    kernel = make_kernel(rng, 6, kind, rank=4)
    tilt = Tilt.boosting([2], 2.0) * Tilt.excluding([3])
    shares = expected_shares(
        dense_conditional(kernel, [0], tilt, 0.0),
        [s for s in itertools.combinations(range(6), 2) if not set(s) & {0, 3}],
    )
    draws = chi_square(lambda: sample_k(kernel, 2, rng=rng, steps=25, cart=[0], tilt=tilt), shares, 800)
    assert draws > 0.001


@pytest.mark.parametrize("omega", [0.0, 0.5, 1.0])
def test_samples_stay_inside_the_catalogue(omega: float) -> None:
    rng = np.random.default_rng(14)
    kernel = make_kernel(rng, 30, "scalable", rank=5, diagonal=True)
    for _ in range(20):
        rows = sample_k(kernel, 3, rng=rng, steps=10, cart=[3, 4], decoupling=omega)
        assert len(rows) == 3
        assert not set(rows) & {3, 4}
        assert (np.diff(rows) > 0).all()


def test_nothing_to_sample_gives_nothing() -> None:
    rng = np.random.default_rng(0)
    kernel = Kernel.symmetric(np.zeros((3, 2)))
    assert len(sample_k(kernel, 2, rng=rng, steps=10)) == 0
    assert len(sample_k(Kernel.symmetric(np.eye(3)), 0, rng=rng, steps=10)) == 0
