"""Histories at the time of a basket, and the split in time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.training.habits import habitual_baskets
from training.baskets import NOBODY
from training.errors import OptionError
from training.histories import MOST_BASKETS, Histories
from training.splitting import last_baskets, split_temporal

BASKETS = habitual_baskets()


def test_history_holds_exactly_the_earlier_baskets_of_the_shopper() -> None:
    histories = Histories(BASKETS).before_each(BASKETS)
    assert BASKETS.shoppers is not None
    assert BASKETS.timestamps is not None
    for number in range(0, len(BASKETS), 37):
        same = BASKETS.shoppers == BASKETS.shoppers[number]
        earlier = np.flatnonzero(same & (BASKETS.timestamps < BASKETS.timestamps[number]))
        history = histories[number]
        if not len(earlier):
            assert history is None
            continue
        assert history is not None
        assert history.baskets == len(earlier)
        assert sorted(history.rows.tolist()) == sorted(np.concatenate([BASKETS[b] for b in earlier]).tolist())
        oldest = (BASKETS.timestamps[number] - BASKETS.timestamps[earlier].min()) / np.timedelta64(1, "D")
        assert history.ages.max() == pytest.approx(oldest)


def test_unknown_shoppers_have_no_history_and_long_histories_are_cut() -> None:
    unknown = replace(BASKETS, shoppers=np.full(len(BASKETS), NOBODY))
    assert set(Histories(unknown).before_each(unknown)) == {None}
    one = replace(BASKETS, shoppers=np.zeros(len(BASKETS), dtype=np.int64))
    assert one.timestamps is not None
    history = Histories(one).before(0, one.timestamps.max())
    assert history is not None
    assert history.baskets == MOST_BASKETS


def test_usual_gap_is_about_a_week() -> None:
    assert Histories(BASKETS).usual_gap() == pytest.approx(7, abs=0.5)


def test_temporal_split_learns_from_the_past_only() -> None:
    parts = split_temporal(BASKETS, below=0.0, validation=30, holdout=50)
    assert [len(parts.validation), len(parts.test)] == [30, 50]
    for part in parts:
        assert part.timestamps is not None
        assert part.shoppers is not None
    assert parts.train.timestamps.max() < parts.test.timestamps.min()  # type: ignore[union-attr]
    assert parts.validation.timestamps.max() < parts.test.timestamps.min()  # type: ignore[union-attr]
    assert len(np.unique(parts.test.shoppers)) == 50  # type: ignore[arg-type]
    assert set(parts.test.timestamps.tolist()) <= {  # type: ignore[union-attr]
        BASKETS.timestamps[number].item()  # type: ignore[index]
        for number in last_baskets(BASKETS)
    }


def test_temporal_split_leaves_out_baskets_held_out_by_key() -> None:
    parts = split_temporal(BASKETS, below=0.2, validation=30, holdout=50)
    assert parts.train.keys is not None
    assert parts.train.keys.min() >= 0.2


def test_temporal_split_needs_shoppers_and_enough_of_them() -> None:
    with pytest.raises(OptionError, match="needs a shopper_id and a timestamp"):
        split_temporal(replace(BASKETS, shoppers=None))
    with pytest.raises(OptionError, match="cannot ask about 81 shoppers: 80 have bought two baskets"):
        split_temporal(BASKETS, holdout=81)
