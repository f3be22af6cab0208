"""The temporal protocol from questions to the report: each shopper's last basket, given their history."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from ndpp import Kernel, NextItem
from ndpp.mixture import Own
from tests.training.baselines.shoppers import ITEMS, habits
from training.baselines import HISTORY_BASELINES, PersonalFrequency
from training.baskets import Baskets
from training.evaluation.assess import Assessment, Questions, assess, questions_from
from training.evaluation.history_tables import history_tables
from training.evaluation.queries import Protocol
from training.evaluation.report import ReportData, write_report
from training.evaluation.tripod import CartAlone, TripodModel
from training.histories import Histories
from training.next_item.basket_index import index_baskets
from training.next_item.mixture import START

SHOPPERS = 30


@pytest.fixture(scope="module")
def data() -> Baskets:
    return habits(SHOPPERS, trips=10)


@pytest.fixture(scope="module")
def train(data: Baskets) -> Baskets:
    return data.select(np.arange(len(data) - SHOPPERS))


@pytest.fixture(scope="module")
def questions(data: Baskets) -> Questions:
    test = data.select(np.arange(len(data) - SHOPPERS, len(data)))
    histories = Histories(data).before_each(test)
    return questions_from(test, data.catalogue, Protocol.TEMPORAL, 5, histories)


@pytest.fixture(scope="module")
def tripod(train: Baskets) -> TripodModel:
    """Popularity, and with a history mostly what the shopper buys."""
    shares = train.counts / len(train)
    kernel = Kernel(np.zeros((ITEMS, 1)), np.zeros((1, 1)), shares / (1 - shares))
    none = Own(
        **{field.name: (0.0, 0.0) for field in fields(Own)}
        | {"days": 30.0, "gap_days": 7.0, "longest_gap": 100.0}
    )
    own = replace(none, cart=(0.1, 0.0), recent=(1.0, 0.0), often=(1.0, 0.0), weight=(3.0, 0.0))
    mixture = replace(START.mixture(0.5), own=own)
    return TripodModel(NextItem(kernel, mixture, None, index_baskets(train)))


@pytest.fixture(scope="module")
def found(tripod: TripodModel, train: Baskets, questions: Questions) -> Assessment:
    return assess(tripod, list(train.catalogue), questions, train)


def test_peers_of_temporal_evaluation_use_histories(found: Assessment, questions: Questions) -> None:
    assert questions.usual_peers == HISTORY_BASELINES
    names = [
        "tripod",
        "tripod_cart",
        "personal_frequency",
        "item_knn",
        "ease",
        "tifu_knn",
        "up_cf",
        "popularity",
    ]
    assert list(found.evaluation.models) == names
    assert found.evaluation.skipped == {}


def test_history_beats_cart_alone(found: Assessment) -> None:
    gap = found.evaluation.paired["tripod_cart"]["ndcg@10"]
    ours, cart = (found.evaluation.models[name].values["ndcg@10"] for name in ("tripod", "tripod_cart"))
    assert ours is not None
    assert cart is not None
    assert gap.value == pytest.approx(ours - cart)
    assert gap.interval[0] > 0


def test_cart_alone_ignores_histories(tripod: TripodModel, questions: Questions) -> None:
    alone, queries = CartAlone(tripod), questions.queries
    np.testing.assert_array_equal(
        alone.scores(queries.carts, queries.histories), tripod.scores(queries.carts)
    )
    assert (alone.scores(queries.carts) != tripod.scores(queries.carts, queries.histories)).any()


def test_model_without_own_expert_is_evaluated_once(
    tripod: TripodModel, train: Baskets, questions: Questions
) -> None:
    plain = TripodModel(replace(tripod.model, mixture=replace(tripod.model.mixture, own=None)))
    found = assess(plain, list(train.catalogue), questions, train, peers=(PersonalFrequency,)).evaluation
    assert list(found.models) == ["tripod", "personal_frequency"]


def test_calibration_uses_histories(tripod: TripodModel, train: Baskets, questions: Questions) -> None:
    with_them, without = (
        assess(tripod, list(train.catalogue), asked, train, peers=()).calibration.next_item
        for asked in (questions, replace(questions, histories=None))
    )
    assert with_them is not None
    assert without is not None
    assert with_them.nll < without.nll


def test_json_has_paired_differences_and_next_baskets(found: Assessment) -> None:
    document = json.loads(json.dumps(found.evaluation.as_json(), allow_nan=False))
    assert document["protocol"] == "temporal"
    assert set(document["paired"]) == set(document["models"]) - {"tripod"}
    for differences in document["paired"].values():
        assert list(differences) == ["hit@10", "ndcg@10"]
        assert differences["hit@10"]["interval"][0] <= differences["hit@10"]["value"]
    whole = document["next_basket"]
    assert whole["shoppers"]["all"] == SHOPPERS
    assert "item_knn" not in whole["models"]
    for name in ("tripod", "tripod_cart", "tifu_knn", "up_cf", "personal_frequency", "popularity"):
        assert set(whole["models"][name]) == {"all", "repeat", "explore"}
        assert whole["models"][name]["repeat"]["recall@10"]["interval"]
    assert set(whole["paired"]) == set(whole["models"]) - {"tripod"}


def test_report_shows_next_baskets_and_differences(found: Assessment) -> None:
    html = write_report(ReportData("Shoppers", {}, found.evaluation)).html.decode()
    assert "The whole next basket" in html
    assert "Tripod minus each other model" in html
    assert "Tripod, cart alone" in html
    assert "TIFU-KNN" in html
    whole = found.evaluation.next_basket
    assert whole is not None
    assert f"<td>{whole.models['tripod']['repeat']['recall@10'].value:.1f}<small>" in html
    assert "what the shopper had bought before" in html


def test_tables_leave_out_figures_that_do_not_apply(found: Assessment) -> None:
    whole, differences = history_tables(found.evaluation)
    assert "ease" not in [name for name, _ in whole.rows]
    cells = dict(differences.rows)["ease"]
    assert [cell is None for cell in cells] == [False, False, True, True]


def test_histories_outside_temporal_protocol_ask_no_whole_baskets(data: Baskets) -> None:
    test = data.select(np.arange(20))
    asked = questions_from(test, data.catalogue, histories=Histories(data).before_each(test))
    assert asked.next_baskets is None
    assert asked.queries.histories is not None


def test_questions_in_other_catalogue_keep_histories_with_their_baskets(data: Baskets) -> None:
    """Baskets without any known item are dropped, with their histories."""
    test = data.select(np.arange(len(data) - SHOPPERS, len(data)))
    histories = Histories(data).before_each(test)
    asked = questions_from(test, data.catalogue[:6], Protocol.TEMPORAL, 0, histories)
    assert asked.unseen is not None
    assert asked.histories is not None
    kept = [number for number, basket in enumerate(test) if (basket < 6).any()]
    assert len(asked.unseen) == len(asked.histories) == len(kept) < len(test)
    for number, history in zip(kept, asked.histories, strict=True):
        before = histories[number]
        assert before is not None
        assert history is not None
        assert history.items.tolist() == [row for row in before.items.tolist() if row < 6]
