"""Histories of shoppers against plain counting."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import History
from ndpp.mixture import repeat_logit

BASKETS, AGES = [[4, 2, 2], [], [7, 4]], [20.0, 10.0, 3.0]


def test_counts_ages_and_last_purchases_per_item() -> None:
    history = History.of(BASKETS, AGES)
    assert history is not None
    assert history.baskets == 2  # an empty basket does not count
    assert history.items.tolist() == [2, 4, 7]
    assert history.counts.tolist() == [1, 2, 1]  # an item twice in a basket counts once
    assert history.last.tolist() == [20, 3, 3]
    expected = [np.exp(-20 / 30), np.exp(-20 / 30) + np.exp(-3 / 30), np.exp(-3 / 30)]
    assert history.decayed_counts(30).tolist() == pytest.approx(expected)
    assert history.holds(np.array([4, 5, 7])) == 2


def test_votes_of_own_baskets_grow_with_what_they_share_with_the_cart() -> None:
    history = History.of(BASKETS, AGES)
    assert history is not None
    rarity = np.arange(10, dtype=np.float32)
    assert history.votes(np.array([], dtype=np.intp), rarity).tolist() == [0, 0, 0]
    found = history.votes(np.array([7, 2, 9]), rarity)  # {2, 4} shares 2, {4, 7} shares 7
    assert found.tolist() == pytest.approx([2**2 / 2, 2**2 / 2 + 7**2 / 2, 7**2 / 2])


def test_longest_gap_moves_old_histories_and_keeps_recent_ones() -> None:
    history = History.of(BASKETS, AGES)
    returned = History.of(BASKETS, [1020.0, 1010.0, 1003.0])
    assert history is not None
    assert returned is not None
    assert returned.decayed_counts(30, 3.0).tolist() == pytest.approx(history.decayed_counts(30).tolist())
    assert history.decayed_counts(30, 50.0).tolist() == history.decayed_counts(30).tolist()
    assert returned.last.tolist() == [1020, 1003, 1003]  # what is shown stays true


def test_no_items_make_no_history() -> None:
    assert History.of([], []) is None
    assert History.of([[], []], [1.0, 2.0]) is None


def test_baskets_without_dates_are_a_usual_gap_apart() -> None:
    history = History.in_order([[1], [2], [1]], 5.0)
    assert history is not None
    assert dict(zip(history.items.tolist(), history.last.tolist(), strict=True)) == {1: 5.0, 2: 10.0}


def test_purchases_in_the_future_count_as_of_now() -> None:
    history = History.of([[1]], [-0.5])
    assert history is not None
    assert history.ages.tolist() == [0.0]


def test_repeat_logit_is_neutral_for_an_empty_cart() -> None:
    assert repeat_logit(0, 0) == 0
    assert repeat_logit(4, 4) == pytest.approx(np.log(5))
    assert repeat_logit(4, 0) == pytest.approx(-np.log(5))
