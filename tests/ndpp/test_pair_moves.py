"""Closed forms for pairs of items, and the searches that use them, against dense determinants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ndpp import Kernel, Tilt, condition, map_exact, map_greedy, map_local_search
from ndpp.bundles import exchanges, pool
from ndpp.bundles.mcmc import exchange_ratios
from ndpp.bundles.pool import Pool, pair_strengths
from ndpp.bundles.problem import ChosenItems, Problem
from tests.ndpp.ndpp_reference import KINDS, best_set, dense_conditional, make_kernel

CASES = [*KINDS, "pairs"]


def pair_kernel(rng: np.random.Generator, size: int) -> Kernel:
    """V = 0: only sets of an even size have a determinant."""
    D = rng.normal(size=(size, size))
    return Kernel.scalable(np.zeros((size, 1)), np.eye(size), D - D.T)


def case(kind: str, seed: int, size: int = 11, k: int = 4) -> tuple[Problem, np.ndarray]:
    """A problem with a cart of two items, a tilt and a filter, and its dense kernel."""
    rng = np.random.default_rng(seed)
    kernel = (
        pair_kernel(rng, size) if kind == "pairs" else make_kernel(rng, size, kind, rank=7, diagonal=True)
    )
    tilt = Tilt(rng.uniform(0.5, 2, size)) * Tilt.excluding([3])
    problem = Problem.of(kernel, k, [4, 7], tilt, 0.0)
    return problem, dense_conditional(kernel, [4, 7], tilt, 0.0)


def det(K: np.ndarray, rows: list[int]) -> float:
    return float(np.linalg.det(K[np.ix_(rows, rows)]))


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "TILE", 3)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("items", [[], [0, 8]])
def test_pair_gains_match_determinants(kind: str, items: list[int]) -> None:
    problem, K = case(kind, 1)
    rows, moves = problem.pool.rows, problem.pool.given(np.array(items, dtype=np.intp))
    assert rows.tolist() == [0, 1, 2, 5, 6, 8, 9, 10]
    assert moves is not None
    seen = set()
    for tile in moves.tiles():
        for (i, j), gain in np.ndenumerate(tile.gains):
            one, other = int(rows[tile.rows][i]), int(rows[tile.later][j])
            seen.add(frozenset((one, other)))
            usable = one != other and not {one, other} & set(items)
            expected = det(K, [*items, one, other]) / det(K, items) if usable else 0.0
            assert gain == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert {frozenset(pair) for pair in itertools.combinations(rows.tolist(), 2)} <= seen
    pair, gain = problem.pool.best_pair(np.array(items, dtype=np.intp))
    free = [row for row in rows.tolist() if row not in items]
    best = max(itertools.combinations(free, 2), key=lambda two: det(K, [*items, *two]))
    assert set(pair) == set(best)
    assert gain == pytest.approx(det(K, [*items, *best]) / det(K, items))


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("kind", CASES)
def test_pair_exchanges_match_determinants(kind: str) -> None:
    problem, K = case(kind, 2)
    items, rows = [0, 6, 8, 9], problem.pool.rows
    moves = problem.pool.given(np.array(items, dtype=np.intp))
    assert moves is not None
    ratios = {}
    for tile in moves.tiles():
        for leaving in itertools.combinations(range(4), 2):
            kept = [item for position, item in enumerate(items) if position not in leaving]
            for (i, j), ratio in np.ndenumerate(tile.ratios(leaving)):
                one, other = int(rows[tile.rows][i]), int(rows[tile.later][j])
                usable = one != other and not {one, other} & set(items)
                expected = det(K, [*kept, one, other]) / det(K, items) if usable else 0.0
                assert ratio == pytest.approx(expected, rel=1e-7, abs=1e-8)
                ratios[leaving, frozenset((one, other))] = expected
    best = moves.best_exchange()
    assert best is not None
    assert best.ratio == pytest.approx(max(ratios.values()))
    entering = frozenset(int(row) for row in rows[list(best.entering)])
    assert ratios[best.leaving, entering] == pytest.approx(best.ratio)  # type: ignore[index]


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("count", [1, 2])
def test_ratios_of_the_chain_match_determinants(kind: str, count: int) -> None:
    problem, K = case(kind, 3)
    items, outside = [0, 6, 8, 9], [1, 2, 5, 10]
    moves = [
        (leaving, entering)
        for leaving in itertools.combinations(range(4), count)
        for entering in itertools.combinations(outside, count)
    ]
    ratios = exchange_ratios(
        problem,
        ChosenItems.of(problem.conditional, items),
        np.array([leaving for leaving, _ in moves]),
        np.array([entering for _, entering in moves]),
    )
    for (leaving, entering), ratio in zip(moves, ratios, strict=True):
        kept = [item for position, item in enumerate(items) if position not in leaving]
        expected = det(K, [*kept, *entering]) / det(K, items)
        assert ratio == pytest.approx(expected, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("omega", [0.0, 0.3])
def test_exact_is_the_best_of_all_sets(kind: str, k: int, omega: float) -> None:
    rng = np.random.default_rng(k)
    kernel = pair_kernel(rng, 9) if kind == "pairs" else make_kernel(rng, 9, kind, rank=5, diagonal=True)
    tilt = Tilt(rng.uniform(0.5, 2, 9)) * Tilt.excluding([2])
    cart = [4, 7]
    if kind == "pairs":
        omega = 0.0  # decoupled pairs have no determinant at all
    bundle = map_exact(kernel, k, cart=cart, tilt=tilt, decoupling=omega)
    K = dense_conditional(kernel, cart, tilt, omega)
    candidates = [row for row in range(9) if row not in (2, 4, 7) and K[row, row] > -1e-12]
    size = k - 1 if kind == "pairs" and k % 2 else k
    assert tuple(bundle.items) == best_set(K, candidates, size)
    assert bundle.log_det == pytest.approx(np.log(det(K, bundle.items.tolist())))


def test_exact_refuses_too_many_sets() -> None:
    kernel = make_kernel(np.random.default_rng(0), 300, "scalable", rank=5)
    with pytest.raises(
        ValueError, match="300 candidates have 4,455,100 sets of 3 items, more than the limit"
    ):
        map_exact(kernel, 3)
    assert len(map_exact(kernel, 2).items) == 2
    assert map_exact(kernel, 1).items.tolist() == map_greedy(kernel, 1).items.tolist()
    assert len(map_exact(kernel, 3, tilt=Tilt.excluding(np.arange(20, 300))).items) == 3


@pytest.mark.parametrize("k", [2, 3])
def test_local_search_finds_the_optimum_where_attraction_is_strong(k: int) -> None:
    """Small weights and large skew parts, as in trained kernels: complements are worth most as a pair."""
    found, by_greedy = 0, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        V, B = 0.4 * rng.normal(size=(40, 6)), rng.normal(size=(40, 8))
        D = rng.normal(size=(8, 8))
        kernel = Kernel.scalable(V, B, D - D.T)
        optimum = map_exact(kernel, k).log_det
        found += map_local_search(kernel, k).log_det >= optimum - 1e-9
        by_greedy += map_greedy(kernel, k).log_det >= optimum - 1e-9
    assert found >= 24
    assert by_greedy <= 12


def test_local_search_replaces_a_pair_of_complements() -> None:
    """Four items in two pairs. The better pair has the smaller weights, so greedy starts in the other one."""
    L = np.zeros((4, 4))
    L[0, 1], L[1, 0], L[2, 3], L[3, 2] = 1.0, -1.0, 3.0, -3.0
    L += np.diag([0.2, 0.2, 0.1, 0.1])
    kernel = Kernel.scalable(np.diag(np.sqrt(np.diag(L))), np.eye(4), L - np.diag(np.diag(L)))
    assert set(map_greedy(kernel, 2).items) == {0, 1}
    assert set(map_local_search(kernel, 2).items) == set(map_exact(kernel, 2).items) == {2, 3}


def test_local_search_prefers_a_full_bundle_to_greedy_that_stops_early() -> None:
    """Greedy takes the only item with a gain of its own and then finds no second one."""
    V, B = np.array([[2.0], [0.0], [0.0]]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    kernel = Kernel.scalable(V, B, np.array([[0.0, 1.0], [-1.0, 0.0]]))
    assert map_greedy(kernel, 2).items.tolist() == [0]
    assert set(map_local_search(kernel, 2).items) == {1, 2}
    assert set(map_local_search(kernel, 3).items) == {0, 1, 2}


@pytest.mark.parametrize("kind", CASES)
def test_pair_determinants_are_below_the_product_of_strengths(kind: str) -> None:
    problem, K = case(kind, 4, size=20)
    rows = problem.candidates
    strengths = dict(zip(rows, pair_strengths(problem.conditional, problem.tilt, rows), strict=True))
    for i, j in itertools.combinations(rows.tolist(), 2):
        assert det(K, [i, j]) <= strengths[i] * strengths[j] * (1 + 1e-9)


def test_pool_of_a_large_catalogue_holds_the_strongest_candidates() -> None:
    rng = np.random.default_rng(5)
    kernel = make_kernel(rng, 60, "scalable", rank=5)
    conditional, tilt = condition(kernel, [1]), Tilt.excluding([2])
    candidates = np.setdiff1d(np.arange(60), [1, 2])
    chosen = Pool.of(conditional, tilt, candidates, 10)
    strengths = pair_strengths(conditional, tilt, candidates)
    assert set(chosen.rows) == set(candidates[np.argsort(-strengths)[:10]])
    assert Pool.of(conditional, tilt, candidates, 58).rows.tolist() == candidates.tolist()


def test_local_search_with_a_small_pool_still_swaps_single_rows_outside_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "_LARGEST", 8)
    monkeypatch.setattr(pool, "_SMALLEST", 8)
    rng = np.random.default_rng(6)
    for _ in range(10):
        kernel = make_kernel(rng, 40, "tied", rank=8, diagonal=True)
        K = kernel.submatrix(np.arange(40))
        items = map_local_search(kernel, 4).items.tolist()
        assert len(Problem.of(kernel, 4, [], None, 0.0).pool.rows) == 8
        for leaving, entering in itertools.product(items, set(range(40)) - set(items)):
            swapped = [entering if item == leaving else item for item in items]
            assert det(K, swapped) <= det(K, items) * (1 + 1e-6)


def test_rows_with_a_negative_gain_under_decoupling_are_no_candidates() -> None:
    """Items like all three cart items: decoupled, the cart counts three times against them."""
    V = np.array([[1.0, 0.0]] * 5 + [[0.0, 0.3], [0.0, 0.2], [0.1, 0.2]])
    kernel = Kernel.symmetric(V, np.full(8, 0.01))
    problem = Problem.of(kernel, 2, [0, 1, 2], None, 1.0)
    assert problem.candidates.tolist() == [5, 6, 7]
    for method in (map_exact, map_local_search):
        assert set(method(kernel, 2, cart=[0, 1, 2], decoupling=1.0).items) <= {5, 6, 7}
