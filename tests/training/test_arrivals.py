"""A shop in which the category determines who buys an item; names and prices say nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from model_store import Items, ModelStore
from ndpp.arrivals import ArrivalWeights, Similarity
from ndpp.item_features import ItemFeatures
from tests.training.retraining_shop import QUICK, ordered, republished, written
from training.arrivals import ArrivalsFit, _balanced, features_of, fit_arrivals
from training.baskets import Baskets, translate
from training.options import FitOptions
from training.pipeline import TrainedModel, train_model
from training.retraining import Retraining
from training.splitting import Split, split

CATEGORIES, EACH = 8, 10
ITEMS = [f"{category}-{number}" for category in range(CATEGORIES) for number in range(EACH)]
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


def make_shop(baskets: int, seed: int = 5) -> Baskets:
    """Baskets of 3 to 5 items of one category, and one of any."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(baskets):
        own = rng.integers(CATEGORIES) * EACH + rng.permutation(EACH)[: rng.integers(3, 6)]
        rows.append(np.unique([*own, rng.integers(len(ITEMS))]).astype(np.int32))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Baskets(tuple(ITEMS), np.concatenate(rows), offsets, keys=rng.random(baskets))


def features(ids: tuple[str, ...]) -> ItemFeatures:
    names = {item: WORDS[(7 * row + row // EACH) % len(WORDS)] for row, item in enumerate(ITEMS)}
    prices = np.random.default_rng(6).lognormal(size=len(ITEMS))
    price = dict(zip(ITEMS, prices.tolist(), strict=True))
    return ItemFeatures.of(
        [names[item] for item in ids],
        [f"Category {item.split('-')[0]}" for item in ids],
        [price[item] for item in ids],
    )


HIDDEN = [f"{category}-{number}" for category in range(CATEGORIES) for number in (3, 8)]


@pytest.fixture(scope="module")
def trained() -> tuple[TrainedModel, Split, Baskets]:
    """A model that has never seen the hidden items, its data, and baskets with the hidden items."""
    baskets = make_shop(2400)
    rest, test = baskets.select(np.arange(2000)), baskets.select(np.arange(2000, 2400))
    known = translate(rest, [item for item in ITEMS if item not in HIDDEN])
    parts = split(known, validation=300)
    learned = train_model(parts, FitOptions(**QUICK), effort="quick")
    return learned, parts, test


@pytest.fixture(scope="module")
def fit(trained: tuple[TrainedModel, Split, Baskets]) -> ArrivalsFit:
    learned, parts, _ = trained
    assert learned.before_validation is not None
    found = fit_arrivals(
        learned.before_validation, features(parts.train.catalogue), parts.train, parts.validation
    )
    assert found is not None
    return found


def test_fitted_weights_learn_that_only_the_category_matters(fit: ArrivalsFit) -> None:
    defaults = ArrivalWeights()
    assert fit.fitted < fit.with_defaults - 0.1
    assert fit.weights.category > defaults.category
    assert fit.weights.category > 2 * max(fit.weights.words, fit.weights.letters, fit.weights.price)
    assert (fit.weights.attributes, fit.weights.parent) == pytest.approx(
        (defaults.attributes, defaults.parent)
    )
    assert fit.weights.rate == pytest.approx(1.0, abs=0.15)
    assert fit.weights.shape > 5  # the items of this shop are equally popular
    assert fit.items == len(ITEMS) - len(HIDDEN)


def test_hidden_items_are_likelier_where_they_were_bought(
    trained: tuple[TrainedModel, Split, Baskets], fit: ArrivalsFit
) -> None:
    learned, parts, test = trained
    model, known = learned.next_item, parts.train.catalogue
    usual = np.exp(model.log_usual)

    def mean_log(weights: ArrivalWeights) -> float:
        similarity = Similarity.of(features(known), usual, weights)
        arrivals = similarity.arrivals(features(tuple(HIDDEN)))
        logs = []
        for basket in test:
            ids = [test.catalogue[row] for row in basket]
            for target in set(ids) & set(HIDDEN):
                cart = [known.index(item) for item in ids if item not in HIDDEN]
                found = arrivals.probabilities(model.given(cart).probabilities)
                logs.append(np.log(found[HIDDEN.index(target)] / (1 + found.sum())))
        return float(np.mean(logs))

    uniform = ArrivalWeights(0, 0, 0, 0, 0, 0, rate=fit.weights.rate)
    assert mean_log(fit.weights) > mean_log(uniform) + 0.3
    assert mean_log(fit.weights) > mean_log(ArrivalWeights()) + 0.3  # which trust the names


def test_the_same_seed_gives_the_same_weights(
    trained: tuple[TrainedModel, Split, Baskets], fit: ArrivalsFit
) -> None:
    learned, parts, _ = trained
    assert learned.before_validation is not None
    arguments = learned.before_validation, features(parts.train.catalogue), parts.train, parts.validation
    assert fit_arrivals(*arguments) == fit


def test_without_features_or_with_few_purchases_nothing_is_fitted(
    trained: tuple[TrainedModel, Split, Baskets],
) -> None:
    learned, parts, _ = trained
    model, known = learned.before_validation, parts.train.catalogue
    assert model is not None
    nothing = features_of(Items(ids=known))
    assert fit_arrivals(model, nothing, parts.train, parts.validation) is None
    few = parts.validation.select(np.arange(5))
    assert fit_arrivals(model, features(known), parts.train, few) is None


def test_a_shop_with_few_items_keeps_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text("one\n" * 300)
    (tmp_path / "items.csv").write_text("item_id,name\none,Only item\n")
    store = ModelStore(tmp_path / "store")
    order = Retraining(str(tmp_path / "baskets.txt"), items=str(tmp_path / "items.csv"), report=False)
    found = ordered(store, replace(order, options={"steps": 5}))
    assert store.open(found.version).arrival_weights == ArrivalWeights()


def test_purchases_are_drawn_in_turns() -> None:
    places = np.array([0, 0, 0, 0, -1, 1, 2, 2, 0], dtype=np.int64)
    drawn = _balanced(places, 5, np.random.default_rng(0))
    assert sorted(places[drawn].tolist()) == [0, 0, 1, 2, 2]
    assert len(_balanced(places, 100, np.random.default_rng(0))) == 8


def test_the_weights_are_stored_with_the_version(tmp_path: Path) -> None:
    baskets = make_shop(600)
    (tmp_path / "baskets.txt").write_text(written(baskets))
    known = features(tuple(ITEMS))
    rows = zip(ITEMS, known.names, known.categories, known.prices.tolist(), strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "items.csv").write_text("\n".join(["item_id,name,category,price", *lines]))
    store = ModelStore(tmp_path / "store")
    order = Retraining(str(tmp_path / "baskets.txt"), items=str(tmp_path / "items.csv"), report=False)
    version = ordered(store, replace(order, options=QUICK)).version
    stored = store.open(version)
    assert stored.manifest.arrivals is not None
    assert stored.arrival_weights.category > ArrivalWeights().category
    written_down = json.loads((stored.folder / "manifest.json").read_text())
    assert written_down["arrivals"] == asdict(stored.arrival_weights)
    assert written_down["metrics"]["arrivals"]["items"] == len(ITEMS)
    older = republished(store, version)
    assert older.manifest.arrivals is None
    assert older.arrival_weights == ArrivalWeights()
