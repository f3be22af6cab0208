from __future__ import annotations

import itertools
from typing import Any

import httpx
import numpy as np
import pytest

from ndpp import RelatedItems
from tests.app.app_process import get_json, ids_of
from tests.app.app_shop import item_ids, planted_kernel, planted_lifts, planted_relevance

METHODS = ["greedy", "local_search", "stochastic", "mcmc", "sample"]


def find(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    return get_json(shop, "/bundles", **query)


def log_det(names: list[str], given: list[str]) -> float:
    kernel, everything = planted_kernel(), item_ids()
    both, cart = ([everything.index(name) for name in part] for part in (given + names, given))
    return float(
        np.linalg.slogdet(kernel.submatrix(both))[1]
        - (np.linalg.slogdet(kernel.submatrix(cart))[1] if cart else 0)
    )


def test_bundle_for_a_cart_uses_the_relevance_prior(shop: httpx.Client) -> None:
    request = {"k": 3, "items": ["camera-1"], "knobs": {"relevance": 2}}
    (bundle,) = shop.post("/bundles", json=request).json()["bundles"]
    names, everything, relevance = ids_of(bundle), item_ids(), planted_relevance()
    prior = np.full(len(everything), relevance.floor)
    rows, values = relevance.above_floor([everything.index("camera-1")])
    prior[rows] = values
    expected = log_det(names, ["camera-1"]) + 2 * sum(np.log(prior[everything.index(name)]) for name in names)
    assert bundle["log_det"] == pytest.approx(expected, rel=1e-4)
    assert sum(np.log(item["gain"]) for item in bundle["items"]) == pytest.approx(bundle["log_det"])
    assert "film-1" in names  # without the prior, more popular items would be chosen


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("given", [[], ["camera-2"]])
def test_bundle_figures_match_the_kernel_and_the_lifts(
    shop: httpx.Client, method: str, given: list[str]
) -> None:
    answer = find(shop, k=4, method=method, items=",".join(given))
    (bundle,) = answer["bundles"]
    names = ids_of(bundle)
    assert len(set(names)) == 4
    assert not set(names) & {*given, "tripod-1"}
    assert answer["fallback"] is None
    assert bundle["log_det"] == pytest.approx(log_det(names, given), rel=1e-4)
    assert sum(np.log(item["gain"]) for item in bundle["items"]) == pytest.approx(bundle["log_det"])
    prices = [item["price"] for item in bundle["items"]]
    assert bundle["total_price"] == (None if None in prices else pytest.approx(sum(prices)))
    pairs = {(pair["first"], pair["second"]): pair for pair in bundle["lifts"]}
    assert set(pairs) == set(itertools.combinations(given + names, 2))
    assert [pair["lift"] for pair in bundle["lifts"]] == sorted(
        (pair["lift"] for pair in bundle["lifts"]), reverse=True
    )
    relations, everything = RelatedItems(planted_kernel(), planted_lifts()), item_ids()
    for (first, second), pair in pairs.items():
        found = relations.between([everything.index(first)], [everything.index(second)])
        assert pair["lift"] == pytest.approx(found.lift[0], rel=1e-4)
        assert pair["lift_low"] == pytest.approx(found.low[0], rel=1e-4)
        assert pair["together"] == found.counted(0)
        assert pair["relation"] == ("neutral", "complement", "substitute")[found.relation[0]]


def test_greedy_bundle_contains_the_complement_of_the_cart(shop: httpx.Client) -> None:
    shop.post("/carts/bundled/items", json={"items": [{"item_id": "camera-3"}, {"item_id": "unknown-1"}]})
    answer = find(shop, cart_id="bundled", k=2, category="Accessories", discovery=1)
    assert "tripod-3" in ids_of(answer["bundles"][0])
    assert answer["cart"]["items"] == ["camera-3"]
    assert answer["cart"]["unknown_items"] == ["unknown-1"]


def test_alternative_bundles_do_not_overlap(shop: httpx.Client) -> None:
    bundles = find(shop, k=3, alternatives=3)["bundles"]
    names = [name for bundle in bundles for name in ids_of(bundle)]
    assert len(bundles) == 3
    assert len(set(names)) == 9
    assert bundles[0]["log_det"] >= bundles[1]["log_det"] >= bundles[2]["log_det"]


def test_local_search_is_no_worse_than_greedy(shop: httpx.Client) -> None:
    greedy, better = (find(shop, k=6, method=method)["bundles"][0] for method in ("greedy", "local_search"))
    assert better["log_det"] >= greedy["log_det"] - 1e-9


@pytest.mark.parametrize("method", ["stochastic", "mcmc", "sample"])
def test_same_seed_gives_the_same_random_bundle(shop: httpx.Client, method: str) -> None:
    first, again, other = (find(shop, k=5, method=method, seed=seed)["bundles"] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_bundle_filters_boosts_and_too_few_items(shop: httpx.Client) -> None:
    few = find(shop, k=5, category="Photo", max_price=14, exclude="camera-0")
    assert set(ids_of(few["bundles"][0])) == {"compact-0", "camera-1"}
    assert few["fallback"]["reason"] == "too_few_candidates"
    assert few["fallback"]["message"] == "Too few items fit: a bundle of 2 instead of 5 items."
    one = find(shop, k=2, category="Photo", max_price=14, exclude="camera-0", alternatives=2)["fallback"]
    assert (one["reason"], one["message"]) == (
        "too_few_candidates",
        "Too few items fit: 1 instead of 2 bundles.",
    )
    none = find(shop, k=2, min_price=1e9)
    assert none["bundles"] == []
    assert none["fallback"]["message"] == "No item fits the cart and the filters."
    request = {"k": 1, "boosts": {"items": {"film-9": 1000}}}
    assert ids_of(shop.post("/bundles", json=request).json()["bundles"][0]) == ["film-9"]
    assert shop.get("/bundles", params={"k": 51}).status_code == 422
    assert shop.get("/bundles", params={"method": "magic"}).status_code == 422


def test_bundles_with_only_unknown_items_equal_those_from_scratch(shop: httpx.Client) -> None:
    unknown, nothing = find(shop, k=3, items="unknown-1"), find(shop, k=3)
    assert unknown["bundles"] == nothing["bundles"]
    assert nothing["fallback"] is None
    assert unknown["fallback"]["reason"] == "only_unknown_items"
    assert unknown["fallback"] == shop.get("/recommend", params={"items": "unknown-1"}).json()["fallback"]


@pytest.mark.parametrize(
    ("path", "figures"),
    [
        ("/bundles", "a bundle of 3 instead of 5 items"),
        ("/recommend", "Only 3 items"),
        ("/bundles?alternatives=2", "1 instead of 2 bundles"),
    ],
)
def test_fallback_reports_both_unknown_items_and_too_few_candidates(
    shop: httpx.Client, path: str, figures: str
) -> None:
    query = {"items": "unknown-1", "k": 5, "category": "Photo", "max_price": 14}
    fallback = shop.get(path, params={**httpx.URL(path).params, **query}).json()["fallback"]
    assert fallback["reason"] == "only_unknown_items"
    assert "knows no item of the cart" in fallback["message"]
    assert figures in fallback["message"]
