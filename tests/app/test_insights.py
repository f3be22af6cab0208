"""What is said about a cart: the size it will have, its coherence, its pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import httpx
import pytest
from app_process import Service
from app_shop import draft, item_ids, planted_sizes, publish

from model_store import ModelStore


def test_insights_look_into_a_cart(shop: httpx.Client) -> None:
    coherent = {"items": [{"item_id": name} for name in ("camera-0", "tripod-0", "odd")]}
    shop.post("/carts/coherent/items", json=coherent)
    shop.post("/carts/torn/items", json={"items": [{"item_id": n} for n in ("camera-0", "compact-0")]})
    good, bad = (shop.get(f"/carts/{name}/insights").json() for name in ("coherent", "torn"))
    assert good["cart"]["unknown_items"] == ["odd"]
    assert (good["complements"][0]["first"], good["complements"][0]["second"]) == ("camera-0", "tripod-0")
    assert good["complements"][0]["lift"] > 1.5
    assert good["substitutes"] == []
    assert bad["complements"] == []
    assert bad["substitutes"][0]["lift"] < 0.9
    assert good["coherence"]["mean_lift"] == pytest.approx(good["complements"][0]["lift"])
    assert good["coherence"]["percentile"] > 80
    assert bad["coherence"]["percentile"] < 50
    assert shop.get("/carts/absent/insights").status_code == 404


@pytest.mark.parametrize(
    ("items", "others"), [([], 0), ([0], 0), ([0, 1], 1), ([], 2), ([0, 4, 8, 12, 16, 20], 0)]
)
def test_insights_forecast_the_size_of_the_basket(shop: httpx.Client, items: list[int], others: int) -> None:
    names = [item_ids()[row] for row in items] + [f"odd-{number}" for number in range(others)]
    answer = shop.get("/insights", params={"items": json.dumps(names)}).json()
    forecast = planted_sizes().forecast(items, others)
    assert answer["probability_complete"] == pytest.approx(forecast.complete)
    assert answer["expected_further_items"] == pytest.approx(forecast.further)
    assert answer["basket_size"] == pytest.approx(asdict(forecast.size))


def test_a_cart_beyond_the_window_counts_whole_in_its_size(
    tmp_path: Path, start: Callable[..., Service]
) -> None:
    publish(tmp_path / "store")
    answer = (
        start(TRIPOD_CART_WINDOW="2")
        .ready()
        .client.get("/insights", params={"items": "film-3,camera-0,tripod-0"})
        .json()
    )
    assert answer["cart"]["ignored_items"] == ["film-3"]
    assert answer["probability_complete"] == pytest.approx(planted_sizes().forecast([15, 0, 1]).complete)


def test_insights_have_no_coherence_for_one_item_or_sizes_never_seen(shop: httpx.Client) -> None:
    cameras = ",".join(f"camera-{group}" for group in range(6))
    for items in ("", "odd,odder", "camera-0", "camera-0,odd", cameras):
        assert shop.get("/insights", params={"items": items}).json()["coherence"] is None


def test_insights_into_a_list_equal_those_into_a_cart(shop: httpx.Client) -> None:
    shop.post("/carts/same/items", json={"items": [{"item_id": n} for n in ("camera-3", "odd", "film-3")]})
    stored = shop.get("/carts/same/insights").json()
    assert shop.get("/insights", params={"cart_id": "same"}).json() == stored
    listed = shop.get("/insights", params={"items": "camera-3,odd,film-3"}).json()
    assert {**listed, "cart": {**listed["cart"], "cart_id": "same"}} == stored


def test_insights_into_a_list_have_an_etag(shop: httpx.Client) -> None:
    first = shop.get("/insights?items=camera-0")
    tag = {"If-None-Match": first.headers["ETag"]}
    assert shop.get("/insights?items=camera-0", headers=tag).status_code == 304
    assert shop.get("/insights?items=camera-1", headers=tag).status_code == 200
    both = shop.get("/insights", params={"cart_id": "same", "items": "camera-0"})
    assert both.status_code == 422
    assert "not both" in both.text


def test_a_version_of_release_0_1_has_no_forecast(tmp_path: Path, start: Callable[..., Service]) -> None:
    store = ModelStore(tmp_path / "store")
    store.activate(store.publish(replace(draft(), basket_sizes=None, coherence=None)))
    answer = start().ready().client.get("/insights?items=camera-0,tripod-0").json()
    for name in ("probability_complete", "expected_further_items", "basket_size", "coherence"):
        assert answer[name] is None
