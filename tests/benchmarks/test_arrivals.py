import numpy as np
import pytest

from benchmarks.arrivals import METRICS, _about, _category_means, _marks, _pooled
from ndpp.item_features import ItemFeatures
from training.evaluation.queries import Queries


def queries_of(carts: list[list[int]], targets: list[int]) -> Queries:
    rows = [np.array(cart, dtype=np.int32) for cart in carts]
    return Queries(rows, np.array(targets), np.array([len(cart) for cart in carts]))


def test_targets_are_ranked_among_all_items_outside_the_cart() -> None:
    known = np.array([0.9, 0.5, 0.3, 0.1])
    new = np.array([0.4, 0.2, 0.2])
    marks = _marks(queries_of([[0], []], [0, 1]), [known, known], [new, new])
    # The first target has one item above it of five others; the second four of six others, and one tie.
    assert marks["mpr"].tolist() == pytest.approx([100 * (1 - 1 / 5), 100 * (1 - 4.5 / 6)])
    assert marks["mpr_among_arrivals"].tolist() == pytest.approx([100.0, 25.0])
    assert marks["hit@100"].tolist() == [100.0, 100.0]
    many = np.linspace(2, 1, 150)
    assert _marks(queries_of([[]], [0]), [many], [new])["hit@100"].tolist() == [0.0]


def test_only_queries_about_hidden_items_are_kept_without_hidden_items_in_carts() -> None:
    row_of = np.array([0, -1, 1, -1, 2], dtype=np.int32)  # items 1 and 3 are hidden
    found = _about(np.array([1, 3]), queries_of([[0, 1, 4], [2], [0]], [3, 0, 1]), row_of)
    assert found.targets.tolist() == [1, 0]
    assert [cart.tolist() for cart in found.carts] == [[0, 2], [0]]


def test_arrivals_have_the_mean_popularity_of_their_category() -> None:
    known = ItemFeatures.of([None] * 4, ["A", "A", "B", None])
    new = ItemFeatures.of([None] * 3, ["A", "B", "C"])
    assert _category_means(known, new, np.array([1, 3, 10, 6])).tolist() == [2.0, 10.0, 5.0]


def test_intervals_resample_arrivals_and_not_queries() -> None:
    values = np.repeat([0.0, 100.0], [50, 50])
    marks = {"model": dict.fromkeys(METRICS, values)}
    few = _pooled([marks], np.repeat([0, 1], 50))["model"]["mpr"]
    many = _pooled([marks], np.arange(100))["model"]["mpr"]
    assert (few["mean"], few["low"], few["high"]) == (50.0, 0.0, 100.0)
    assert 38 < many["low"] < 45
    assert 55 < many["high"] < 62
