import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import fpgrowth

from benchmarks import bundle_measures, bundle_peers, bundle_triples, bundles, bundles_page
from benchmarks.bundle_peers import Trained, choosers, most_frequent_pair
from ndpp import BasketIndex
from ndpp.kernel import Indices
from training.basket_matrix import basket_matrix
from training.baskets import Baskets, ItemRows
from training.next_item.basket_index import index_baskets
from training.options import FitOptions
from training.splitting import split
from training.synthetic import generate_baskets


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return generate_baskets(24, 1500, mean_size=5, seed=3)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "planted-0.pickle"


@pytest.fixture(scope="module")
def trained(baskets: Baskets, kept: Path) -> Trained:
    parts = split(baskets, validation=150, holdout=300, seed=0)
    return bundle_peers.train(parts, FitOptions(steps=30), kept)


@pytest.fixture(scope="module")
def index(baskets: Baskets) -> BasketIndex:
    return index_baskets(baskets, most=len(baskets))


def _sets(baskets: Baskets) -> list[set[int]]:
    return [set(basket.tolist()) for basket in baskets]


def _weighted_pairs(
    baskets: Baskets, cart: ItemRows, weights: tuple[float, ...]
) -> Iterator[tuple[float, set[int]]]:
    """Each pair outside the cart with the total weight of the baskets that hold it, by a plain loop."""
    for pair in itertools.combinations(sorted(set(range(24)) - set(cart.tolist())), 2):
        missing = [len(set(cart.tolist()) - basket) for basket in _sets(baskets) if set(pair) <= basket]
        yield sum(weights[m] for m in missing if m < min(len(weights), len(cart))), set(pair)


@pytest.mark.parametrize("most_missing", [0, 2])
@pytest.mark.parametrize("cart", [[3], [2, 9], [1, 5, 8]])
def test_most_frequent_pair_matches_plain_loop(
    baskets: Baskets, index: BasketIndex, cart: list[int], most_missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_peers, "_COLUMNS", 2)  # several attempts until the best pair is certain
    rows, likely = np.array(cart, dtype=np.int32), np.linspace(0.1, 0.2, 24)
    weights = bundle_peers.MISSING_WEIGHTS[: most_missing + 1]
    best = max(weight for weight, _ in _weighted_pairs(baskets, rows, weights))
    found = set(most_frequent_pair(index, rows, most_missing, likely).tolist())
    tied = [pair for weight, pair in _weighted_pairs(baskets, rows, weights) if weight > best - 1e-6]
    assert found == max(tied, key=lambda pair: np.prod(likely[list(pair)]))


def test_cart_without_evidence_gets_most_likely_items(index: BasketIndex) -> None:
    likely = np.linspace(0.1, 0.2, 24)
    everything = np.arange(20, dtype=np.int32)
    assert most_frequent_pair(index, everything, 0, likely).tolist() == [23, 22]


def test_frequent_triples_are_those_of_fp_growth(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_triples, "_FEWEST_PAIRS", 4)
    monkeypatch.setattr(bundle_triples, "BUNDLES", 4)
    monkeypatch.setattr(bundle_triples, "LEAST_LIFT", 0.9)  # only pairs are planted
    relations, known = trained.predictor.relations, trained.known
    pairs = bundle_triples.Attracted(relations, known)
    found = bundle_triples.frequent_triples(pairs, trained.index)
    table = pd.DataFrame(basket_matrix(known).toarray() > 0)
    frequent = fpgrowth(table, min_support=0.5 / len(known), max_len=3)
    counted = {
        tuple(sorted(items)): round(share * len(known))
        for items, share in zip(frequent["itemsets"], frequent["support"], strict=True)
        if len(items) == 3
        and all(relations.between([a], [b]).lift[0] >= 0.9 for a, b in itertools.combinations(items, 2))
    }
    assert found
    assert found == bundle_triples.first_disjoint(sorted(counted, key=lambda t: (-counted[t], t)))


