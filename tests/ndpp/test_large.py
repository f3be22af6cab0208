"""The search in a large catalogue against a pass over all of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ndpp import History, Kernel, Mixture, NextItem, Relevance
from ndpp.arrivals import Arrivals
from ndpp.bounds import BLOCK, Bounds
from ndpp.large import LargeCatalogue, Wanted
from ndpp.limits import Limit
from ndpp.normalisers import POPULAR, Sample, estimate
from ndpp.ranking import Limits, Order, Ranked, Scored, best_items
from ndpp.selection import Pool, Selection
from ndpp.with_arrivals import WithArrivals
from tests.ndpp.test_next_item import MIXTURE, index_of

SIZE, RANK = 12_000, 20
CARTS = [[5], [40, 7], [3, 4, 900], [10, 2_000, 60, 61, 4], [11_999, 8], [1_100, 1_300, 2_500, 30, 31, 32]]
ONES = np.ones(SIZE)


def make_model(mixture: Mixture = MIXTURE, seed: int = 1) -> NextItem:
    """Popularity falls as in a real catalogue; neighbours and baskets hold mostly popular items."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, SIZE + 1) ** 0.9
    roots = np.sqrt(8 * shares / shares.sum())[:, None]
    V, B = (roots * rng.normal(size=(SIZE, RANK // 2)) / np.sqrt(RANK // 2) for _ in range(2))
    C = np.kron(np.eye(RANK // 4), [[0.0, 1.0], [-1.0, 0.0]])
    kernel = Kernel.scalable(V.astype(np.float32), B.astype(np.float32), C, 0.2 * roots[:, 0] ** 2)
    offsets = 5 * np.arange(SIZE + 1, dtype=np.int64)
    neighbours = (SIZE * rng.random(offsets[-1]) ** 3).astype(np.int32)
    weights = rng.uniform(0.01, 0.3, offsets[-1]).astype(np.float32)
    baskets = [np.unique((SIZE * rng.random(6) ** 4).astype(int)).tolist() for _ in range(400)]
    return NextItem(kernel, mixture, Relevance(offsets, neighbours, weights, 0.01), index_of(baskets, SIZE))


@pytest.fixture(scope="module")
def model() -> NextItem:
    return make_model()


@pytest.fixture(scope="module")
def catalogue(model: NextItem) -> LargeCatalogue:
    return LargeCatalogue(model)


def assert_same(found: Ranked | None, expected: Ranked, tolerance: float = 0.02) -> None:
    assert found is not None
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.exact
    np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=tolerance)
    np.testing.assert_allclose(found.shares.sum(axis=0), expected.shares.sum(axis=0), rtol=tolerance)


def compare(
    catalogue: LargeCatalogue,
    selection: Selection,
    order: Order | None = None,
    limits: Limits | None = None,
    **more: Any,
) -> int:
    """Compare the lists of all carts; returns how many the search settled."""
    order, limits, settled = order or Order(), limits or Limits(), 0
    arrivals: Arrivals | None = more.get("arrivals")
    for cart in CARTS:
        prediction = catalogue.model.given(cart, more.get("history"))
        found = catalogue.best_items(prediction, Wanted(10, selection, order, limits), arrivals)
        if found is not None:
            scored: Scored = prediction
            if arrivals is not None:
                scored = WithArrivals(prediction, arrivals, np.zeros(SIZE + len(arrivals)))
            assert_same(found, best_items(scored, 10, selection.factors, order, limits))
            settled += 1
    return settled


def test_list_equals_that_of_a_full_pass(catalogue: LargeCatalogue) -> None:
    assert compare(catalogue, Selection(Pool(ONES))) >= 4


@pytest.mark.parametrize("kind", ["few excluded", "half excluded", "few left", "boosted", "none left"])
def test_filters_and_boosts(catalogue: LargeCatalogue, kind: str) -> None:
    rng = np.random.default_rng(3)
    factors = {
        "few excluded": np.where(rng.random(SIZE) < 0.01, 0.0, 1.0),
        "half excluded": np.where(rng.random(SIZE) < 0.5, 0.0, 1.0),
        "few left": np.where(rng.random(SIZE) < 0.001, 1.0, 0.0),
        "boosted": rng.choice([0.0, 0.5, 1.0, 3.0], SIZE),
        "none left": np.zeros(SIZE),
    }[kind]
    assert compare(catalogue, Selection(Pool(factors))) >= 4


def test_factors_that_a_request_changes(catalogue: LargeCatalogue) -> None:
    best = best_items(catalogue.model.given(CARTS[1]), 5, ONES, Order()).rows.tolist()
    changed = {best[0]: 0.0, best[1]: 0.1, 11_000: 500.0}
    assert compare(catalogue, Selection(Pool(ONES), changed)) >= 4


def test_rules_pins_and_limits(catalogue: LargeCatalogue) -> None:
    rng = np.random.default_rng(4)
    order = Order(factors=rng.choice([0.1, 1.0, 2.0], SIZE))
    limits = Limits([Limit(rng.integers(-1, 4, SIZE).astype(np.int32), 2)], [(9_000, 2), (77, 1)])
    assert compare(catalogue, Selection(Pool(ONES)), order, limits) >= 3


def test_history(catalogue: LargeCatalogue) -> None:
    history = History.of([[2, 5_000], [5_000, 9, 2], [11_500]], [40.0, 12.0, 1.5])
    assert compare(catalogue, Selection(Pool(ONES)), history=history) >= 3


def test_arrivals(catalogue: LargeCatalogue) -> None:
    rng = np.random.default_rng(5)
    neighbours = np.sort(rng.integers(0, 3_000, (7, 4)), axis=1)
    arrivals = Arrivals(neighbours, rng.random((7, 4)), 0.75)
    pool = Pool(np.append(ONES, [1, 1, 0, 1, 2, 1, 1]))
    assert compare(catalogue, Selection(pool), arrivals=arrivals) >= 4


def test_mixtures_without_some_experts() -> None:
    for mixture in (replace(MIXTURE, own=None, own_first=None), replace(MIXTURE, baskets=None, habit=None)):
        assert compare(LargeCatalogue(make_model(mixture)), Selection(Pool(ONES))) >= 3


def test_what_needs_a_full_pass(catalogue: LargeCatalogue) -> None:
    prediction, everything = catalogue.model.given([5]), Selection(Pool(ONES))
    for order in (Order(prediction), Order(popularity=0.5)):
        assert catalogue.best_items(prediction, Wanted(10, everything, order, Limits())) is None
    empty = catalogue.model.given([])
    assert catalogue.best_items(empty, Wanted(10, everything, Order(), Limits())) is None
    shy = replace(MIXTURE, together=replace(MIXTURE.together, gain=(-0.5, 0.0)))  # gains have no bound below
    other = LargeCatalogue(make_model(shy))
    assert other.best_items(other.model.given([5]), Wanted(10, everything, Order(), Limits())) is None


def test_order_in_doubt_is_not_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that are about equally likely for different reasons are in doubt if the estimates are rough."""
    monkeypatch.setattr("ndpp.large._DRAWN", 50)
    monkeypatch.setattr("ndpp.large._TIMES", (1,))
    model, found = make_model(), []
    for seed in range(60):
        cart = np.random.default_rng(seed).integers(0, 3_000, 3)
        wanted = Wanted(10, Selection(Pool(ONES)), Order(), Limits())
        one = LargeCatalogue(model).best_items(model.given(cart), wanted, settle=False)
        two = LargeCatalogue(model).best_items(model.given(cart), wanted)
        assert one is not None
        assert (two is None) == (not one.exact)
        found.append(one.exact)
    assert 0 < sum(found) < 60


def test_bounds_hold(catalogue: LargeCatalogue) -> None:
    model = catalogue.model
    history = History.of([[2, 5_000]], [3.0])
    for cart in CARTS:
        for past in (None, history):
            prediction = model.given(cart, past)
            gains = model.all_gains(prediction.conditional)
            sample = Sample.of(model, count=SIZE)  # all rows: exact normalisers
            listed = np.unique(np.concatenate([prediction.listed, sample.popular]))
            norms = estimate(prediction, listed, gains[listed], sample, gains[sample.drawn])
            bounds = Bounds.of(model).of_probabilities(prediction, norms)
            assert bounds is not None
            probabilities = prediction.probabilities.copy()
            probabilities[listed] = 0.0
            highest = np.maximum.reduceat(probabilities, np.arange(0, SIZE, BLOCK))
            assert (highest <= bounds).all()


def test_normalisers_and_their_errors(catalogue: LargeCatalogue) -> None:
    """The estimates are within four standard errors nearly always, and exact from all rows."""
    model, misses = catalogue.model, []
    for seed in range(30):
        cart = np.random.default_rng(seed).integers(0, SIZE, 4)
        prediction = model.given(cart)
        gains = model.all_gains(prediction.conditional)
        listed = np.unique(np.concatenate([prediction.listed, np.arange(POPULAR)]))
        exact = estimate(prediction, listed, gains[listed], *_drawn(model, gains, SIZE))
        np.testing.assert_allclose(exact.listed, prediction.probabilities[listed], rtol=1e-5, atol=1e-15)
        found = estimate(prediction, listed, gains[listed], *_drawn(model, gains, 4_096))
        used = np.isfinite(exact.logs)
        missed = np.expm1(np.array(found.logs)[used] - np.array(exact.logs)[used])
        assert (found.errors[used] < 0.02).all()
        misses += (np.abs(missed) / np.maximum(found.errors[used], 1e-9)).tolist()
    assert np.mean(np.array(misses) < 4) > 0.95


def _drawn(model: NextItem, gains: np.ndarray, count: int) -> tuple[Sample, np.ndarray]:
    sample = Sample.of(model, count=count)
    return sample, gains[sample.drawn]


def test_the_same_question_gets_the_same_answer(model: NextItem) -> None:
    wanted = Wanted(10, Selection(Pool(ONES)), Order(), Limits())
    one, two = (LargeCatalogue(make_model()).best_items(model.given([40, 7]), wanted) for _ in range(2))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.probabilities, two.probabilities)
