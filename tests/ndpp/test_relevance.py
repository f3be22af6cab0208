"""The relevance prior against plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import Relevance


def test_item_that_is_in_the_cart_twice_counts_once() -> None:
    relevance = Relevance(np.array([0, 1, 2]), np.array([1, 0]), np.array([0.5, 0.25]), floor=0.01)
    once, twice = relevance.above_floor([0, 1]), relevance.above_floor([0, 1, 0])
    assert [part.tolist() for part in once] == [[0, 1], [0.25, 0.5]]
    assert [part.tolist() for part in twice] == [[0, 1], [0.25, 0.5]]


@pytest.mark.parametrize("items", [300, 50_000])
def test_relevance_is_the_sum_over_the_cart(items: int) -> None:
    """Carts of few and of many neighbours use different sums; some items have no neighbours."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, items)
    counts[:3], counts[7] = 0, 2_000
    offsets = np.concatenate([[0], np.cumsum(counts)])
    neighbours = rng.integers(0, 60, offsets[-1]).astype(np.int32)
    relevance = Relevance(offsets, neighbours, rng.uniform(0, 1, offsets[-1]).astype(np.float32), 0.4)
    for cart in ([0, 1], [5], [5, 7], rng.integers(0, items, 12).tolist()):
        sums = np.zeros(items)
        for item in set(cart):
            span = slice(offsets[item], offsets[item + 1])
            np.add.at(sums, neighbours[span], relevance.weights[span])
        rows, values = relevance.above_floor(cart)
        np.testing.assert_array_equal(rows, np.flatnonzero(sums > 0.4))
        np.testing.assert_allclose(values, sums[rows], rtol=1e-6)
        assert rows.dtype == np.intp
