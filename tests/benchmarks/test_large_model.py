"""The enlarged model: its parts fit together, and it is the trained model continued."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.large_model import Copies, large_model, publish
from benchmarks.trained_model import Trained, products, train, trained_model
from model_store import Items, ModelStore
from training.options import FitOptions
from training.synthetic import generate_baskets

ITEMS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trained")
    baskets = generate_baskets(ITEMS, 2000, mean_size=6, seed=7)
    counts = tuple(baskets.counts.tolist())
    items = Items(baskets.catalogue, names=baskets.catalogue, counts=counts)
    train(baskets, items, made, FitOptions(rank=6, skew_rank=4, steps=40))
    return made


@pytest.fixture(scope="module")
def trained(folder: Path) -> Trained:
    return trained_model(folder)


def test_rows_are_copies_in_order_of_popularity(trained: Trained) -> None:
    copies = Copies(trained, 333)
    copy, item = copies.origin
    assert len(set(zip(copy.tolist(), item.tolist(), strict=True))) == 333
    assert set(item[copy == 0].tolist()) == set(range(ITEMS))
    counts = np.array(trained.stored.items.counts)
    assert (np.diff(counts[item] / (copy + 1)) <= 0).all()
    assert [copies.row_of[c, i] for c, i in zip(copy, item, strict=True)] == list(range(333))


def test_smallest_model_is_the_trained_one(trained: Trained) -> None:
    stored, model = trained.stored, large_model(Copies(trained, ITEMS))
    assert model.relevance is not None and stored.relevance is not None
    assert model.baskets is not None and stored.baskets is not None
    assert np.array_equal(model.kernel.factors, stored.kernel.factors)
    assert np.array_equal(model.relevance.neighbours, stored.relevance.neighbours)
    assert np.array_equal(model.relevance.weights, stored.relevance.weights)
    assert np.array_equal(model.baskets.postings, stored.baskets.postings)
    assert model.lifts is not None and stored.lifts is not None
    assert np.array_equal(model.lifts.partners, stored.lifts.partners)


def test_copies_resemble_the_trained_items(trained: Trained) -> None:
    copies = Copies(trained, 333)
    model, stored = large_model(copies), trained.stored
    copy, item = copies.origin
    expected = stored.kernel.weights[item] / (1 + copy)
    ratio = model.kernel.weights / expected
    assert ratio[copy == 0] == pytest.approx(1)
    assert np.median(ratio) == pytest.approx(1, rel=0.15)
    assert model.relevance is not None and stored.relevance is not None
    trained_lengths = np.diff(stored.relevance.offsets)
    assert np.array_equal(np.diff(model.relevance.offsets), trained_lengths[item])
    row = int(copies.row_of[3, 5])
    near = model.relevance.neighbours[model.relevance.offsets[row] : model.relevance.offsets[row + 1]]
    span = slice(stored.relevance.offsets[5], stored.relevance.offsets[6])
    assert sorted(item[near].tolist()) == sorted(stored.relevance.neighbours[span].tolist())
    assert (np.diff(near) > 0).all()
    assert np.mean(copy[near] == 3) > 0.2
    assert model.baskets is not None
    assert len(model.baskets.offsets) > 5 * len(stored.baskets.offsets if stored.baskets else [])


def test_published_model_recommends(trained: Trained, tmp_path: Path) -> None:
    copies = Copies(trained, 200)
    versions = publish(tmp_path, copies, versions=2)
    store = ModelStore(tmp_path)
    assert store.active() == versions[0] and len(set(versions)) == 2
    carts = copies.carts([3] * 50, np.random.default_rng(0))
    assert all(len(set(cart)) == 3 for cart in carts)
    for cart in carts:
        found = store.open().next_item.given(cart).probabilities
        assert found.sum() == pytest.approx(1) and not found[cart].any()


def test_products_are_the_most_frequent_ones() -> None:
    baskets, items = products(50)
    assert len(items) == len(baskets.catalogue) == 50
    assert len(baskets) > 10_000 and baskets.shoppers is not None
    assert items.names[0] and items.categories[0] and (items.prices[0] or 0) > 0


def test_fewer_items_than_trained_are_refused(trained: Trained) -> None:
    with pytest.raises(ValueError, match="at least the 40 trained items"):
        Copies(trained, ITEMS - 1)
