"""The mixture of experts against a slow reference, and the basket index against a plain search."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import BasketIndex, DenseKernel, History, Kernel, Mixture, NextItem, Relevance, condition
from ndpp.kernel import FloatArray
from ndpp.mixture import Habit, Own, SimilarBaskets, Together, at
from ndpp.next_item import NO_VOTE
from tests.ndpp.ndpp_reference import KINDS, dense_gains, make_kernel

SIZE = 12
BASKETS = [[0, 1, 2], [1, 2, 3, 4], [0, 5], [2, 6, 7, 8, 9], [1, 2], [3, 5, 7], [0, 1, 10], [2, 3]]
MIXTURE = Mixture(
    decoupling=0.7,
    together=Together((0.6, -0.1), (0.8, 0.2), (0.2, -0.1)),
    baskets=SimilarBaskets((0.7, 0.1), (-0.5, 0.3)),
    habit=Habit((0.5, 0.1), (0.4, -0.2), (0.3, 0.2), (-0.3, -0.4)),
    least_gain=1e-4,
    own=Own(
        cart=(0.4, 0.1),
        popularity=(0.3, 0.1),
        recent=(0.4, -0.1),
        often=(0.6, 0.1),
        votes=(0.3, 0.1),
        known=(-0.2, 0.1),
        weight=(-0.3, 0.2),
        baskets=(0.4, -0.1),
        repeats=(0.5, 0.2),
        days=30.0,
        gap_days=7.0,
        longest_gap=100.0,
        related=(0.3, 0.1),
        first=(0.2, -0.1),
    ),
    own_first=Own(
        cart=(0.2, 0.0),
        popularity=(0.3, 0.0),
        recent=(0.5, 0.0),
        often=(0.7, 0.0),
        votes=(0.5, 0.0),
        known=(-0.1, 0.0),
        weight=(0.6, 0.0),
        baskets=(0.2, 0.0),
        repeats=(0.0, 0.0),
        days=10.0,
        gap_days=7.0,
        longest_gap=100.0,
        related=(0.6, 0.0),
        first=(0.0, 0.0),
    ),
)
PAST, AGES = [[2, 4], [4, 9, 2], [11]], [40.0, 12.0, 1.5]


def index_of(baskets: list[list[int]], size: int) -> BasketIndex:
    postings = [[number for number, basket in enumerate(baskets) if item in basket] for item in range(size)]
    counts = np.array([len(listed) for listed in postings])
    return BasketIndex(
        offsets=np.concatenate([[0], np.cumsum([len(basket) for basket in baskets])]),
        items=np.array([item for basket in baskets for item in basket], dtype=np.int32),
        starts=np.concatenate([[0], np.cumsum(counts)]),
        postings=np.array([number for listed in postings for number in listed], dtype=np.int32),
        rarity=np.log((len(baskets) + 1) / np.maximum(counts, 1)).astype(np.float32),
        log_first=np.log((counts + 1) / (counts + 1).sum()).astype(np.float32),
    )


def slow_votes(index: BasketIndex, baskets: list[list[int]], cart: list[int]) -> dict[int, float]:
    similarity = {
        number: sum(float(index.rarity[y]) for y in cart if y in basket) / len(basket) ** 0.5
        for number, basket in enumerate(baskets)
    }
    best = max(similarity.values(), default=0.0)
    chosen = sorted((n for n, s in similarity.items() if s > 0), key=lambda n: (-similarity[n], n))[:300]
    votes: dict[int, float] = {}
    for number in chosen:
        for item in baskets[number]:
            votes[item] = votes.get(item, 0.0) + (similarity[number] / best) ** 3
    return votes


def relevance_of(rng: np.random.Generator) -> Relevance:
    weights = rng.normal(0, 0.3, (SIZE, SIZE)).astype(np.float32)
    support = np.abs(rng.normal(0, 0.05, (SIZE, SIZE))).astype(np.float32)
    offsets = np.arange(0, SIZE * SIZE + 1, SIZE)
    neighbours = np.tile(np.arange(SIZE, dtype=np.int32), SIZE)
    return Relevance(offsets, neighbours, weights.ravel(), 0.05, support.ravel())


def slow_probabilities(
    model: NextItem, cart: list[int], past: list[list[int]] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """P(i | cart) and the shares of the experts by the documented formulas."""
    kernel, mixture, relevance, index = model.kernel, model.mixture, model.relevance, model.baskets
    assert relevance is not None
    assert index is not None
    assert mixture.baskets is not None
    assert mixture.habit is not None
    n, L = len(cart), kernel.submatrix(range(kernel.size))
    gains = np.maximum(dense_gains(L, cart, mixture.decoupling), mixture.least_gain * np.diag(L))
    weights = np.array([0.0, at(mixture.baskets.weight, n), at(mixture.habit.weight, n)])
    matrix, support = relevance.weights.reshape(SIZE, SIZE), relevance.support.reshape(SIZE, SIZE)  # type: ignore[union-attr]
    r = np.maximum.reduce(
        [np.full(SIZE, relevance.floor), matrix[cart].sum(axis=0), support[cart].sum(axis=0)]
    )
    votes = slow_votes(index, BASKETS, cart)
    if not votes:
        weights[1] = -np.inf
    vote = np.array([votes.get(item, 0.0) for item in range(SIZE)]) + NO_VOTE
    together, habit = mixture.together, mixture.habit
    scores = np.array(
        [
            gains ** at(together.gain, n)
            * (r / relevance.floor) ** at(together.relevance, n)
            * np.diag(L) ** at(together.popularity, n),
            vote ** at(mixture.baskets.power, n),
            gains ** at(habit.gain, n)
            * np.diag(L) ** at(habit.popularity, n)
            * np.exp(index.log_first.astype(float)) ** at(habit.first, n),
        ]
    )
    scores[:, cart] = 0
    shares = np.exp(weights) / np.exp(weights).sum()
    parts = shares[:, None] * scores / scores.sum(axis=1, keepdims=True)
    if past is None:
        parts = np.vstack([parts, np.zeros(SIZE)])
        return parts.sum(axis=0), parts
    own = mixture.own if n else mixture.own_first
    assert own is not None
    counts = {
        item: sum(np.exp(-age / 60) for b, age in zip(past, AGES, strict=True) if item in b)
        for item in {item for basket in past for item in basket}
    }
    main = sorted(counts, key=lambda item: -counts[item])[:20]
    r_past = np.maximum.reduce(
        [np.full(SIZE, relevance.floor), matrix[main].sum(axis=0), support[main].sum(axis=0)]
    )
    score = (
        parts.sum(axis=0) ** at(own.cart, n)
        * np.diag(L) ** at(own.popularity, n)
        * (r_past / relevance.floor) ** at(own.related, n)
        * np.exp(index.log_first.astype(float)) ** at(own.first, n)
    )
    for item in {item for basket in past for item in basket}:
        scale = 0.15 * np.exp(-index.rarity[item] / 2)
        ages = [age for basket, age in zip(past, AGES, strict=True) if item in basket]
        score[item] *= (1 + sum(np.exp(-age / own.days) for age in ages) / scale) ** at(own.recent, n)
        score[item] *= (1 + len(ages) / scale) ** at(own.often, n)
        score[item] *= (1 + slow_own_votes(past, cart, item, index.rarity)) ** at(own.votes, n)
        score[item] *= L[item, item] ** at(own.known, n)
    score[cart] = 0
    repeats = sum(any(item in basket for basket in past) for item in cart)
    logit = at(own.weight, n) + at(own.baskets, n) * np.log(len(past))
    logit += at(own.repeats, n) * np.log((repeats + 1) / (n - repeats + 1))
    weight = 1 / (1 + np.exp(-logit))
    parts = np.vstack([(1 - weight) * parts, weight * score / score.sum()])
    return parts.sum(axis=0), parts


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> NextItem:
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, SIZE, request.param, diagonal=True, scale=0.5)
    return NextItem(kernel, MIXTURE, relevance_of(rng), index_of(BASKETS, SIZE))


def slow_own_votes(past: list[list[int]], cart: list[int], item: int, rarity: FloatArray) -> float:
    """Σ over the shopper's baskets with the item of (Σ_{y ∈ cart ∩ basket} rarity_y)² / |basket|."""
    return sum(
        sum(float(rarity[y]) for y in cart if y in basket) ** 2 / len(basket)
        for basket in past
        if item in basket
    )


