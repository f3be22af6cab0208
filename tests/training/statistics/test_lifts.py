"""Lifts learned from baskets, against plain counting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import training.statistics.lift_prior
import training.statistics.lifts
from model_store import Draft, Items, Knobs, ModelStore
from ndpp import Kernel, Lifts, RelatedItems
from ndpp.lifts import COMPLEMENT, SUBSTITUTE
from training.baskets import Baskets
from training.evaluation.lifts import check_lifts, strongest_pairs
from training.fitting import fit
from training.options import FitOptions
from training.splitting import split
from training.statistics.lift_prior import fit_prior
from training.statistics.lifts import learn_lifts
from training.statistics.pair_counts import PairCounts, Pairs
from training.synthetic import generate_baskets

CLASSES = ((2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 100))


def make_baskets(rows: Sequence[Sequence[int]], size: int) -> Baskets:
    offsets = np.concatenate([[0], np.cumsum([len(basket) for basket in rows])]).astype(np.int64)
    items = np.array([row for basket in rows for row in basket], np.int32)
    return Baskets(tuple(f"item-{row}" for row in range(size)), items, offsets)


def some_kernel(size: int) -> Kernel:
    rng = np.random.default_rng(1)
    D = rng.normal(size=(4, 4))
    return Kernel.tied(0.3 * rng.normal(size=(size, 4)), D - D.T, rng.uniform(0.1, 0.5, size=size))


def lifts_of(baskets: Baskets, kernel: Kernel) -> Lifts:
    """Lifts learned from these baskets alone."""
    return learn_lifts(baskets, baskets.select(np.arange(0)), kernel)


@pytest.fixture(scope="module")
def mixed() -> Baskets:
    """Baskets of 1 to 40 of 60 items."""
    rng = np.random.default_rng(2)
    share = 1 / np.arange(1, 61)
    sizes = np.minimum(rng.geometric(0.15, size=800), 40)
    rows = [sorted(rng.choice(60, size=size, replace=False, p=share / share.sum())) for size in sizes]
    return make_baskets(rows, 60)


def by_chance(baskets: Sequence[set[int]], i: int, j: int) -> float:
    total = 0.0
    for smallest, largest in CLASSES:
        alike = [basket for basket in baskets if smallest <= len(basket) <= largest]
        if alike:
            total += sum(i in basket for basket in alike) * sum(j in basket for basket in alike) / len(alike)
    return total


def test_pair_counts_match_loop_over_baskets(mixed: Baskets) -> None:
    sets = [set(basket.tolist()) for basket in mixed]
    relations = RelatedItems(some_kernel(60), lifts_of(mixed, some_kernel(60)))
    first, second = np.triu_indices(60, 1)
    found, counts = relations.between(first, second), PairCounts(mixed)
    assert found.by_chance == pytest.approx(counts.by_chance_of(first, second))
    for pair in range(0, len(first), 7):
        i, j = int(first[pair]), int(second[pair])
        assert found.counted(pair) == sum({i, j} <= basket for basket in sets)
        assert found.by_chance[pair] == pytest.approx(by_chance(sets, i, j))


def test_lift_prior_is_recovered_from_simulated_counts() -> None:
    rng = np.random.default_rng(3)
    by_chance, kernel_lift = rng.exponential(3.0, 200_000), np.exp(rng.normal(0, 0.5, 200_000))
    lift = rng.gamma(4.0, np.exp(-0.3 + 1.2 * np.log(kernel_lift)) / 4.0)
    rows = np.arange(200_000)
    strong = rng.random(200_000) < 0.04
    lift[strong] = rng.gamma(0.8, np.exp(-0.3 + 1.2 * np.log(kernel_lift[strong])) * 10 / 0.8)
    pairs = Pairs(rows, rows, rng.poisson(lift * by_chance).astype(np.int32), by_chance, kernel_lift)
    prior = fit_prior(pairs)
    assert prior.level == pytest.approx(-0.3, abs=0.03)
    assert prior.slope == pytest.approx(1.2, abs=0.03)
    assert prior.weight == pytest.approx(4.0, rel=0.1)
    assert prior.tail_share == pytest.approx(0.04, rel=0.2)
    assert np.exp(prior.tail_level) == pytest.approx(10, rel=0.25)


@pytest.fixture(scope="module")
def brands() -> Baskets:
    """0 or 1, two brands of bread, is bought with 2 or 3, butter or jam; the rest, up to 39, is chance."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(6000):
        basket = rng.choice(np.arange(4, 40), size=6, replace=False).tolist()
        if rng.random() < 0.3:
            basket[:2] = int(rng.integers(0, 2)), int(rng.integers(2, 4))
        rows.append(sorted(basket))
    return make_baskets(rows, 40)


