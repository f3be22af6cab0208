"""Insights into a cart: expected size, coherence, related pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import httpx
import pytest

from model_store import ModelStore
from tests.app.app_process import Service
from tests.app.app_shop import draft, item_ids, planted_sizes, publish


def test_insights_show_complements_substitutes_and_coherence(shop: httpx.Client) -> None:
    coherent = {"items": [{"item_id": name} for name in ("camera-0", "tripod-0", "unknown-1")]}
    shop.post("/carts/coherent/items", json=coherent)
    shop.post("/carts/incoherent/items", json={"items": [{"item_id": n} for n in ("camera-0", "compact-0")]})
    good, bad = (shop.get(f"/carts/{name}/insights").json() for name in ("coherent", "incoherent"))
    assert good["cart"]["unknown_items"] == ["unknown-1"]
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
def test_insights_forecast_the_basket_size(shop: httpx.Client, items: list[int], others: int) -> None:
    names = [item_ids()[row] for row in items] + [f"unknown-{number}" for number in range(others)]
    answer = shop.get("/insights", params={"items": json.dumps(names)}).json()
    forecast = planted_sizes().forecast(items, others)
    assert answer["probability_complete"] == pytest.approx(forecast.complete)
    assert answer["expected_further_items"] == pytest.approx(forecast.further)
    assert answer["basket_size"] == pytest.approx(asdict(forecast.size))


def test_insights_forecast_counts_items_beyond_the_cart_window(
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


def test_coherence_is_null_for_one_item_or_an_unseen_size(shop: httpx.Client) -> None:
    cameras = ",".join(f"camera-{group}" for group in range(6))
    for items in ("", "unknown-1,unknown-2", "camera-0", "camera-0,unknown-1", cameras):
        assert shop.get("/insights", params={"items": items}).json()["coherence"] is None


def test_insights_of_a_list_equal_those_of_a_cart(shop: httpx.Client) -> None:
    shop.post(
        "/carts/same/items", json={"items": [{"item_id": n} for n in ("camera-3", "unknown-1", "film-3")]}
    )
    stored = shop.get("/carts/same/insights").json()
    assert shop.get("/insights", params={"cart_id": "same"}).json() == stored
    listed = shop.get("/insights", params={"items": "camera-3,unknown-1,film-3"}).json()
    assert {**listed, "cart": {**listed["cart"], "cart_id": "same"}} == stored


def test_insights_of_a_list_have_an_etag(shop: httpx.Client) -> None:
    first = shop.get("/insights?items=camera-0")
    tag = {"If-None-Match": first.headers["ETag"]}
    assert shop.get("/insights?items=camera-0", headers=tag).status_code == 304
    assert shop.get("/insights?items=camera-1", headers=tag).status_code == 200
    both = shop.get("/insights", params={"cart_id": "same", "items": "camera-0"})
    assert both.status_code == 422
    assert "not both" in both.text


def test_model_of_release_0_1_has_no_forecast(tmp_path: Path, start: Callable[..., Service]) -> None:
    store = ModelStore(tmp_path / "store")
    store.activate(store.publish(replace(draft(), basket_sizes=None, coherence=None)))
    answer = start().ready().client.get("/insights?items=camera-0,tripod-0").json()
    for name in ("probability_complete", "expected_further_items", "basket_size", "coherence"):
        assert answer[name] is None
