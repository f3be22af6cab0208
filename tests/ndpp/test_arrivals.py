import math
from dataclasses import replace

import numpy as np
import pytest

from ndpp.arrivals import NEIGHBOURS, Arrivals, ArrivalWeights, Similarity
from ndpp.item_features import Attribute, ItemFeatures, attribute_tokens, letters, words

WORDS = ("red", "white", "dry", "wine", "soap", "bar", "crème", "brûlée", "milk", "Tea")
CATEGORIES = (None, "Drinks", "Drinks > Wine", "Drinks > Wine > Red", "Care > Soap", "Care")


def random_features(size: int, seed: int) -> ItemFeatures:
    """Items of which each feature is sometimes unknown."""
    rng = np.random.default_rng(seed)
    names = [" ".join(rng.choice(WORDS, 3)) if rng.random() < 0.8 else None for _ in range(size)]
    categories = [CATEGORIES[place] for place in rng.integers(len(CATEGORIES), size=size)]
    prices = [float(price) if price > 0.2 else None for price in rng.random(size)]
    parents = [f"p{rng.integers(size)}" if rng.random() < 0.5 else None for _ in range(size)]
    attributes: list[dict[str, Attribute]] = [
        {
            "brand": f"b{rng.integers(3)}",
            "litres": float(rng.integers(4)),
            "tags": ["a", "b"][: rng.integers(3)],
        }
        for _ in range(size)
    ]
    return ItemFeatures.of(names, categories, prices, parents, attributes)


def cosine(one: list[str], other: list[str], all_texts: list[list[str]]) -> float:
    def rarity(token: str) -> float:
        return math.log(1 + len(all_texts) / max(sum(token in text for text in all_texts), 1))

    def length(tokens: set[str]) -> float:
        return math.sqrt(sum(rarity(token) ** 2 for token in tokens))

    common = set(one) & set(other)
    return (
        sum(rarity(token) ** 2 for token in common) / (length(set(one)) * length(set(other))) if common else 0
    )


def slow_similarities(known: ItemFeatures, row: int, new: ItemFeatures, place: int) -> list[float]:
    category = 0.0
    one, other = known.categories[row], new.categories[place]
    if one is not None and other is not None:
        paths = one.split(" > "), other.split(" > ")
        longest = max(map(len, paths))
        same = [
            n for n in range(1, longest + 1) if paths[0][:n] == paths[1][:n] and n <= min(map(len, paths))
        ]
        category = len(same) / longest
    price = math.exp(-abs(math.log(known.prices[row]) - math.log(new.prices[place])))
    texts = [
        cosine(split(known.names[row]), split(new.names[place]), [split(name) for name in known.names])
        for split in (words, letters)
    ]
    tokens = [attribute_tokens(each) for each in known.attributes]
    attributes = cosine(tokens[row], attribute_tokens(new.attributes[place]), tokens)
    parent = float(known.parents[row] is not None and known.parents[row] == new.parents[place])
    return [category, *texts, 0.0 if math.isnan(price) else price, attributes, parent]


def test_the_fast_path_agrees_with_a_slow_one() -> None:
    known, new = random_features(60, 1), random_features(15, 2)
    weights = ArrivalWeights(rate=0.7)
    found = Similarity.of(known, np.full(60, 1 / 60), weights).arrivals(new)
    for place in range(len(new)):
        table = np.array([slow_similarities(known, row, new, place) for row in range(60)])
        scores = table @ weights.of_similarities
        resembling = np.flatnonzero(table.any(axis=1))
        best = sorted(resembling, key=lambda row: (-round(float(scores[row]), 9), int(row)))[:NEIGHBOURS]
        expected = np.exp(scores[best]) / np.exp(scores[best]).sum()
        dense, wanted = np.zeros(60), np.zeros(60)
        np.add.at(dense, found.neighbours[place], found.weights[place])
        wanted[best] = 0.7 * expected
        np.testing.assert_allclose(dense, wanted, atol=1e-9)
        assert scores[found.neighbours_of(place)[0]] == pytest.approx(scores.max())


def test_probabilities_are_mixtures_of_those_of_the_neighbours() -> None:
    rng = np.random.default_rng(3)
    arrivals = Similarity.of(random_features(50, 1), np.full(50, 0.02), ArrivalWeights(rate=1.5)).arrivals(
        random_features(6, 2)
    )
    np.testing.assert_allclose(arrivals.weights.sum(axis=1), 1.5)
    np.testing.assert_allclose(arrivals.probabilities(np.full(50, 0.02)), 1.5 * 0.02)
    known = rng.random(50)
    by_hand = [float(w @ known[n]) for n, w in zip(arrivals.neighbours, arrivals.weights, strict=True)]
    np.testing.assert_allclose(arrivals.probabilities(known), by_hand)


def test_an_item_without_features_is_as_popular_as_the_median_item() -> None:
    usual = np.random.default_rng(4).dirichlet(np.full(41, 0.3))
    nothing = ItemFeatures.of([None])
    arrivals = Similarity.of(random_features(41, 1), usual, ArrivalWeights()).arrivals(nothing)
    assert arrivals.probabilities(usual)[0] == pytest.approx(np.median(usual))
    assert arrivals.neighbours[0, 0] == usual.argmax()
    assert arrivals.neighbours_of(0) == []  # it resembles none of them
    shares = arrivals.weights[0] / arrivals.weights[0].sum()
    chosen = usual[arrivals.neighbours[0]]
    np.testing.assert_allclose(shares, chosen / chosen.sum(), atol=1e-9)