@pytest.fixture(scope="module")
def brand_relations(brands: Baskets) -> RelatedItems:
    return RelatedItems(some_kernel(40), lifts_of(brands, some_kernel(40)))


def test_only_brands_of_one_product_are_substitutes(brand_relations: RelatedItems) -> None:
    assert [side.tolist() for side in brand_relations.all_related(SUBSTITUTE)] == [[0, 2], [1, 3]]
    assert brand_relations.related(0, COMPLEMENT).tolist() == [2, 3]
    found = brand_relations.between([0, 0], [1, 2])
    assert found.high[0] < 0.3
    assert found.low[1] > 1


def test_complements_have_lower_bound_of_lift_above_one(mixed: Baskets) -> None:
    relations = RelatedItems(some_kernel(60), lifts_of(mixed, some_kernel(60)))
    found = relations.between(*np.triu_indices(60, 1))
    assert ((found.relation == COMPLEMENT) == ((found.low > 1) & (found.together > 0))).all()


def test_rare_pairs_are_dropped_above_size_limit(mixed: Baskets, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = lifts_of(mixed, some_kernel(60))
    assert everything.least == 1
    monkeypatch.setattr(training.statistics.lifts, "ENTRIES", len(everything.partners) // 2)
    lifts = lifts_of(mixed, some_kernel(60))
    lifts.check(60)
    assert lifts.least > 1
    assert len(everything.partners) // 4 < len(lifts.partners) <= len(everything.partners) // 2
    whole, part = (RelatedItems(some_kernel(60), each) for each in (everything, lifts))
    first, second = np.triu_indices(60, 1)
    counted, kept = whole.between(first, second), part.between(first, second)
    for pair in range(len(first)):
        count = counted.counted(pair)
        assert count is not None
        assert kept.counted(pair) == (count if count >= lifts.least else None)


def test_lift_prior_samples_pairs_in_large_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    rows = [sorted(rng.choice(200, size=6, replace=False)) for _ in range(5000)]
    baskets, kernel = make_baskets(rows, 200), some_kernel(200)
    exact = lifts_of(baskets, kernel)
    monkeypatch.setattr(training.statistics.lift_prior, "SAMPLED_PAIRS", 5000)
    sampled = lifts_of(baskets, kernel)
    assert sampled.level != exact.level
    assert sampled.level == pytest.approx(exact.level, abs=0.02)
    assert exact.level == pytest.approx(np.log(5 / 6), abs=0.05)  # a basket of six has five others


@pytest.mark.parametrize("rows", [[[0]], [[0], [1]], [[0, 1]], [[0], [1], [0, 1]]])
def test_few_baskets_give_lifts_without_relations(rows: list[list[int]]) -> None:
    size = 1 + max(map(max, rows))
    lifts = lifts_of(make_baskets(rows, size), some_kernel(size))
    lifts.check(size)
    assert not lifts.relations.any()
    if size == 2:
        assert np.isfinite(RelatedItems(some_kernel(2), lifts).between([0], [1]).lift).all()


def test_lifts_are_stored_with_version(
    brands: Baskets, brand_relations: RelatedItems, tmp_path: Path
) -> None:
    items = Items(brands.catalogue, *(((None,) * 40,) * 5))
    draft = Draft(
        kernel=some_kernel(40),
        kind="tied",
        items=items,
        relevance=None,
        knobs=Knobs(),
        hyperparameters={},
        metrics={},
        data_fingerprint="",
        seed=0,
        lifts=brand_relations.lifts,
    )
    store = ModelStore(tmp_path)
    stored = store.open(store.publish(draft))
    assert "lifts.safetensors" in stored.manifest.files
    assert stored.lifts is not None
    for name, value in vars(brand_relations.lifts).items():
        np.testing.assert_array_equal(getattr(stored.lifts, name), value)
        assert type(getattr(stored.lifts, name)) is type(value)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_relations_hold_on_unseen_baskets(share: float) -> None:
    baskets = generate_baskets(80, 12_000, mean_size=5, seed=5)
    parts = split(baskets, validation=300, holdout=int(share * len(baskets)))
    kernel = some_kernel(80)
    relations = RelatedItems(kernel, lifts_of(parts.train, kernel))
    check = check_lifts(relations, parts.test)
    assert check.complements >= 10
    assert check.claimed == pytest.approx(check.counted, rel=0.2)
    assert check.confirmed >= 0.9 * check.judged
    first, second = relations.all_related(COMPLEMENT)
    names = {
        tuple(sorted((baskets.catalogue[i], baskets.catalogue[j])))
        for i, j in zip(first, second, strict=True)
    }
    assert {(f"a{group}", f"b{group}") for group in range(8)} <= names


def test_lift_check_matches_loop_over_baskets(brand_relations: RelatedItems, brands: Baskets) -> None:
    unseen = brands.select(np.arange(500))
    sets = [set(basket.tolist()) for basket in unseen]
    check = check_lifts(brand_relations, unseen)
    pairs = list(zip(*brand_relations.all_related(COMPLEMENT), strict=True))
    lifts = brand_relations.between(*brand_relations.all_related(COMPLEMENT)).lift
    assert check.complements == len(pairs)
    assert check.counted == sum({i, j} <= basket for i, j in pairs for basket in sets)
    claimed = sum(lift * by_chance(sets, i, j) for lift, (i, j) in zip(lifts, pairs, strict=True))
    assert check.claimed == pytest.approx(claimed)
    assert (check.substitutes, check.judged, check.confirmed) == (2, 2, 2)


def test_strongest_pairs_have_the_numbers_of_the_service(brand_relations: RelatedItems) -> None:
    names = ["white bread", "rye bread", "butter", "jam", *(f"item {row}" for row in range(4, 40))]
    shown = strongest_pairs(brand_relations, names)
    assert {(pair.first, pair.second) for pair in shown.substitutes} == {
        ("white bread", "rye bread"),
        ("butter", "jam"),
    }
    assert [pair.lift_high for pair in shown.substitutes] == sorted(
        pair.lift_high for pair in shown.substitutes
    )
    best = shown.complements[0]
    found = brand_relations.between([names.index(best.first)], [names.index(best.second)])
    assert (best.lift, best.lift_low, best.lift_high) == (found.lift[0], found.low[0], found.high[0])
    assert (best.together, best.by_chance) == (found.counted(0), found.by_chance[0])


def test_lifts_of_complements_hold_on_unseen_baskets() -> None:
    """The kernel has learned from the counted baskets: as independent evidence it overstates the lifts."""
    baskets = generate_baskets(60, 6000, mean_size=4, seed=9)
    parts = split(baskets, validation=1500, holdout=2500)
    kernel = fit(parts.train, parts.validation, FitOptions(rank=10, skew_rank=10, steps=400)).kernel
    lifts = learn_lifts(parts.train, parts.validation, kernel)
    assert lifts.class_totals.sum() == len(parts.train) + len(parts.validation)
    found = check_lifts(RelatedItems(kernel, lifts), parts.test)
    assert found.complements > 10
    assert found.claimed == pytest.approx(found.counted, rel=0.2)


def test_lift_prior_with_too_few_validation_baskets_is_fitted_to_counts(mixed: Baskets) -> None:
    few = mixed.select(np.arange(5))
    rest = mixed.select(np.arange(5, len(mixed)))
    alone, both = lifts_of(rest, some_kernel(60)), learn_lifts(rest, few, some_kernel(60))
    assert both.prior.weight == pytest.approx(alone.prior.weight, rel=0.5)
