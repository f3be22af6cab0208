"""Personal frequency, TIFU-KNN and UP-CF, compared with their formulas written as plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import History
from training.baselines import (
    HISTORY_BASELINES,
    BaselineUnavailableError,
    PersonalFrequency,
    TifuKnn,
    UpCf,
    fit_baselines,
)
from training.baselines.personal import Purchases
from training.baskets import NOBODY, Baskets
from training.evaluation.metrics import rank_metrics
from training.evaluation.queries import Protocol, hold_one_out
from training.evaluation.ranks import rank_targets
from training.histories import Histories

from .shoppers import ITEMS, habits

Lists = list[list[int]]  # the baskets of a shopper, oldest first
EMPTY = np.empty(0, np.int32)
HISTORY: Lists = [[0, 3], [0, 1, 2], [5], [0, 5, 6], [2], [5, 7], [0, 8], [11, 5]]


@pytest.fixture(scope="module")
def known() -> Baskets:
    return habits()


def history(baskets: Lists) -> History | None:
    return History.in_order(baskets, 7.0)


def shoppers_of(baskets: Baskets) -> list[Lists]:
    assert baskets.shoppers is not None
    assert baskets.timestamps is not None
    order = np.argsort(baskets.timestamps)
    return [
        [baskets[number].tolist() for number in order if baskets.shoppers[number] == shopper]
        for shopper in np.unique(baskets.shoppers)
    ]


def slow_tifu_vector(baskets: Lists, groups: int, group_decay: float, basket_decay: float) -> np.ndarray:
    """Equation by equation as in the paper; the remainder makes the newest groups larger."""
    count = min(groups, len(baskets))
    sizes = [len(baskets) // count + (place >= count - len(baskets) % count) for place in range(count)]
    vector, start = np.zeros(ITEMS), 0
    for place, size in enumerate(sizes):
        group = np.zeros(ITEMS)
        for position, basket in enumerate(baskets[start : start + size]):
            group[basket] += basket_decay ** (size - 1 - position) / size
        vector += group_decay ** (count - 1 - place) * group / count
        start += size
    return vector


@pytest.mark.parametrize("groups", [1, 3, 5, 8, 20])
def test_tifu_knn_vectors_are_those_of_the_paper(known: Baskets, groups: int) -> None:
    model = TifuKnn(groups=groups, group_decay=0.6, basket_decay=0.8).fit(known)
    found = model.vectors_of(Purchases.of([history(HISTORY)])).toarray()[0]
    np.testing.assert_allclose(found, slow_tifu_vector(HISTORY, groups, 0.6, 0.8))
    expected = [slow_tifu_vector(baskets, groups, 0.6, 0.8) for baskets in shoppers_of(known)]
    np.testing.assert_allclose(model.vectors.toarray(), expected)


def test_tifu_knn_mixes_own_vector_with_mean_of_nearest(known: Baskets) -> None:
    model = TifuKnn(groups=3, group_decay=0.6, basket_decay=0.8, own_share=0.7, neighbours=4).fit(known)
    own = slow_tifu_vector(HISTORY, 3, 0.6, 0.8)
    others = np.array([slow_tifu_vector(baskets, 3, 0.6, 0.8) for baskets in shoppers_of(known)])
    nearest = np.argsort(np.linalg.norm(others - own, axis=1))[:4]
    expected = 0.7 * own + 0.3 * others[nearest].mean(axis=0)
    found = model.scores([EMPTY], [history(HISTORY)])[0]
    np.testing.assert_allclose(found[expected > 0], expected[expected > 0])
    assert (found[expected == 0] < 0).all()


def test_up_cf_sums_popularity_by_power_of_asymmetric_cosine(known: Baskets) -> None:
    model = UpCf(recent=3, exponent=2, asymmetry=0.25, neighbours=5).fit(known)

    def popularity(baskets: Lists) -> np.ndarray:
        recent = baskets[-3:]
        return np.array([sum(item in basket for basket in recent) / len(recent) for item in range(ITEMS)])

    def similarity(baskets: Lists) -> float:
        ours, theirs = ({item for basket in part for item in basket} for part in (HISTORY, baskets))
        return len(ours & theirs) / (len(ours) ** 0.25 * len(theirs) ** 0.75)

    others = shoppers_of(known)
    similarities = np.array([similarity(baskets) for baskets in others])
    nearest = np.argsort(-similarities)[:5]
    assert similarities[nearest[-1]] > np.sort(similarities)[-6]  # no tie decides
    expected = popularity(HISTORY) + sum(similarities[n] ** 2 * popularity(others[n]) for n in nearest)
    found = model.scores([EMPTY], [history(HISTORY)])[0]
    np.testing.assert_allclose(found[expected > 0], expected[expected > 0])


def test_personal_frequency_ranks_by_count_then_recency_then_popularity(known: Baskets) -> None:
    model = PersonalFrequency().fit(known)
    found = model.scores([EMPTY], [history(HISTORY)])[0]
    bought = sorted({item for basket in HISTORY for item in basket})

    def key(item: int) -> tuple[int, int, int]:
        places = [place for place, basket in enumerate(HISTORY) if item in basket]
        return len(places), places[-1], int(known.counts[item])

    by_key = sorted(bought, key=key, reverse=True)
    assert np.argsort(-found).tolist()[: len(bought)] == by_key
    rest = [item for item in range(ITEMS) if item not in bought]
    assert sorted(rest, key=lambda item: -known.counts[item]) == sorted(rest, key=lambda item: -found[item])


def test_purchases_are_numbered_from_the_newest_basket_and_the_same_moment_is_one() -> None:
    past = Purchases.of([None, History.of([[5], [3, 4], [3], [3, 6]], [9.0, 2.0, 4.0, 2.0])])
    assert past.baskets.tolist() == [0, 3]
    expected = [(3, 0), (3, 1), (4, 0), (5, 2), (6, 0)]
    assert sorted(zip(past.item.tolist(), past.basket.tolist(), strict=True)) == expected
    assert set(past.shopper.tolist()) == {1}


@pytest.mark.parametrize("make", [PersonalFrequency, TifuKnn, UpCf])
def test_without_history_popularity_decides(make: type, known: Baskets) -> None:
    model = make().fit(known)
    for scores in (model.scores([EMPTY]), model.scores([EMPTY], [None])):
        np.testing.assert_array_equal(np.argsort(scores[0]), np.argsort(known.counts))


@pytest.mark.parametrize("make", [PersonalFrequency, TifuKnn, UpCf])
def test_planted_habits_come_first(make: type, known: Baskets) -> None:
    model = make().fit(known)
    histories = Histories(known)
    for shopper in range(6):
        past = histories.before(shopper, np.datetime64("2030-01-01", "us"))
        first = np.argsort(-model.scores([EMPTY], [past])[0])[:2]
        assert set(first.tolist()) == {shopper, shopper + 6}


def test_tuning_improves_ndcg_on_validation_shoppers() -> None:
    baskets = habits(trips=12)
    train, validation = baskets.select(np.arange(330)), baskets.select(np.arange(330, 360))
    histories = Histories(baskets).before_each(validation)
    queries = hold_one_out(validation, Protocol.TEMPORAL, np.random.default_rng(0), histories)

    def quality(model: TifuKnn | UpCf) -> float:
        return float(rank_metrics(rank_targets(model, queries))["ndcg@10"].mean())

    for bad in (TifuKnn(own_share=0.1, neighbours=900), UpCf(exponent=1, neighbours=900)):
        before = quality(bad.fit(train))
        assert quality(bad.fit(train, validation)) > before
    assert bad.exponent > 1


def test_baskets_without_shoppers_or_times_skip_history_baselines(baskets: Baskets) -> None:
    fitted, skipped = fit_baselines(baskets, None, HISTORY_BASELINES)
    assert [model.name for model in fitted] == ["item_knn", "ease", "popularity"]
    assert list(skipped) == ["personal_frequency", "tifu_knn", "up_cf"]
    assert set(skipped.values()) == {"the training baskets do not say who bought them and when"}


def test_baskets_of_unknown_shoppers_skip_history_baselines(known: Baskets) -> None:
    assert known.shoppers is not None
    nobody = Baskets(
        known.catalogue,
        known.items,
        known.offsets,
        known.timestamps,
        shoppers=np.full_like(known.shoppers, NOBODY),
    )
    with pytest.raises(BaselineUnavailableError, match="no training basket says who bought it"):
        UpCf().fit(nobody)
