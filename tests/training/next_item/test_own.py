"""The expert `own`: the likelihood that is maximised is that of serving, and planted habits are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.habits import habitual_baskets
from training.evaluation.queries import Protocol, hold_one_out, random_prefixes
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.histories import Histories
from training.next_item.own import _DAYS, _START, OwnFit, _Likelihood, fit_own
from training.options import FitOptions
from training.pipeline import TrainedModel, train_model
from training.splitting import Split, split_temporal

BASKETS = habitual_baskets()
PARTS = split_temporal(BASKETS, below=0.0, validation=70, holdout=60)


@pytest.fixture(scope="module")
def learned() -> TrainedModel:
    options = FitOptions(rank=6, skew_rank=4, steps=60, batch_size=200)
    return train_model(PARTS, options, effort="quick")


@pytest.fixture(scope="module")
def own(learned: TrainedModel) -> OwnFit:
    assert learned.own is not None
    return learned.own


def test_the_maximised_likelihood_is_that_of_serving(learned: TrainedModel, own: OwnFit) -> None:
    assert learned.tuning is not None
    histories = Histories(BASKETS).before_each(PARTS.validation)
    queries, owners = random_prefixes(PARTS.validation, 2, np.random.default_rng(0))
    past = [history for owner in owners if (history := histories[owner])]
    trained = learned.tuning.trained
    weights = np.linspace(1, 2, len(queries))
    likelihood = _Likelihood(trained.given_each(queries.carts), queries, past, weights, 0)
    theta = torch.tensor([getattr(own.own, name) for name in _START], dtype=torch.float64)
    served = replace(trained, mixture=replace(trained.mixture, own=own.own))
    found = served.probabilities(queries.carts, past)[np.arange(len(queries)), queries.targets]
    expected = np.average(-np.log(found), weights=weights)
    likelihood.use(_DAYS.index(own.own.days))
    loss = likelihood(theta, len(queries))
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert own.queries > 100
    assert own.with_history < own.without_history


def test_history_predicts_planted_habits(learned: TrainedModel) -> None:
    histories = Histories(BASKETS).before_each(PARTS.test)
    queries = hold_one_out(PARTS.test, Protocol.TEMPORAL, np.random.default_rng(1), histories)
    model = TripodModel(learned.next_item)
    with_history = rank_targets(model, queries)
    without = rank_targets(model, replace(queries, histories=None))
    assert np.mean(with_history.better < 5) > 2 * np.mean(without.better < 5)


def test_empty_cart_of_a_shopper_starts_with_favourites(learned: TrainedModel) -> None:
    histories = Histories(BASKETS).before_each(PARTS.test)
    for basket, history in list(zip(PARTS.test, histories, strict=True))[:10]:
        assert history is not None
        best = np.argsort(-learned.next_item.given([], history).probabilities)[:5]
        often = history.items[np.argsort(-history.counts, kind="stable")[:5]]
        assert len(np.intersect1d(best, often)) >= 4
        assert len(basket) > 1


def test_carts_without_history_are_as_before(learned: TrainedModel) -> None:
    plain = replace(learned.next_item, mixture=replace(learned.next_item.mixture, own=None))
    for cart in ([], [3], [1, 7, 20]):
        expected = plain.given(cart).probabilities
        assert learned.next_item.given(cart).probabilities.tolist() == expected.tolist()


def test_too_few_histories_fit_nothing(learned: TrainedModel) -> None:
    assert learned.tuning is not None
    none = [None] * len(PARTS.validation)
    assert fit_own(learned.tuning.trained, PARTS.validation, none, 7.0) is None


def test_data_without_shoppers_has_no_own_expert() -> None:
    without = Split(*(replace(part, shoppers=None) for part in PARTS))
    options = FitOptions(rank=4, skew_rank=2, steps=5, batch_size=100)
    assert train_model(without, options, effort="quick").own is None
