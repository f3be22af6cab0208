"""Figure 2: random 5×5 kernels with given singular values, greedy and exact MAP inference."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ndpp import Kernel, decompose
from ndpp.kernel import Matrix
from training.paper.greedy_ratio import (
    GreedyExperiment,
    GreedyRatios,
    draw_in_one_subspace,
    draw_nonsymmetric,
    draw_symmetric,
    draw_until,
    greedy_experiment,
    greedy_of_kernels,
    greedy_of_minors,
    is_p0,
    is_semidefinite,
    nonzero_singular_values,
)

CHOSEN = np.array([[3.0, 2.0, 0.5], [1.0, 1.0, 1.0], [0.3, 0.2, 0.1]])


@pytest.fixture(scope="module")
def experiment() -> GreedyExperiment:
    rng = np.random.default_rng(3)
    D = rng.normal(size=(6, 6))
    return greedy_experiment(Kernel.tied(rng.normal(size=(30, 6)) / 8, D - D.T), kernels=60, seed=0)


def drawn(kind: str) -> Matrix:
    rng = np.random.default_rng(1)
    if kind == "symmetric":
        return draw_symmetric(rng, CHOSEN)
    if kind == "p0":
        return draw_until(is_p0, draw_nonsymmetric, rng, CHOSEN)
    return draw_until(is_semidefinite, draw_in_one_subspace, rng, CHOSEN)


@pytest.mark.parametrize("kind", ["symmetric", "p0", "semidefinite"])
def test_drawn_kernels_have_the_singular_values_and_nonnegative_minors(kind: str) -> None:
    for L, chosen in zip(drawn(kind), CHOSEN, strict=True):
        np.testing.assert_allclose(np.linalg.svd(L, compute_uv=False), [*chosen, 0, 0], atol=1e-12)
        for size in range(1, 6):
            for rows in combinations(range(5), size):
                assert np.linalg.det(L[np.ix_(rows, rows)]) > -1e-12
        assert np.allclose(L, L.T) == (kind == "symmetric")


def test_only_kernels_of_one_subspace_can_be_decomposed() -> None:
    for L in drawn("semidefinite"):
        V, B, C = decompose(L)
        np.testing.assert_allclose(V @ V.T + B @ C @ B.T, L, atol=1e-9)
    for L in drawn("p0"):
        with pytest.raises(ValueError, match="positive semidefinite"):
            decompose(L)


def test_is_p0_rejects_each_kind_of_negative_minor() -> None:
    negative_item, negative_pair, negative_triple = np.eye(5), np.eye(5), np.eye(5)
    negative_item[2, 2] = -1
    negative_pair[0, 1] = negative_pair[1, 0] = 2
    negative_triple[:3, :3] = [[1, 1, 0], [0, 1, 1], [-2, 0, 1]]  # its pairs have the determinant 1
    found = is_p0(np.stack([np.eye(5), negative_item, negative_pair, negative_triple]))
    assert found.tolist() == [True, False, False, False]


def test_greedy_of_determinants_equals_algorithm_1() -> None:
    kernels = np.concatenate([drawn("symmetric"), drawn("semidefinite")])
    np.testing.assert_allclose(greedy_of_minors(kernels), greedy_of_kernels(kernels), rtol=1e-9)


def test_greedy_of_determinants_can_miss_the_best_set() -> None:
    L = np.diag([1.1, 1.0, 1.0, 1.0, 0.0])
    L[0, 1:4] = L[1:4, 0] = 0.6  # the first item has the highest gain, but resembles the next three
    assert greedy_of_minors(L[None])[0] < 0 == np.log(np.linalg.det(L[1:4, 1:4]))


def test_greedy_is_at_most_exact(experiment: GreedyExperiment) -> None:
    for found in (experiment.symmetric, experiment.p0, experiment.semidefinite):
        assert len(found.shares) == 60
        assert (found.shares < 1 + 1e-9).all()
        assert (found.shares > 1 - 1e-9).mean() > 0.5
    assert experiment.p0.shares.min() < 1 - 1e-9


def test_singular_values_are_those_of_the_learned_kernel(experiment: GreedyExperiment) -> None:
    assert len(experiment.singular_values) == 6
    kernel = Kernel.symmetric(np.diag([2.0, 1.0, 0.0]))
    np.testing.assert_allclose(nonzero_singular_values(kernel), [4, 1])
    widest = np.log(experiment.singular_values[0] / experiment.singular_values[-1])
    assert max(experiment.p0.log_condition) <= widest + 1e-12


def test_ratio_divides_logarithms_and_share_divides_determinants() -> None:
    found = GreedyRatios([1.0], greedy=[np.log(0.25)], exact=[np.log(0.5)])
    assert found.ratios[0] == pytest.approx(2)
    assert found.shares[0] == pytest.approx(0.5)
