"""Coherence on synthetic baskets."""

from __future__ import annotations

import numpy as np

from ndpp.kernel import Indices, Vector
from training.baskets import Baskets
from training.statistics.coherence import learn_coherence

GROUPS, GROUP, POPULAR = 12, 6, 10
ITEMS = GROUPS * GROUP + POPULAR


def made_up(count: int, seed: int) -> Baskets:
    """Most of a basket comes from one group; the rest are best-sellers, bought with everything."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(count):
        group = rng.integers(GROUPS)
        own = POPULAR + GROUP * group + rng.choice(GROUP, rng.integers(1, 5), replace=False)
        popular = np.flatnonzero(rng.random(POPULAR) < 0.25)
        lists.append(np.concatenate([popular, own]))
    offsets = np.cumsum([0, *map(len, lists)])
    return Baskets(tuple(map(str, range(ITEMS))), np.concatenate(lists).astype(np.int32), offsets)


class CountedLifts:
    """Shrunk lifts from plain counts."""

    def __init__(self, baskets: Baskets) -> None:
        seen = np.zeros((len(baskets), ITEMS))
        for number, rows in enumerate(baskets):
            seen[number, rows] = 1
        self.together, self.count, self.baskets = seen.T @ seen, seen.sum(axis=0), len(baskets)

    def __call__(self, first: Indices, second: Indices) -> Vector:
        by_chance = self.count[first] * self.count[second] / self.baskets
        lifts: Vector = (self.together[first, second] + 5) / (by_chance + 5)
        return lifts


LIFTS = CountedLifts(made_up(3000, seed=0))
SCALE = learn_coherence(LIFTS, made_up(1000, seed=1))


def percentile(rows: list[int]) -> float:
    index = np.array(rows)
    first, second = np.triu_indices(len(rows), 1)
    mean = float(np.log(LIFTS(index[first], index[second])).mean())
    value = SCALE.percentile(mean, len(rows))
    assert value is not None
    return value


def test_coherence_percentiles_of_unseen_baskets_are_uniform() -> None:
    SCALE.check(ITEMS)
    unseen = [rows.tolist() for rows in made_up(600, seed=2) if 1 < len(rows) <= 8]
    values = np.array([percentile(rows) for rows in unseen])
    assert 40 < values.mean() < 60
    tenths = np.histogram(values, 10, (0, 100))[0] / len(values)
    assert tenths.max() < 0.2


def test_coherence_is_low_for_best_sellers_and_high_for_complements() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 4):
        best_sellers = [percentile(rng.choice(POPULAR, size, replace=False).tolist()) for _ in range(50)]
        complements = [percentile([POPULAR + GROUP * g + i for i in range(size)]) for g in range(GROUPS)]
        assert np.mean(best_sellers) < 35
        assert np.mean(complements) > 65


def test_coherence_of_size_class_with_few_baskets_is_unknown() -> None:
    scale = learn_coherence(LIFTS, made_up(30, seed=1))
    assert scale.baskets.sum() < 31
    assert scale.percentile(0.0, 20) is None
