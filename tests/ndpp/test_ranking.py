"""The best items and their probabilities against plain float64 arithmetic over the whole catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndpp import DenseKernel, Kernel, Mixture, NextItem, Order, best_items
from ndpp.arrivals import Arrivals
from ndpp.limits import Limit
from ndpp.mixture import Habit, Together
from ndpp.ranking import Limits
from ndpp.with_arrivals import WithArrivals

HABIT = Habit(gain=(0.5, 0), popularity=(0.4, 0), first=(0.0, 0), weight=(-0.3, 0))
FITTED = Mixture(0.7, Together((0.6, -0.1), (0.0, 0.0), (0.2, 0.1)), None, HABIT, least_gain=1e-4)


def random_kernel(size: int, rank: int, seed: int) -> Kernel:
    rng = np.random.default_rng(seed)
    V, B = rng.normal(size=(2, size, rank // 2)).astype(np.float32) / np.sqrt(rank)
    C = np.kron(np.eye(rank // 4), [[0.0, 1.0], [-1.0, 0.0]])
    return Kernel.scalable(V, B, C, rng.uniform(0, 0.5, size))


def in_float64(kernel: Kernel) -> Kernel:
    return Kernel(kernel.factors.astype(np.float64), kernel.core, kernel.diagonal)


def expected_order(marks: np.ndarray) -> list[int]:
    return sorted(np.flatnonzero(marks > 0), key=lambda row: (-marks[row], row))


@pytest.mark.parametrize(("size", "rank"), [(300, 8), (7000, 80)])
@pytest.mark.parametrize("mixture", [FITTED, Mixture.plain(), Mixture.plain(0.7, 0.0, 0.5)])
def test_best_items_and_their_probabilities(size: int, rank: int, mixture: Mixture) -> None:
    kernel, rng = random_kernel(size, rank, seed=size), np.random.default_rng(1)
    factors = rng.uniform(0, 2, size) * (rng.random(size) < 0.5)
    cart = [3, 99, 17, 250, 42, 8]
    marks = NextItem(in_float64(kernel), mixture).given(cart).probabilities * factors
    prediction = NextItem(kernel, mixture).given(cart)
    for k in (1, 10, 100, size):
        best = best_items(prediction, k, factors, Order())
        assert best.rows.tolist() == expected_order(marks)[:k]
        assert best.probabilities == pytest.approx(marks[best.rows] / marks.sum(), rel=1e-4)
        assert best.shares.sum(axis=0) * factors[best.rows] == pytest.approx(marks[best.rows], rel=1e-4)


def test_order_by_another_prediction_and_popularity() -> None:
    kernel, rng = random_kernel(300, 8, seed=3), np.random.default_rng(4)
    factors, cart = rng.uniform(0, 2, 300), [5, 60]
    model, other = NextItem(kernel, FITTED), NextItem(kernel, Mixture.plain())
    usual = np.exp(model.log_usual)
    finished = model.given(cart).probabilities * factors
    marks = other.given(cart).probabilities * factors * usual**-0.5
    best = best_items(model.given(cart), 20, factors, Order(other.given(cart), 0.5))
    assert best.rows.tolist() == expected_order(marks)[:20]
    assert best.probabilities == pytest.approx(finished[best.rows] / finished.sum(), rel=1e-4)


def test_fewer_than_k_items() -> None:
    prediction = NextItem(random_kernel(20, 8, seed=2), FITTED).given([0, 1])
    few = np.zeros(20)
    few[:4] = 1
    assert set(best_items(prediction, 5, few, Order()).rows) == {2, 3}
    assert best_items(prediction, 50, np.ones(20), Order()).rows.shape == (18,)
    assert len(best_items(prediction, 5, np.zeros(20), Order()).rows) == 0


@given(st.integers(0, 10_000), st.integers(0, 12), st.sampled_from([0.0, 0.7, 1.0]), st.integers(1, 40))
def test_dense_kernel_gives_the_same_items(seed: int, length: int, decoupling: float, k: int) -> None:
    """Duplicate rows (ties), boosts, exclusions, and carts larger than the rank."""
    rng = np.random.default_rng(seed)
    plain = random_kernel(40, 8, seed)
    factors, diagonal = plain.factors.copy(), plain.diagonal * rng.integers(0, 2)
    copies = rng.integers(0, 40, 8)
    factors[copies], diagonal[copies] = factors[copies[0]], diagonal[copies[0]]
    kernel = Kernel(factors, plain.core, diagonal)
    boosts = rng.choice([0.0, 0.5, 1.0, 3.0], 40)
    cart = rng.integers(0, 40, length)
    mixture = Mixture(decoupling, FITTED.together, None, FITTED.habit, FITTED.least_gain)
    marks = NextItem(in_float64(kernel), mixture).given(cart).probabilities * boosts
    dense = NextItem(kernel, mixture, dense=DenseKernel.of(kernel))
    best = best_items(dense.given(cart), k, boosts, Order())
    assert best.probabilities == pytest.approx(marks[best.rows] / marks.sum(), rel=1e-3)
    assert len(best.rows) == min(k, np.count_nonzero(marks))
    highest = np.sort(marks)[::-1][: len(best.rows)]
    assert np.sort(marks[best.rows])[::-1] == pytest.approx(highest, rel=1e-9)


def listed_by_hand(marks: np.ndarray, k: int, limits: Limits, factors: np.ndarray) -> list[int]:
    """The list by its definition: pins take places in their order, the rest is filled row by row."""

    def fits(row: int, taken: list[int], limit: Limit) -> bool:
        group = limit.groups[row]
        return group < 0 or sum(limit.groups[other] == group for other in taken) < limit.most

    places: dict[int, int] = {}
    for row, position in limits.pins:
        free = [place for place in range(position, k + 1) if place not in places]
        among = [limit for limit in limits.groups if limit.for_pins]
        if factors[row] > 0 and free and all(fits(row, list(places.values()), limit) for limit in among):
            places[free[0]] = row
    taken = list(places.values())
    for row in expected_order(marks):
        if row in taken or len(taken) == k:
            continue
        if all(fits(row, taken, limit) for limit in limits.groups):
            taken.append(row)
    rest = iter(taken[len(places) :])
    in_order = [places.get(place) or next(rest, None) for place in range(1, k + 1)]
    return [row for row in in_order if row is not None]


@pytest.mark.parametrize("seed", range(60))
def test_limits_and_pins_against_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, k = 60, int(rng.integers(1, 25))
    prediction = NextItem(random_kernel(size, 8, seed), FITTED).given([1, 7])
    factors = rng.uniform(0, 2, size) * (rng.random(size) < 0.8)
    by_rule = rng.choice([0.0, 0.1, 1.0, 5.0], size)
    groups = [
        Limit(rng.integers(-1, 6, size).astype(np.int32), int(rng.integers(1, 3)), for_pins=number == 1)
        for number in range(seed % 3)
    ]
    free = [row for row in rng.permutation(size).tolist() if row not in (0, 1, 7)]
    pins = [(row, int(rng.integers(1, 12))) for row in free[: seed % 7]]
    limits = Limits(groups, pins)
    best = best_items(prediction, k, factors, Order(factors=by_rule), limits)
    finished = prediction.probabilities * factors
    assert best.rows.tolist() == listed_by_hand(finished * by_rule, k, limits, factors)
    assert best.probabilities == pytest.approx(finished[best.rows] / finished.sum(), rel=1e-4)


def test_pins_without_room_leave_their_places_to_others() -> None:
    """Of two on the last place the first is shown; of two variants the first that is not filtered out."""
    prediction = NextItem(random_kernel(60, 8, 1), FITTED).given([1, 7])
    best, second, *_, last, other = expected_order(prediction.probabilities)
    found = best_items(prediction, 2, np.ones(60), Order(), Limits((), [(last, 2), (other, 2)]))
    assert found.rows.tolist() == [best, last]
    groups = np.full(60, -1, dtype=np.int32)
    groups[[last, other]] = 0
    variants, pins = Limit(groups, 1, for_pins=True), [(last, 1), (other, 1)]
    for sold_out, expected in ([], [last, best]), ([last], [other, best]), ([last, other], [best, second]):
        factors = np.ones(60)
        factors[sold_out] = 0
        found = best_items(prediction, 2, factors, Order(), Limits([variants], pins))
        assert found.rows.tolist() == expected
    found = best_items(prediction, 3, np.ones(60), Order(), Limits([Limit(groups, 1)], pins))
    assert found.rows.tolist() == [last, other, best]  # other limits do not hold for pins


def test_limits_leave_a_full_list_in_a_large_catalogue() -> None:
    size = 5_000
    prediction = NextItem(random_kernel(size, 8, seed=1), FITTED).given([3])
    order = np.argsort(-prediction.probabilities)
    groups = np.full(size, -1, dtype=np.int32)
    groups[order[:3_000]] = 0
    best = best_items(prediction, 20, np.ones(size), Order(), Limits([Limit(groups, 2)]))
    assert best.rows.tolist() == [*order[:2], *order[3_000:3_018]]


def test_arrivals_are_ranked_as_mixtures_of_known_items() -> None:
    size, cart = 80, [4, 9]
    model = NextItem(random_kernel(size, 8, seed=6), FITTED)
    rng = np.random.default_rng(7)
    neighbours = np.array([rng.choice(size, 5, replace=False) for _ in range(6)])
    neighbours[0, :2] = cart  # what is in the cart is not bought again
    arrivals = Arrivals(neighbours, rng.uniform(0, 0.5, (6, 5)), 1.0)
    prediction = model.given(cart)
    known = prediction.probabilities
    cold = (arrivals.weights * known[arrivals.neighbours]).sum(axis=1)
    usual = np.log(np.concatenate([np.exp(model.log_usual), arrivals.probabilities(np.exp(model.log_usual))]))
    both = WithArrivals(prediction, arrivals, usual)
    best = best_items(both, size + 6, np.ones(size + 6), Order())
    marks = np.concatenate([known, cold])
    assert best.rows.tolist() == expected_order(marks)
    assert best.probabilities == pytest.approx(marks[best.rows] / marks.sum(), rel=1e-4)
    assert best.probabilities.sum() == pytest.approx(1)
