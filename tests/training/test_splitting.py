import numpy as np
import pytest

from training.baskets import Baskets
from training.errors import OptionError
from training.splitting import split


def test_split_parts_are_disjoint_and_complete(planted: Baskets) -> None:
    numbered = Baskets(planted.catalogue, np.arange(1500, dtype=np.int32), np.arange(1501))
    parts = split(numbered, validation=300, holdout=200, seed=3)
    assert [len(part) for part in parts] == [1000, 300, 200]
    assert sorted(np.concatenate([part.items for part in parts]).tolist()) == list(range(1500))
    again, other = (split(numbered, validation=300, holdout=200, seed=seed) for seed in (3, 4))
    assert np.array_equal(parts.test.items, again.test.items)
    assert not np.array_equal(parts.test.items, other.test.items)


def test_validation_size_of_small_data_is_a_tenth(planted: Baskets) -> None:
    assert len(split(planted).validation) == 150
    assert len(split(planted.select(np.arange(5))).validation) == 1


def test_split_of_too_few_baskets_is_an_error(planted: Baskets) -> None:
    with pytest.raises(OptionError, match="1500 baskets are too few for --validation 300 and --holdout 2000"):
        split(planted, validation=300, holdout=2000)


def test_select_keeps_contents_and_timestamps(planted: Baskets) -> None:
    times = np.arange(1500).astype("datetime64[us]")
    dated = Baskets(planted.catalogue, planted.items, planted.offsets, times)
    chosen = np.array([7, 3, 1499])
    part = dated.select(chosen)
    assert [basket.tolist() for basket in part] == [planted[number].tolist() for number in chosen]
    assert part.timestamps is not None
    assert part.timestamps.tolist() == times[chosen].tolist()