CARTS = [[], [3], [1, 2], [0, 4, 7], [11], [2, 3, 5, 8, 1]]


@pytest.mark.parametrize("past", [None, PAST], ids=["cart alone", "with a history"])
def test_probabilities_and_expert_shares_match_the_formulas(
    model: NextItem, past: list[list[int]] | None
) -> None:
    for cart in CARTS:
        expected, parts = slow_probabilities(model, cart, past)
        prediction = model.given(cart, None if past is None else History.of(past, AGES))
        assert prediction.probabilities == pytest.approx(expected, rel=1e-6)
        assert prediction.probabilities.sum() == pytest.approx(1)
        outside = np.setdiff1d(np.arange(SIZE), cart)
        assert prediction.expert_shares(outside) == pytest.approx(parts[:, outside], rel=1e-6)


def test_single_carts_batches_and_the_dense_kernel_agree(model: NextItem) -> None:
    single = Kernel(model.kernel.factors.astype(np.float32), model.kernel.core, model.kernel.diagonal)
    plain = NextItem(single, MIXTURE, model.relevance, model.baskets)
    dense = NextItem(single, MIXTURE, model.relevance, model.baskets, DenseKernel.of(single))
    histories = [History.of(PAST, AGES) if number % 2 else None for number in range(len(CARTS))]
    together = zip(CARTS, histories, plain.given_each(CARTS, histories), strict=True)
    for cart, history, prediction in together:
        for other in (plain.given(cart, history), dense.given(cart, history)):
            assert other.probabilities == pytest.approx(prediction.probabilities, rel=1e-4)
            rows = np.setdiff1d(np.arange(SIZE), cart)
            assert other.expert_shares(rows) == pytest.approx(prediction.expert_shares(rows), rel=1e-4)


