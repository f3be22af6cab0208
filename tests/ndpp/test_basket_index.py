"""Baskets that hold or share items, against a plain search."""

from __future__ import annotations

import numpy as np
import pytest

import training.next_item.basket_index
from ndpp import BasketIndex
from tests.ndpp.sets.sets_shop import baskets, make_baskets
from training.next_item.basket_index import index_baskets


def several() -> list[list[int]]:
    """The baskets of two or more items, newest first, as the index numbers them."""
    return [basket for basket in reversed(baskets()) if len(basket) > 1]


@pytest.mark.parametrize("rows", [[], [0], [0, 1], [1, 0, 2], [3, 12], [0, 3, 5, 9]])
def test_baskets_that_hold_all_rows(rows: list[int]) -> None:
    numbers, complete = index_baskets(make_baskets(baskets())).holding(rows)
    assert numbers.tolist() == [n for n, basket in enumerate(several()) if set(rows) <= set(basket)]
    assert complete


def test_baskets_of_common_items_are_incomplete_and_the_newest() -> None:
    index = index_baskets(make_baskets(baskets()), most=20)
    numbers, complete = index.holding([5])
    assert not complete
    assert len(numbers) == 20
    items, sizes = index.contents(numbers)
    newest = [basket for basket in several() if 5 in basket][:20]
    assert items.tolist() == [item for basket in newest for item in basket]
    assert sizes.tolist() == [len(basket) for basket in newest]


def test_baskets_that_share_items_are_limited_to_those_that_share_most() -> None:
    index, cart = index_baskets(make_baskets(baskets())), [0, 5, 6]
    shared = [len(set(cart) & set(basket)) for basket in several()]
    numbers, counts = index.sharing(cart, 2, 1000)
    assert numbers.tolist() == [n for n, count in enumerate(shared) if count >= 2]
    assert counts.tolist() == [count for count in shared if count >= 2]
    few, most = index.sharing(cart, 1, 5)
    assert most.tolist() == sorted(shared, reverse=True)[:5]
    assert few.tolist() == sorted(few.tolist(), key=lambda n: (-shared[n], n))
    assert index.sharing([], 1, 5)[0].tolist() == []


def test_lists_are_shortened_when_there_are_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = index_baskets(make_baskets(baskets()))
    monkeypatch.setattr(training.next_item.basket_index, "MOST_ENTRIES", 300)
    short = index_baskets(make_baskets(baskets()))
    assert short.most < whole.most
    assert len(short.postings) <= 300
    assert np.diff(short.starts).max() <= short.most


def test_index_without_the_length_of_its_lists_counts_as_short() -> None:
    arrays = vars(index_baskets(make_baskets(baskets()))).copy()
    del arrays["most"]
    assert BasketIndex(**arrays).most == 1000