def test_only_items_that_resemble_an_arrival_are_its_neighbours() -> None:
    known = ItemFeatures.of(["green tea", "black tea", "soap", "towel"])
    arrivals = Similarity.of(known, np.array([0.1, 0.2, 0.3, 0.4]), ArrivalWeights()).arrivals(
        ItemFeatures.of(["white tea"])
    )
    assert set(arrivals.neighbours[0][arrivals.weights[0] > 0]) == {0, 1}


def test_excluded_items_are_nobodys_neighbours() -> None:
    known, new = random_features(40, 1), ItemFeatures.of([*random_features(5, 2).names, None])
    excluded = np.arange(40) % 2 == 0
    similarity = Similarity.of(known, np.full(40, 0.025), ArrivalWeights())
    arrivals = similarity.arrivals(new, excluded)
    used = arrivals.neighbours[arrivals.weights > 0]
    assert len(used)
    assert not excluded[used].any()
    none_left = similarity.arrivals(new, np.ones(40, dtype=np.bool_))
    assert not none_left.weights.any()


def test_the_same_features_give_the_same_arrivals_alone_or_together() -> None:
    known, new = random_features(80, 1), random_features(10, 2)
    similarity = Similarity.of(known, np.full(80, 1 / 80), ArrivalWeights())
    together = similarity.arrivals(new)
    for place in range(10):
        alone = similarity.arrivals(new.select(np.array([place])))
        np.testing.assert_array_equal(alone.neighbours[0], together.neighbours[place])
        np.testing.assert_array_equal(alone.weights[0], together.weights[place])


def test_variants_of_a_product_and_its_category_come_first() -> None:
    known = ItemFeatures.of(
        ["mug", "cup", "plate"], ["Home", "Home > Cups", "Home > Plates"], None, ["p1", None, None]
    )
    similarity = Similarity.of(known, np.full(3, 1 / 3), ArrivalWeights())
    new = ItemFeatures.of([None, None], ["Home > Cups", "Other"], None, [None, "p1"])
    arrivals = similarity.arrivals(new)
    assert [arrivals.neighbours_of(place)[0] for place in range(2)] == [1, 0]


def test_purchases_move_an_arrival_between_its_prior_and_its_own_rate() -> None:
    arrivals = Arrivals(np.array([[0, 1], [1, 2]]), np.array([[0.5, 0.5], [0.8, 0.2]]), shape=2.0)
    shares = np.array([0.01, 0.03, 0.05])
    nothing = arrivals.moved_by(np.zeros(2), np.zeros(2), shares)
    np.testing.assert_array_equal(nothing.weights, arrivals.weights)
    baskets, purchases = np.array([100.0, 100.0]), np.array([8.0, 0.0])
    moved = arrivals.moved_by(purchases, baskets, shares)
    expected = 100 * np.array([0.02, 0.034])
    np.testing.assert_allclose(moved.probabilities(shares), expected / 100 * (2 + purchases) / (2 + expected))
    much = arrivals.moved_by(np.array([6e6, 1e6]), np.array([1e8, 1e8]), shares)
    np.testing.assert_allclose(much.probabilities(shares), [0.06, 0.01], rtol=1e-3)
    stiff = replace(arrivals, shape=1e9).moved_by(purchases, baskets, shares)
    np.testing.assert_allclose(stiff.weights, arrivals.weights, rtol=1e-6)


def test_words_have_no_accents_or_capitals_and_close_numbers_share_a_range() -> None:
    assert words("Crème-Brûlée 2x") == ["creme", "brulee", "2x"]
    assert letters("Tea") == [" te", "tea", "ea "]

    def common(one: float, other: float) -> int:
        return len(set(attribute_tokens({"ml": one})) & set(attribute_tokens({"ml": other})))

    assert common(500.0, 500.0) == 2
    assert common(500.0, 520.0) >= 1
    assert common(500.0, 750.0) == 0
    assert common(500.0, -500.0) == 0
    assert attribute_tokens({"vegan": True, "size": float("nan")}) == ["vegan=True"]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        ItemFeatures.of(["one", "two"], ["A"])
    with pytest.raises(ValueError, match="2 items and popularities of 3"):
        Similarity.of(ItemFeatures.of(["one", "two"]), np.ones(3), ArrivalWeights())


def test_rows_of_some_arrivals_are_replaced() -> None:
    known, usual = random_features(41, 1), np.full(41, 1 / 41)
    similarity = Similarity.of(known, usual, ArrivalWeights())
    named, nothing = similarity.arrivals(random_features(2, 2)), similarity.arrivals(ItemFeatures.of([None]))
    three = named.longer(3)
    assert three.probabilities(usual)[2] == 0
    assert three.neighbours_of(2) == []
    swapped = three.with_rows(np.array([2, 0]), similarity.arrivals(ItemFeatures.of(["red wine", None])))
    assert swapped.neighbours_of(0) == []
    assert swapped.neighbours_of(1) == named.neighbours_of(1)
    assert swapped.neighbours_of(2)
    assert swapped.with_rows(np.array([0]), similarity.arrivals(ItemFeatures.of(["soap"]))).alone == set()
    assert three.with_rows(np.array([1]), nothing).alone == {1}


def test_upper_and_lower_case_of_categories_are_the_same() -> None:
    known = ItemFeatures.of(["a", "b"], ["Drinks > Wine", "drinks > Beer"])
    new = ItemFeatures.of([None, None], ["DRINKS > wine", "Drinks > Wine"])
    table = Similarity.of(known, np.full(2, 0.5), ArrivalWeights()).alike
    np.testing.assert_array_equal(table.table(new, 0), table.table(new, 1))
    assert table.table(new, 0)[0].tolist() == [1.0, 0.5]
