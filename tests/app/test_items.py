from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from scipy import stats

from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually
from tests.app.app_shop import draft, item_ids, planted_kernel, publish


def recommended(shop: httpx.Client, **query: Any) -> dict[str, dict[str, Any]]:
    answer = shop.get("/recommend", params={"k": 100, **query}).json()
    return {item["item_id"]: item for item in answer["items"]}


def test_item_search_pages_return_every_item_once(shop: httpx.Client) -> None:
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 7}
    while True:
        page = shop.get("/items", params=query).json()
        seen += [item["item_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == item_ids()


def test_item_search_by_words_and_category(shop: httpx.Client) -> None:
    found = shop.get("/items", params={"q": "1 CAM"}).json()["items"]
    assert [item["item_id"] for item in found] == [f"camera-{n}" for n in (1, 10, 11, 12, 13, 14)]
    photo = shop.get("/items", params={"category": "Photo", "q": "-14"}).json()["items"]
    assert [item["item_id"] for item in photo] == ["camera-14", "compact-14"]
    assert shop.get("/items", params={"category": "Unknown"}).status_code == 422
    for cursor in ("%%%", "bm8gc3VjaCBpdGVt", "é"):
        assert shop.get("/items", params={"cursor": cursor}).status_code == 422


def test_item_details(shop: httpx.Client) -> None:
    assert shop.get("/items/camera-2").json() == {
        "item_id": "camera-2",
        "name": "Camera 2",
        "category": "Photo",
        "price": 18.0,
        "in_stock": True,
        "boost": 1.0,
        "count": 992,
        "image_url": None,
        "parent_id": None,
        "attributes": {},
        "cold": False,
    }
    missing = shop.get("/items/no/such item")
    assert missing.status_code == 404
    assert "no/such item" in missing.json()["detail"]


def related(shop: httpx.Client, **query: Any) -> list[str]:
    answer = shop.get("/items/camera-4/related", params={"k": 100, **query}).json()
    return [item["item_id"] for item in answer["items"]]


def test_related_items_have_the_posterior_lift_of_their_counts(shop: httpx.Client) -> None:
    complements = shop.get("/items/camera-4/related").json()
    assert complements["relation"] == "complement"
    (substitute,) = shop.get("/items/camera-4/related", params={"relation": "substitute"}).json()["items"]
    assert [item["item_id"] for item in complements["items"]] == ["tripod-4", "film-4"]
    assert substitute["item_id"] == "compact-4"
    kernel, names = planted_kernel(), item_ids()
    L = kernel.submatrix(range(kernel.size))
    K = np.eye(len(L)) - np.linalg.inv(np.eye(len(L)) + L)
    row = names.index("camera-4")
    for item, together in zip([*complements["items"], substitute], [80, 50, 2], strict=True):
        other = names.index(item["item_id"])
        mean = (1 - K[row, other] * K[other, row] / (K[row, row] * K[other, other])) ** 0.5
        posterior = stats.gamma(together + 5, scale=1 / (20 + 5 / mean))
        assert (item["together"], item["by_chance"]) == (together, pytest.approx(20))
        assert item["lift"] == pytest.approx(posterior.mean(), rel=1e-4)
        assert item["lift_low"] == pytest.approx(posterior.ppf(0.025), rel=0.02)
        assert item["lift_high"] == pytest.approx(posterior.ppf(0.975), rel=0.02)
        assert item["name"] == item["item_id"].replace("-", " ").capitalize()
    assert related(shop, k=1) == ["tripod-4"]
    assert shop.get("/items/unknown-1/related").status_code == 404


def test_item_without_substitutes_has_an_empty_list(shop: httpx.Client) -> None:
    answer = shop.get("/items/film-4/related", params={"relation": "substitute"}).json()
    assert answer["items"] == []


def test_related_items_filters(shop: httpx.Client) -> None:
    assert related(shop) == ["tripod-4", "film-4"]
    assert related(shop, exclude="tripod-4,unknown-1") == ["film-4"]
    assert related(shop, exclude='["film-4"]') == ["tripod-4"]
    assert related(shop, category="Accessories") == ["tripod-4", "film-4"]
    assert related(shop, category="Photo") == []
    assert related(shop, min_price=28) == ["film-4"]
    assert related(shop, max_price=28) == ["tripod-4"]
    answer = shop.get("/items/camera-4/related", params={"min_price": 5, "max_price": 4})
    assert answer.status_code == 422
    assert "min_price must not be above max_price" in answer.json()["detail"]


def test_related_items_price_filter_excludes_unknown_prices(shop: httpx.Client) -> None:
    def films(**query: Any) -> list[str]:
        answer = shop.get("/items/camera-1/related", params=query).json()  # film-1 has no price
        return [item["item_id"] for item in answer["items"]]

    assert films() == ["film-1"]
    assert films(max_price=1e6) == []


def test_related_items_exclude_sold_out_and_hidden_items(shop: httpx.Client) -> None:
    sold_out = shop.get("/items/camera-1/related").json()["items"]
    assert "tripod-1" not in [item["item_id"] for item in sold_out]  # sold out in the model
    for change in ({"in_stock": False}, {"boost": 0}):
        shop.patch("/items/tripod-4", json=change)
        assert related(shop) == ["film-4"]
        assert related(shop, in_stock=False) == (["film-4"] if "boost" in change else ["tripod-4", "film-4"])
        shop.patch("/items/tripod-4", json=dict.fromkeys(change))
    assert related(shop) == ["tripod-4", "film-4"]


def test_model_without_lifts_has_no_relations(start: Callable[..., Service], tmp_path: Path) -> None:
    """Models of release 0.1 have no lifts."""
    store = ModelStore(tmp_path / "store")
    store.activate(store.publish(replace(draft(), lifts=None)))
    shop = start().ready().client
    for relation in ("complement", "substitute"):
        assert related(shop, relation=relation) == []
    answer = shop.get("/recommend", params={"items": "camera-3", "k": 5}).json()
    assert {item["relation"] for item in answer["items"]} == {"neutral"}
    bundle = shop.get("/bundles", params={"items": "camera-3", "k": 2}).json()["bundles"][0]
    assert bundle["lifts"] == []
    shop.post("/carts/incoherent/items", json={"items": [{"item_id": n} for n in ("camera-0", "compact-0")]})
    insights = shop.get("/carts/incoherent/insights").json()
    assert insights["complements"] == insights["substitutes"] == []


def test_overrides_take_effect_at_once(service: Service) -> None:
    shop = service.client
    before = recommended(shop)
    assert shop.patch("/items/film-3", json={"boost": 2, "price": 7.5}).json()["boost"] == 2
    after = recommended(shop)
    odds = [
        found["film-3"]["probability"] / (1 - found["film-3"]["probability"]) for found in (before, after)
    ]
    assert odds[1] == pytest.approx(2 * odds[0])
    assert after["film-3"]["price"] == 7.5
    assert set(recommended(shop, max_price=7.5)) == {"film-3"}
    shop.patch("/items/film-3", json={"in_stock": False})
    assert "film-3" not in recommended(shop)
    assert shop.get("/items/film-3").json()["boost"] == 2
    shop.patch("/items/film-3", json={"in_stock": None, "price": None, "boost": None})
    assert recommended(shop) == before


def test_categories_list_their_number_of_items(shop: httpx.Client) -> None:
    answer = shop.get("/categories").json()
    assert answer["categories"] == [
        {"category": "Photo", "items": 30},
        {"category": "Accessories", "items": 30},
    ]
    assert answer["model_version"] == shop.get("/items").json()["model_version"]


@pytest.mark.parametrize("patch", [{}, {"boost": -1}, {"boost": False}, {"price": "cheap"}, {"stock": 3}])
def test_invalid_item_patch_changes_nothing(shop: httpx.Client, patch: dict[str, Any]) -> None:
    before = shop.get("/items/film-4").json()
    assert shop.patch("/items/film-4", json=patch).status_code == 422
    assert shop.get("/items/film-4").json() == before
    assert shop.patch("/items/unknown-1", json={"boost": 1}).status_code == 404


def test_overrides_reach_all_processes_and_survive_restarts_and_new_models(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    one, two = (start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY).ready() for _ in range(2))
    assert one.client.patch("/items/camera-1", json={"in_stock": False}).status_code == 401
    wrong = {"X-Admin-Key": "a-wrong-admin-key"}
    assert one.client.patch("/items/camera-1", json={"in_stock": False}, headers=wrong).status_code == 403
    right = {"X-Admin-Key": ADMIN_KEY}
    assert one.client.patch("/items/camera-1", json={"in_stock": False}, headers=right).status_code == 200
    assert "camera-1" not in recommended(one.client)
    eventually(
        lambda: "camera-1" not in recommended(two.client), "the other process did not apply the change"
    )
    newer = publish(tmp_path / "store")
    eventually(
        lambda: one.client.get("/models/active").json()["version"] == newer, "the new model was not loaded"
    )
    assert "camera-1" not in recommended(one.client)
    two.stop()
    three = start(REDIS_URL=valkey.url).ready()
    eventually(lambda: "camera-1" not in recommended(three.client), "the change was lost")
