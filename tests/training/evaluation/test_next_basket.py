"""Whole next baskets, compared with the definitions of recall and NDCG written as plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ndpp import History
from training.baselines import ItemKNN, Popularity
from training.baskets import UNKNOWN, Baskets, ItemRows
from training.evaluation.next_basket import (
    NextBaskets,
    evaluate_next_baskets,
    next_baskets,
    shopper_metrics,
)
from training.recommender import Pasts, Recommender, Scores

from .conftest import FixedScores, make_baskets


class Frequency(Recommender):
    """Scores are the counts in the history."""

    name = "frequency"

    def __init__(self, items: int) -> None:
        self.items = items

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:
        found = np.zeros((len(carts), self.items))
        for row, history in zip(found, histories or [], strict=True):
            if history is not None:
                row[history.items] = history.counts
        return found


def asked(items: list[list[int]], repeated: list[list[bool]]) -> NextBaskets:
    return NextBaskets(
        [np.array(rows, np.int32) for rows in items],
        [np.array(flags, np.bool_) for flags in repeated],
        [None] * len(items),
    )


def slow_metrics(order: Sequence[int], wanted: Sequence[int]) -> tuple[float, float]:
    """Recall and NDCG of the first ten of an order, in percent."""
    places = [place for place, item in enumerate(order[:10], start=1) if item in wanted]
    ideal = sum(1 / np.log2(place + 1) for place in range(1, min(10, len(wanted)) + 1))
    return 100 * len(places) / len(wanted), 100 * sum(1 / np.log2(place + 1) for place in places) / ideal


def test_recall_and_ndcg_match_definition_for_all_repeat_and_explore_items() -> None:
    rng = np.random.default_rng(0)
    scores = rng.permutation(40).astype(float)
    baskets = [rng.choice(40, size, replace=False).tolist() for size in (1, 2, 5, 15, 30)]
    flags = [(rng.random(len(basket)) < 0.5).tolist() for basket in baskets]
    found = shopper_metrics(FixedScores(scores), asked(baskets, flags))
    order = np.argsort(-scores).tolist()
    for number, (basket, repeated) in enumerate(zip(baskets, flags, strict=True)):
        parts = {
            "all": basket,
            "repeat": [item for item, again in zip(basket, repeated, strict=True) if again],
            "explore": [item for item, again in zip(basket, repeated, strict=True) if not again],
        }
        for part, wanted in parts.items():
            values = found[part]["recall@10"][number], found[part]["ndcg@10"][number]
            if wanted:
                assert values == pytest.approx(slow_metrics(order, wanted))
            else:
                assert np.isnan(values).all()


def test_ties_count_as_the_mean_over_their_orders() -> None:
    rng = np.random.default_rng(1)
    scores = np.repeat([3.0, 2.0, 1.0], [4, 12, 5])
    basket = [1, 5, 6, 20]
    found = shopper_metrics(FixedScores(scores), asked([basket], [[True] * 4]))["all"]
    orders = [np.lexsort((rng.random(len(scores)), -scores)).tolist() for _ in range(20_000)]
    recall, ndcg = np.mean([slow_metrics(order, basket) for order in orders], axis=0)
    assert found["recall@10"][0] == pytest.approx(recall, abs=0.5)
    assert found["ndcg@10"][0] == pytest.approx(ndcg, abs=0.5)


def test_unknown_items_are_missed() -> None:
    found = shopper_metrics(FixedScores([3, 2, 1]), asked([[0, UNKNOWN]], [[True, False]]))
    assert found["all"]["recall@10"][0] == 50
    assert found["repeat"]["recall@10"][0] == 100
    assert found["explore"]["ndcg@10"][0] == 0


def test_repeat_items_are_those_of_the_history_before_translation() -> None:
    test = make_baskets([[0, 1, 2], [1, 3]], "abcd")
    past = History.in_order([[0, 3], [2]], 7.0)
    whole = next_baskets(test, [past, None], ("c", "b", "a"))  # without d
    assert [rows.tolist() for rows in whole.items] == [[2, 1, 0], [1, UNKNOWN]]
    assert [flags.tolist() for flags in whole.repeated] == [[True, False, True], [False, False]]
    first, second = whole.histories
    assert first is not None
    assert second is None
    assert first.items.tolist() == [0, 2]
    assert first.baskets == 2


@pytest.fixture(scope="module")
def shoppers() -> NextBaskets:
    """200 shoppers of 40 items, more than one batch, who buy three of their five items and one other."""
    rng = np.random.default_rng(2)
    own = [rng.choice(40, 5, replace=False) for _ in range(200)]
    rows = [np.unique([*rng.choice(items, 3, replace=False), rng.integers(40)]).tolist() for items in own]
    histories = [History.in_order([items, items[:2]], 7.0) for items in own]
    return next_baskets(
        make_baskets(rows, [str(row) for row in range(40)]), histories, [str(r) for r in range(40)]
    )


def test_estimates_are_means_over_shoppers_with_intervals(shoppers: NextBaskets) -> None:
    model = Frequency(40)
    found = evaluate_next_baskets([model, FixedScores(np.arange(40.0))], shoppers, seed=3)
    values = shopper_metrics(model, shoppers)
    assert found.shoppers["all"] == 200
    assert 0 < found.shoppers["explore"] < 200  # of the others the random item is an own one
    for part, metrics in found.models["frequency"].items():
        for metric, figure in metrics.items():
            assert figure.value == pytest.approx(np.nanmean(values[part][metric]))
            assert figure.interval[0] - 1e-9 <= figure.value <= figure.interval[1] + 1e-9
    assert found.models["frequency"]["repeat"]["recall@10"].value == 100
    assert found.models["frequency"]["all"]["recall@10"].value > 75
    assert found.repeat_share == pytest.approx(np.mean([flags.mean() for flags in shoppers.repeated]))


def test_paired_differences_are_first_model_minus_other(shoppers: NextBaskets) -> None:
    fixed = FixedScores(np.arange(40.0))
    found = evaluate_next_baskets([Frequency(40), fixed], shoppers)
    assert list(found.paired) == ["fixed"]
    gap = found.paired["fixed"]["all"]["recall@10"]
    means = [found.models[name]["all"]["recall@10"] for name in ("frequency", "fixed")]
    assert gap.value == pytest.approx(means[0].value - means[1].value)
    assert gap.interval[0] > 0
    same = evaluate_next_baskets([fixed, fixed], shoppers).paired
    assert same == {}  # a model is not compared with itself


def test_models_that_need_a_cart_are_left_out(baskets: Baskets) -> None:
    models = [Popularity().fit(baskets), ItemKNN().fit(baskets)]
    whole = next_baskets(baskets, [None] * len(baskets), baskets.catalogue)
    found = evaluate_next_baskets(models, whole)
    assert list(found.models) == ["popularity"]
    assert found.shoppers["repeat"] == 0
    assert list(found.models["popularity"]) == ["all", "explore"]