def test_kept_model_is_not_trained_again(
    trained: Trained, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(bundle_peers, "_learn")
    again = bundle_peers.train(trained.parts, FitOptions(steps=30), kept)
    cart = np.array([4, 7], dtype=np.int32)
    assert choosers(again)["tripod"](cart).tolist() == choosers(trained)["tripod"](cart).tolist()
    with pytest.raises(NameError):
        bundle_peers.train(trained.parts, FitOptions(steps=31), kept)


def test_every_way_adds_two_items_outside_the_cart(trained: Trained) -> None:
    cart = np.array([4, 7, 2], dtype=np.int32)
    for name, choose in choosers(trained).items():
        chosen = choose(cart).tolist()
        assert len(set(chosen)) == 2, name
        assert set(chosen).isdisjoint(cart.tolist()), name


def test_share_of_seeds_matches_plain_loop(baskets: Baskets) -> None:
    def following(cart: ItemRows) -> Indices:
        return (cart[0] + np.array([1, 2])) % 24

    def previous(cart: ItemRows) -> Indices:
        return (cart[0] - np.array([1, 2])) % 24

    ways = {"tripod": following, "other": previous}
    found = bundle_measures.measure_seeds(ways, np.arange(5), baskets)
    held = _sets(baskets)
    totals = np.array([sum(seed in basket for basket in held) for seed in range(5)])
    hits = {
        name: np.array(
            [
                sum({seed, *choose(np.array([seed], dtype=np.int32)).tolist()} <= b for b in held)
                for seed in range(5)
            ]
        )
        for name, choose in ways.items()
    }
    assert found["baskets"] == totals.sum()
    for name in ways:
        assert found["ways"][name]["share"] == pytest.approx(100 * hits[name].sum() / totals.sum())
    ahead = hits["tripod"] - hits["other"]
    assert found["ways"]["other"]["lead"] == pytest.approx(100 * ahead.sum() / totals.sum())
    drawn = np.random.default_rng(0).integers(0, 5, (20_000, 5))  # bootstrap of whole seeds
    spread = np.std(100 * ahead[drawn].sum(axis=1) / totals[drawn].sum(axis=1))
    # The bootstrap divides by S, not S − 1, and five seeds are few.
    assert found["ways"]["other"]["half"] == pytest.approx(1.96 * spread * (5 / 4) ** 0.5, rel=0.1)


def test_share_of_independent_carts_has_the_usual_interval() -> None:
    rng = np.random.default_rng(0)
    hits = {"tripod": rng.random(500) < 0.4, "other": rng.random(500) < 0.3}
    ahead = hits["tripod"].astype(float) - hits["other"]
    found = bundle_measures.shares({n: h.astype(float) for n, h in hits.items()}, np.ones(500))["other"]
    assert found["lead"] == pytest.approx(100 * ahead.mean())
    assert found["half"] == pytest.approx(100 * 1.96 * ahead.std(ddof=1) / 500**0.5)


def test_baskets_holding_any_triple_match_plain_loop(baskets: Baskets) -> None:
    triples = [(0, 1, 2), (3, 5, 9), (4, 6, 7)]
    expected = sum(any(set(triple) <= basket for triple in triples) for basket in _sets(baskets))
    assert bundle_triples.holding_any(baskets, triples).sum() == expected


def test_mean_log_lift_of_a_basket_is_that_of_its_pairs(trained: Trained) -> None:
    relations, rows = trained.predictor.relations, np.array([3, 1, 8], dtype=np.int32)
    pairs = [np.log(relations.between([a], [b]).lift[0]) for a, b in itertools.combinations(rows, 2)]
    assert bundle_measures.mean_log_lifts(relations, [rows])[0] == pytest.approx(np.mean(pairs))


def test_claims_of_known_probabilities() -> None:
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.05, 0.95, 20_000)
    true = (rng.random(20_000) < chance).astype(float)
    found = bundle_measures.claims(chance, np.full(20_000, 0.3), true)
    losses = [-np.log(p if t else 1 - p) for p, t in zip(chance, true, strict=True)]
    assert found["log_loss"]["tripod"]["mean"] == pytest.approx(np.mean(losses))
    assert found["log_loss"]["constant"]["lead"] > 10 * found["log_loss"]["constant"]["half"]
    assert abs(found["claimed"] - found["true"]) < found["half"] * 2
    assert [each["carts"] for each in found["bins"]] == [4000] * 5
    assert all(each["claimed"] == pytest.approx(each["true"], abs=0.03) for each in found["bins"])


def test_peer_outside_interval_is_named_on_the_page() -> None:
    ways = {
        "tripod": {"share": 20.0, "lead": 0.0, "half": 0.0},
        "counted": {"share": 22.0, "lead": -2.0, "half": 1.0},
        "ease": {"share": 21.0, "lead": -1.0, "half": 2.0},
    }
    lead = bundles_page.Comparison("from nothing", ways).lead()
    assert lead == ("-2.00 ± 1.00 (most frequent)", False)
    del ways["counted"]
    assert bundles_page.Comparison("from nothing", ways).lead().passed


def test_bundles_benchmark_writes_page(planted_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "RESULTS", planted_folder)
    monkeypatch.setattr(bundles_page, "_PAGE", planted_folder / "bundles.md")
    for name in ("CARTS", "CLAIMS", "COMPARED"):
        monkeypatch.setattr(bundle_measures, name, 60)
    bundles.main(data=planted_folder, steps=30, only="planted", items=300)
    (run,) = json.loads((planted_folder / "bundles.json").read_text())["runs"]
    assert run["held_out"] == 300
    popular = run["completion"]["popular"]["ways"]
    assert popular["tripod"]["share"] >= popular["determinant"]["share"]
    assert run["auc"]["ways"]["tripod"]["share"] > 50
    assert set(run["claims"]) == {"1", "2", "3", "5"}
    page = (planted_folder / "bundles.md").read_text()
    assert f"| **Tripod** | {popular['tripod']['share']:.2f} | " in page
    assert "## Speed" in page
