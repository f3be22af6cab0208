"""Bundles that people buy whole, in a shop whose purchases are counted one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from ndpp.sets import SetPredictor
from tests.app.app_process import Service, get_json, ids_of, problem
from tests.app.app_shop import item_ids, publish
from tests.app.bundle_shop import (
    by_chance,
    chosen,
    find,
    held_by,
    only,
    predictor,
    purchases,
    rows_of,
    share_of_all,
)


@pytest.fixture
def shop(bundle_service: Service) -> httpx.Client:
    return bundle_service.client


@pytest.fixture(scope="module")
def sets(bundle_store: Path) -> SetPredictor:
    return predictor(bundle_store)


def test_default_objective_is_together(shop: httpx.Client) -> None:
    default, explicit = (
        find(shop, items="camera-3", k=2),
        find(shop, items="camera-3", k=2, objective="together"),
    )
    assert default["bundles"] == explicit["bundles"]
    assert (default["objective"], default["method"], default["fallback"]) == ("together", None, None)
    (bundle,) = default["bundles"]
    assert bundle["log_det"] is None
    assert [item["gain"] for item in bundle["items"]] == [None, None]


@pytest.mark.parametrize("options", [{"objective": "map"}, {"method": "greedy"}])
def test_map_is_chosen_by_objective_or_method(shop: httpx.Client, options: dict[str, str]) -> None:
    answer = find(shop, items="camera-3", k=2, **options)
    assert (answer["objective"], answer["method"]) == ("map", "greedy")
    (bundle,) = answer["bundles"]
    assert bundle["log_det"] == pytest.approx(sum(np.log(item["gain"]) for item in bundle["items"]))
    unknown = ("probability", "baskets", "baskets_with_given", "by_chance")
    assert [bundle[name] for name in unknown] == [None] * 4


@pytest.mark.parametrize("group", [0, 3, 14])
def test_bundle_around_an_item_is_what_the_baskets_hold(shop: httpx.Client, group: int) -> None:
    assert chosen(shop, items=f"camera-{group}", k=2) == {f"tripod-{group}", f"film-{group}"}
    assert chosen(shop, items=f"film-{group},tripod-{group}", k=1) == {f"camera-{group}"}


@pytest.mark.parametrize("given", [["camera-3"], ["camera-3", "compact-7"], ["film-1", "film-2", "camera-2"]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_probabilities_equal_those_of_the_set_model(
    shop: httpx.Client, sets: SetPredictor, given: list[str], k: int
) -> None:
    bundle = only(shop, items=",".join(given), k=k)
    prediction = sets.given(rows_of(given), include=rows_of(ids_of(bundle)))
    places = [int(place) for place in np.searchsorted(prediction.candidates, rows_of(ids_of(bundle)))]
    assert len(places) == k
    assert bundle["probability"] == pytest.approx(prediction.probability(places))
    singles = [item["probability"] for item in bundle["items"]]
    assert singles == pytest.approx(prediction.singles[places].tolist())
    assert bundle["probability"] <= min(singles) + 1e-9


@pytest.mark.parametrize("given", [[], ["camera-3"], ["camera-3", "tripod-3"], ["camera-3", "compact-7"]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_counts_equal_slow_counting(shop: httpx.Client, given: list[str], k: int) -> None:
    bundle = only(shop, items=",".join(given), k=k)
    together = [*given, *ids_of(bundle)]
    assert len(together) == len(given) + k
    assert bundle["baskets"] == held_by(*together)
    assert bundle["baskets_with_given"] == held_by(*given)
    assert bundle["by_chance"] == pytest.approx(by_chance(together))


def test_items_go_with_the_partner_of_the_surest_lift(shop: httpx.Client) -> None:
    bundle = only(shop, items="camera-3", k=2)
    for item in bundle["items"]:
        pairs = [pair for pair in bundle["lifts"] if item["item_id"] in (pair["first"], pair["second"])]
        best = max(pairs, key=lambda pair: pair["lift_low"])
        other = best["second"] if best["first"] == item["item_id"] else best["first"]
        name = other.capitalize().replace("-", " ")
        assert item["goes_with"] == {"item_id": other, "name": name, "lift": best["lift"]}
    stranger = only(shop, items="camera-3", k=1, category="Photo")["items"][0]
    assert stranger["goes_with"] is None


@pytest.mark.parametrize("k", [2, 3])
def test_bundles_from_nothing_hold_only_complements(shop: httpx.Client, sets: SetPredictor, k: int) -> None:
    bundles = find(shop, k=k, alternatives=5)["bundles"]
    assert len(bundles) == 5
    for bundle in bundles:
        assert min(pair["lift_low"] for pair in bundle["lifts"]) > 1
        assert bundle["probability"] == pytest.approx(share_of_all(sets, ids_of(bundle)))
        assert bundle["probability"] == pytest.approx(bundle["baskets"] / len(purchases()), rel=0.3)
        assert [item["probability"] for item in bundle["items"]] == [None] * k


@pytest.mark.parametrize("query", [{}, {"k": 4}, {"k": 2, "category": "Photo"}])
def test_no_bundle_from_nothing_if_no_items_belong_together(
    shop: httpx.Client, query: dict[str, Any]
) -> None:
    answer = find(shop, **query)
    assert answer["bundles"] == []
    assert answer["fallback"]["reason"] == "too_few_candidates"
    number = query.get("k", 5)
    assert answer["fallback"]["message"] == (
        f"No {number} items were found that pass the filters and are bought together more often than "
        "by chance."
    )


def test_single_items_from_nothing_are_the_most_frequent(shop: httpx.Client) -> None:
    bundles = find(shop, k=1, alternatives=3)["bundles"]
    counts = sorted((held_by(name) for name in item_ids() if name != "tripod-1"), reverse=True)
    assert [bundle["baskets"] for bundle in bundles] == counts[:3]
    assert [bundle["probability"] for bundle in bundles] == pytest.approx(
        np.array(counts[:3]) / len(purchases())
    )
    none = find(shop, k=1, min_price=1e9)
    assert none["fallback"]["message"] == "No item fits the cart and the filters."


def test_include_with_a_cart(shop: httpx.Client, sets: SetPredictor) -> None:
    bundle = only(shop, items="camera-3", k=3, include="tripod-1")
    assert set(ids_of(bundle)) == {"tripod-1", "tripod-3", "film-3"}  # though tripod-1 is sold out
    assert chosen(shop, items="camera-3", k=1, include="tripod-1") == {"tripod-1"}
    in_cart = only(shop, items="camera-3", k=2, include="camera-3")
    assert set(ids_of(in_cart)) == {"tripod-3", "film-3"}
    prediction = sets.given(rows_of(["camera-3"]), include=rows_of(ids_of(bundle)))
    places = np.searchsorted(prediction.candidates, rows_of(ids_of(bundle))).tolist()
    assert bundle["probability"] == pytest.approx(prediction.probability(places))


@pytest.mark.parametrize(
    "include", [["tripod-4"], ["tripod-4", "film-4"], ["tripod-4", "film-4", "camera-4"]]
)
def test_include_without_a_cart(shop: httpx.Client, sets: SetPredictor, include: list[str]) -> None:
    bundle = only(shop, k=3, include=",".join(include))
    assert ids_of(bundle)[: len(include)] == include
    assert set(ids_of(bundle)) == {"camera-4", "tripod-4", "film-4"}
    assert bundle["baskets"] == held_by("camera-4", "tripod-4", "film-4")
    assert bundle["baskets_with_given"] == len(purchases())
    assert bundle["probability"] == pytest.approx(share_of_all(sets, ids_of(bundle)))
    assert [item["probability"] for item in bundle["items"]] == [None] * 3


@pytest.mark.parametrize("given", [[], ["camera-3"]])
def test_boosts_change_the_choice_but_not_the_numbers(
    shop: httpx.Client, sets: SetPredictor, given: list[str]
) -> None:
    request = {"items": given, "k": 3, "boosts": {"items": {"film-12": 1000, "tripod-12": 1000}}}
    (bundle,) = shop.post("/bundles", json=request).json()["bundles"]
    assert {"film-12", "tripod-12"} < set(ids_of(bundle))
    assert bundle["baskets"] == held_by(*given, *ids_of(bundle))
    if given:
        prediction = sets.given(rows_of(given), include=rows_of(ids_of(bundle)))
        places = np.searchsorted(prediction.candidates, rows_of(ids_of(bundle))).tolist()
        assert bundle["probability"] == pytest.approx(prediction.probability(places))
    else:
        assert bundle["probability"] == pytest.approx(share_of_all(sets, ids_of(bundle)))


def test_cached_bundles_are_reused_until_an_item_changes(bundle_service: Service) -> None:
    shop, reused = bundle_service.client, "tripod_answers_reused_total"
    for cart in ("one", "two"):
        shop.post(f"/carts/{cart}/items", json={"items": [{"item_id": "camera-6"}, {"item_id": "unknown"}]})
    first, before = find(shop, cart_id="one", k=2), bundle_service.metric(reused)
    second = find(shop, cart_id="two", k=2)
    assert bundle_service.metric(reused) == before + 1
    assert second["bundles"] == first["bundles"]
    assert [answer["cart"]["cart_id"] for answer in (first, second)] == ["one", "two"]
    assert second["cart"]["unknown_items"] == ["unknown"]
    shop.patch("/items/tripod-6", json={"in_stock": False})
    assert "tripod-6" not in chosen(shop, cart_id="two", k=2)
    shop.patch("/items/tripod-6", json={"in_stock": None, "price": 99})
    assert only(shop, cart_id="two", k=2)["total_price"] == first["bundles"][0]["total_price"] - 35 + 99
    shop.patch("/items/tripod-6", json={"price": None, "boost": 0})
    assert "tripod-6" not in chosen(shop, cart_id="two", k=2)
    shop.patch("/items/tripod-6", json={"boost": None})
    assert find(shop, cart_id="two", k=2)["bundles"] == first["bundles"]


def test_bundles_have_an_etag_unless_for_a_stored_cart(shop: httpx.Client) -> None:
    shop.post("/carts/tagged/items", json={"item_id": "camera-0"})
    assert "etag" not in shop.get("/bundles", params={"cart_id": "tagged"}).headers
    for path in ("/bundles?k=2", "/bundles/top"):
        tag = shop.get(path).headers["etag"]
        assert shop.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_models_without_set_probabilities_use_map(start: Callable[..., Service], tmp_path: Path) -> None:
    publish(tmp_path / "store")
    shop = start().ready().client
    assert find(shop, items="camera-3", k=2)["objective"] == "map"
    for query in ({"objective": "together"}, {"include": "camera-0"}, {"max_total_price": 20}):
        answer = shop.get("/bundles", params=query)
        assert problem(answer) == (422, "invalid-request")
        assert "not fitted for together" in answer.json()["errors"][0]["message"]
        assert answer.json()["errors"][0]["where"] == f"query.{next(iter(query))}"
    top = get_json(shop, "/bundles/top")
    assert (top["bundles"], top["next_cursor"]) == ([], None)
