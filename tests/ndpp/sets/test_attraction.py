"""Sets without a cart: counts against plain counting, constraints, disjoint sets, stored bundles."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp.lifts import COMPLEMENT
from ndpp.sets import Attraction, Constraints, CountedSet, Limit, TopBundles, disjoint
from tests.ndpp.sets.sets_shop import SIZE, baskets, predictor

CLASSES = ((2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 100))


def attraction() -> Attraction:
    return Attraction(predictor().relations, predictor().baskets)


def by_chance(rows: tuple[int, ...]) -> float:
    total = 0.0
    for smallest, largest in CLASSES:
        alike = [set(basket) for basket in baskets() if smallest <= len(basket) <= largest]
        if alike and largest >= len(rows):
            total += len(alike) * np.prod([np.mean([row in basket for basket in alike]) for row in rows])
    return total


def test_grown_sets_have_exact_counts_and_only_complements() -> None:
    found = attraction().sets(3, Constraints(np.ones(SIZE)), starts=20)
    assert {frozenset(each.rows) for each in found} >= {frozenset({0, 1, 2}), frozenset({3, 4})}
    for each in found:
        assert each.together == sum(set(each.rows) <= set(basket) for basket in baskets())
        assert each.by_chance == pytest.approx(by_chance(each.rows))
        assert each.worth == pytest.approx(each.together - each.by_chance)
        for place, row in enumerate(each.rows):
            others = predictor().relations.related(row, COMPLEMENT)
            assert set(each.rows[:place]) <= set(others.tolist())
    assert [each.worth for each in found] == sorted((each.worth for each in found), reverse=True)


def test_filters_limits_and_boosts_apply_to_sets_without_a_cart() -> None:
    without = Constraints(np.where(np.arange(SIZE) == 1, 0.0, 1.0))
    assert not any(1 in each.rows for each in attraction().sets(3, without, starts=20))
    marked = np.isin(np.arange(SIZE), [0, 1, 2])
    limited = Constraints(np.ones(SIZE), limits=[Limit.on(marked, 1)])
    assert {frozenset(each.rows) for each in attraction().sets(2, limited, starts=20)} == {frozenset({3, 4})}
    boosted = Constraints(np.where(np.arange(SIZE) == 3, 1000.0, 1.0))
    assert set(attraction().sets(2, boosted, starts=20)[0].rows) == {3, 4}
    cheap = Constraints(np.ones(SIZE), prices=np.arange(SIZE, dtype=np.float64), most_price=2.0)
    assert all(sum(each.rows) <= 2 for each in attraction().sets(3, cheap, starts=20))


def grown_plainly(pair: tuple[int, int], factors: np.ndarray, size: int) -> list[tuple[int, ...]]:
    """The pair, and the set after each further item: the complement of all with the highest worth."""
    partners, rows, found = attraction().partners, pair, [pair]
    while len(rows) < size:
        worth = {}
        for row in set.intersection(*(set(partners(each).tolist()) for each in rows)):
            together = sum({*rows, row} <= set(basket) for basket in baskets())
            if together >= 5 and factors[row] > 0:
                worth[row] = (together - by_chance((*rows, row))) * factors[row]
        if max(worth.values(), default=0.0) <= 0:
            break
        rows = *rows, max(worth, key=lambda row: worth[row])
        found.append(rows)
    return found


def test_counts_kept_of_one_question_serve_another() -> None:
    """One object answers questions with different filters and boosts as plain growth does."""
    shared, rng = attraction(), np.random.default_rng(0)
    for _ in range(20):
        factors = rng.choice([0.0, 0.5, 1.0, 1.0, 2.0], SIZE)
        found = shared.sets(4, Constraints(factors), starts=20)
        pairs = [each.rows for each in found if len(each.rows) == 2]
        grown = [rows for pair in pairs for rows in grown_plainly((pair[0], pair[1]), factors, 4)]
        assert {frozenset(each.rows) for each in found} == {frozenset(rows) for rows in grown}
        for each in found:
            expected = (each.together - by_chance(each.rows)) * np.prod(factors[list(each.rows)])
            assert each.worth == pytest.approx(expected)


def test_least_lift_excludes_weaker_pairs() -> None:
    relations = predictor().relations
    picky = Attraction(predictor().relations, predictor().baskets, least_lift=2.9)
    strong = picky.sets(3, Constraints(np.ones(SIZE)), starts=20)
    for each in strong:
        first, second = np.triu_indices(len(each.rows), 1)
        rows = np.array(each.rows)
        assert relations.between(rows[first], rows[second]).lift.min() >= 2.9
    assert len(strong) < len(attraction().sets(3, Constraints(np.ones(SIZE)), starts=20))


def test_disjoint_sets_are_the_first_without_common_items() -> None:
    sets = [CountedSet(rows, 9, 1.0, 5.0) for rows in ((0, 1), (1, 2), (3, 4), (5, 6))]
    assert [each.rows for each in disjoint(sets, 2)] == [(0, 1), (3, 4)]
    assert [each.rows for each in disjoint(sets, 9)] == [(0, 1), (3, 4), (5, 6)]


def test_top_bundles_of_each_size_are_the_best_sets() -> None:
    top = TopBundles.find(attraction())
    top.check(SIZE)
    for size in (2, 3):
        bundles = top.of_size(size)
        assert bundles
        grown = attraction().sets(size, Constraints(np.ones(SIZE)), starts=5_000)
        assert bundles == [each for each in grown if len(each.rows) == size]
    assert set(top.of_size(3)[0].rows) == {0, 1, 2}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("rows", np.array([0, SIZE], dtype=np.int32)),
        ("offsets", np.array([0, 3])),
        ("offsets", np.array([1, 2])),
        ("together", np.array([1, 2])),
        ("worth", np.array([np.nan])),
    ],
)
def test_damaged_top_bundles_are_refused(member: str, value: np.ndarray) -> None:
    arrays = vars(TopBundles.of([CountedSet((0, 1), 9, 1.0, 5.0)])) | {member: value}
    with pytest.raises(ValueError, match="top bundles"):
        TopBundles(**arrays).check(SIZE)
