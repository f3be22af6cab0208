"""Options of bundles: limits, included items, filters, dials, sizes and alternatives."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest

from tests.app.app_process import Service, ids_of, problem
from tests.app.bundle_shop import chosen, find, only


@pytest.fixture
def shop(bundle_service: Service) -> httpx.Client:
    return bundle_service.client


def test_max_total_price(shop: httpx.Client) -> None:
    assert only(shop, items="camera-3", k=2)["total_price"] == 48
    cheaper = only(shop, items="camera-3", k=2, max_total_price=47)
    assert cheaper["total_price"] <= 47
    assert len(cheaper["items"]) == 2
    assert chosen(shop, k=3, max_total_price=34) == {"camera-0", "tripod-0", "film-0"}
    assert find(shop, k=3, max_total_price=33)["bundles"] == []
    unpriced = find(shop, items="camera-1", k=2, max_total_price=500)["bundles"][0]
    assert "film-1" not in ids_of(unpriced)


def test_price_limit_that_only_the_cheapest_items_keep(shop: httpx.Client) -> None:
    """The cheapest items cost 10, 11, 12 and 13, and few purchases hold them with camera-14."""
    bundle = only(shop, items="camera-14", k=3, max_total_price=33)
    assert set(ids_of(bundle)) == {"camera-0", "tripod-0", "compact-0"}
    smaller = find(shop, items="camera-14", k=4, max_total_price=33)
    assert len(smaller["bundles"][0]["items"]) == 3
    assert smaller["fallback"]["message"] == "Too few items fit: a bundle of 3 instead of 4 items."
    assert find(shop, items="camera-14", k=3, max_total_price=9)["bundles"] == []
    given = {"items": "camera-0"}, {"include": "camera-0"}
    for basket, most, k in zip(given, (36, 46), (3, 4), strict=True):  # camera-0 is there already
        names = ids_of(only(shop, **basket, k=4, max_total_price=most))
        assert len(set(names)) == len(names) == k
        assert set(names) - {"camera-0"} == {"tripod-0", "compact-0", "film-0"}


def test_large_bundle_around_an_item(shop: httpx.Client) -> None:
    answer = find(shop, items="camera-14", k=50)
    assert len(chosen(shop, items="camera-14", k=50)) == 50
    assert answer["fallback"] is None


def test_max_per_category(shop: httpx.Client) -> None:
    bundle = only(shop, items="camera-3", k=2, max_per_category=1)
    assert {item["category"] for item in bundle["items"]} == {"Photo", "Accessories"}
    answer = find(shop, items="camera-3", k=3, max_per_category=1)
    assert answer["fallback"]["message"] == "Too few items fit: a bundle of 2 instead of 3 items."
    assert find(shop, k=3, max_per_category=1)["bundles"] == []


@pytest.mark.parametrize("cart", ["", "camera-9"])
def test_included_items_count_for_the_limits(shop: httpx.Client, cart: str) -> None:
    """camera-4 costs 26, compact-4 28, and both are in Photo; the price of film-1 is unknown."""
    query = {"items": cart, "k": 2, "include": "camera-4"}
    assert only(shop, **query, max_total_price=50)["total_price"] <= 50
    assert only(shop, **query, max_per_category=1)["items"][1]["category"] == "Accessories"
    impossible = {
        "these items cost 26.00: max_total_price is 25": {"max_total_price": 25},
        "the price of an item is unknown: max_total_price is 500": {
            "include": "film-1",
            "max_total_price": 500,
        },
        "2 of these items are in 'Photo': max_per_category is 1": {
            "include": "camera-4,compact-4",
            "max_per_category": 1,
        },
    }
    for message, limits in impossible.items():
        answer = shop.get("/bundles", params={**query, **limits})
        assert problem(answer) == (422, "invalid-request")
        assert answer.json()["errors"] == [{"where": "query.include", "message": message}]


@pytest.mark.parametrize("cart", ["", "camera-9"])
def test_included_items_alone_are_given_once(shop: httpx.Client, cart: str) -> None:
    whole = find(shop, items=cart, k=2, include="camera-4,film-4", alternatives=3)
    assert [set(ids_of(bundle)) for bundle in whole["bundles"]] == [{"camera-4", "film-4"}]
    assert whole["fallback"]["message"] == "Too few items fit: 1 instead of 3 bundles."
    alone = find(shop, items=cart, k=2, include="camera-4", min_price=1e9, alternatives=2)
    assert [ids_of(bundle) for bundle in alone["bundles"]] == [["camera-4"]]


def test_unknown_included_item_is_named(shop: httpx.Client) -> None:
    answer = shop.get("/bundles", params={"include": "camera-0,nothing", "k": 3})
    assert problem(answer) == (422, "invalid-request")
    assert answer.json()["errors"] == [
        {"where": "query.include", "message": "the model does not know item 'nothing'"}
    ]


def test_exclude_stock_and_filters(shop: httpx.Client) -> None:
    assert "tripod-3" not in chosen(shop, items="camera-3", k=2, exclude="tripod-3")
    assert "tripod-1" not in chosen(shop, items="camera-1", k=2)
    assert "tripod-1" in chosen(shop, items="camera-1", k=2, in_stock="false")
    assert chosen(shop, items="camera-3", k=2, category="Accessories") == {"tripod-3", "film-3"}
    none = find(shop, items="camera-3", k=2, min_price=1e9)
    assert none["bundles"] == []
    assert none["fallback"]["message"] == "No item fits the cart and the filters."
    few = find(shop, items="camera-3", k=3, max_price=11)
    assert set(ids_of(few["bundles"][0])) == {"camera-0", "tripod-0"}
    assert few["fallback"]["message"] == "Too few items fit: a bundle of 2 instead of 3 items."


def test_discovery_prefers_rare_items(shop: httpx.Client) -> None:
    gems, usual = (only(shop, k=3, discovery=discovery) for discovery in (1, -1))
    assert gems["baskets"] < usual["baskets"]
    for query in ({"discovery": 1}, {"cohesion": 1}):
        assert only(shop, items="camera-3,compact-7", k=2, **query)["probability"] > 0


def test_discovery_from_nothing_moves_gradually(shop: httpx.Client) -> None:
    found = [only(shop, k=3, discovery=discovery)["baskets"] for discovery in (-1, -0.5, 0, 0.5, 1)]
    assert found == sorted(found, reverse=True)


def test_problem_of_a_json_request_names_the_body(shop: httpx.Client) -> None:
    answer = shop.post("/bundles", json={"include": ["nothing"], "k": 3})
    assert answer.json()["errors"][0]["where"] == "body.include"


def test_items_go_with_a_given_item_if_any(shop: httpx.Client) -> None:
    for item in only(shop, items="camera-3", k=2)["items"]:
        assert item["goes_with"]["item_id"] == "camera-3"


def test_alternatives_have_as_many_items_as_the_first_bundle(shop: httpx.Client) -> None:
    answer = find(shop, items="camera-3", k=3, max_price=12, alternatives=10)
    sizes = [len(bundle["items"]) for bundle in answer["bundles"]]
    assert set(sizes) == {3}
    assert len(sizes) < 10
    assert answer["fallback"]["message"] == f"Too few items fit: {len(sizes)} instead of 10 bundles."


def test_max_k_chooses_the_size(shop: httpx.Client) -> None:
    assert len(chosen(shop, items="camera-3", k=1, max_k=4)) == 2  # tripod-3 and film-3
    assert len(chosen(shop, k=2, max_k=4)) == 3
    assert len(chosen(shop, items="camera-3", k=3, max_k=4)) >= 3


@pytest.mark.parametrize(
    "query", [{"k": 2}, {"k": 3}, {"k": 4, "items": "camera-3"}, {"k": 1, "items": "film-2"}]
)
def test_alternatives_share_at_most_half_of_their_items(shop: httpx.Client, query: dict[str, Any]) -> None:
    bundles = [set(ids_of(bundle)) for bundle in find(shop, **query, alternatives=4)["bundles"]]
    assert len(bundles) == 4
    for one, other in itertools.combinations(bundles, 2):
        assert len(one & other) <= query["k"] // 2


@pytest.mark.parametrize("options", [{}, {"items": "camera-3"}, {"items": "camera-3", "objective": "map"}])
def test_skip_gives_the_next_bundle(shop: httpx.Client, options: dict[str, str]) -> None:
    two = find(shop, k=3, alternatives=2, **options)["bundles"]
    assert find(shop, k=3, skip=1, **options)["bundles"] == two[1:]


def test_skip_beyond_the_last_bundle(shop: httpx.Client) -> None:
    answer = find(shop, k=3, skip=40)
    assert answer["bundles"] == []
    assert answer["fallback"]["message"] == "There is no further bundle."


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"objective": "together", "method": "greedy"}, "method belongs to objective=map"),
        ({"objective": "map", "max_k": 6}, "max_k belongs to objective=together"),
        ({"objective": "map", "include": "camera-0"}, "include belongs to objective=together"),
        ({"method": "greedy", "max_total_price": 9}, "max_total_price belongs to objective=together"),
        ({"method": "greedy", "max_per_category": 1}, "max_per_category belongs to objective=together"),
        ({"k": 3, "max_k": 2}, "max_k is 2, below k = 3"),
        ({"k": 1, "include": "camera-0,film-0"}, "include names more items than a bundle may have"),
        ({"k": 1, "max_total_price": 0}, "max_total_price"),
    ],
)
def test_inconsistent_requests_are_refused(shop: httpx.Client, query: dict[str, Any], words: str) -> None:
    answer = shop.get("/bundles", params=query)
    assert problem(answer) == (422, "invalid-request")
    assert words in str(answer.json()["errors"])


def test_exact_is_refused_if_there_are_too_many_sets(shop: httpx.Client) -> None:
    answer = shop.get("/bundles", params={"method": "exact", "k": 6})
    assert problem(answer) == (422, "invalid-request")
    (error,) = answer.json()["errors"]
    assert error["message"].startswith("exact would try 45,057,474 sets of 59 items, more than 2,000,000")
    best, greedy = (only(shop, k=2, method=method) for method in ("exact", "greedy"))
    assert best["log_det"] >= greedy["log_det"] - 1e-9