def test_plain_mixture_is_exact_conditioning(model: NextItem) -> None:
    plain = NextItem(model.kernel, Mixture.plain())
    for cart in CARTS:
        gains = condition(model.kernel, cart).gains()
        assert plain.given(cart).probabilities == pytest.approx(gains / gains.sum(), abs=1e-12)


def test_log_usual_is_the_prediction_for_an_empty_cart(model: NextItem) -> None:
    assert np.exp(model.log_usual) == pytest.approx(slow_probabilities(model, [])[0], rel=1e-6)


def test_leaving_out_is_the_drop_of_the_log_score(model: NextItem) -> None:
    cart, rows = [0, 4, 7], np.array([1, 2, 9])
    drops = model.given(cart).leaving_out(rows)
    assert drops.shape == (3, 3)
    together = MIXTURE.together
    for place, item in enumerate(cart):
        rest = [other for other in cart if other != item]
        with_it, without = (condition(model.kernel, c, decoupling=0.7).gains()[rows] for c in (cart, rest))
        least = MIXTURE.least_gain * model.kernel.weights[rows]
        change = at(together.gain, 3) * np.log(np.maximum(with_it, least) / np.maximum(without, least))
        relevance = model.relevance
        assert relevance is not None
        logs = []
        for c in (cart, rest):
            listed, values = relevance.above_floor(c)
            r = np.full(SIZE, relevance.floor)
            r[listed] = values
            logs.append(np.log(r[rows]))
        change += at(together.relevance, 3) * (logs[0] - logs[1])
        assert drops[place] == pytest.approx(change, abs=1e-6)


def test_baskets_expert_has_no_weight_without_similar_baskets(model: NextItem) -> None:
    assert model.given([11]).weights[1] == 0
    assert model.given([1]).weights[1] > 0
    assert sum(model.given([1]).weights) == pytest.approx(1)


def test_votes_match_a_search_through_all_baskets() -> None:
    rng = np.random.default_rng(5)
    baskets = [sorted(rng.choice(30, rng.integers(2, 8), replace=False).tolist()) for _ in range(900)]
    index = index_of(baskets, 30)
    for cart in ([4], [1, 2, 3], [7, 9, 11, 20, 29], [0, 0, 5]):
        rows, votes = index.votes(cart)
        expected = slow_votes(index, baskets, list(dict.fromkeys(cart)))
        assert rows.tolist() == sorted(expected)
        assert votes == pytest.approx([expected[row] for row in rows.tolist()], rel=1e-5)
    assert len(index.similar([1, 2, 3])[0]) == 300


def test_empty_cart_has_no_votes() -> None:
    rows, votes = index_of(BASKETS, SIZE).votes([])
    assert len(rows) == len(votes) == 0


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("starts", np.array([0, 1]), "items"),
        ("offsets", np.array([0, 2]), "offsets"),
        ("postings", np.full(24, 99, dtype=np.int32), "postings"),
        ("rarity", np.full(SIZE, np.nan, dtype=np.float32), "rarity"),
        ("log_first", np.full(SIZE, -np.inf, dtype=np.float32), "share"),
        ("log_first", np.zeros(3, dtype=np.float32), "first items"),
    ],
)
def test_inconsistent_basket_index_is_refused(field: str, value: np.ndarray, problem: str) -> None:
    arrays = {**index_of(BASKETS, SIZE).__dict__, field: value}
    arrays = {
        name: arrays[name] for name in ("offsets", "items", "starts", "postings", "rarity", "log_first")
    }
    with pytest.raises(ValueError, match=problem):
        BasketIndex(**arrays).check(SIZE)
    index_of(BASKETS, SIZE).check(SIZE)
