"""Limits on groups of items."""

from __future__ import annotations

import numpy as np

from ndpp.limits import Limit

GROUPS = np.array([0, 0, 0, 1, 1, -1, -1], dtype=np.int32)


def test_limit_counts_each_group_by_itself() -> None:
    limit = Limit(GROUPS, 2)
    assert limit.allows([0, 1, 3, 4, 5, 6])
    assert not limit.allows([0, 1, 2])
    assert limit.allows([])
    assert limit.marked.tolist() == [True] * 5 + [False] * 2


def test_binding_groups_have_too_many_candidates() -> None:
    (group,) = Limit(GROUPS, 2).binding(np.array([0, 1, 2, 3, 5]))
    assert group.tolist() == [True, True, True, False, False]
    assert Limit(GROUPS, 3).binding(np.arange(7)) == []


def test_first_rows_of_each_group() -> None:
    kept = Limit(GROUPS, 1).first(np.array([5, 2, 0, 4, 3]))
    assert kept.tolist() == [False, True, False, True, False]


def test_limit_beside_chosen_rows() -> None:
    left = Limit(GROUPS, 2).besides([0, 5])
    assert all(limit.allows([1, 3, 4]) for limit in left)
    assert not all(limit.allows([1, 2]) for limit in left)
    assert not all(limit.allows([3, 4, 3]) for limit in left)


def test_limit_on_marked_rows_and_the_first_of_them() -> None:
    limit = Limit.on(GROUPS == 1, 1)
    assert limit.allows([0, 1, 2, 3])
    assert not limit.allows([3, 4])
    assert limit.up_to(4).groups.tolist() == [-1, -1, -1, 0]
