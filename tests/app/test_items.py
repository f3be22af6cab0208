from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from app_process import Service, Valkey, eventually
from app_shop import item_ids, planted_kernel, publish

KEY = "a-key-of-the-operator"


def recommended(shop: httpx.Client, **query: Any) -> dict[str, dict[str, Any]]:
    answer = shop.get("/recommend", params={"k": 100, **query}).json()
    return {item["item_id"]: item for item in answer["items"]}


def test_search_pages_through_everything_once(shop: httpx.Client) -> None:
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 7}
    while True:
        page = shop.get("/items", params=query).json()
        seen += [item["item_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert seen == item_ids()


def test_search_by_words_and_category(shop: httpx.Client) -> None:
    found = shop.get("/items", params={"q": "1 CAM"}).json()["items"]
    assert [item["item_id"] for item in found] == [f"camera-{n}" for n in (1, 10, 11, 12, 13, 14)]
    photo = shop.get("/items", params={"category": "Photo", "q": "-14"}).json()["items"]
    assert [item["item_id"] for item in photo] == ["camera-14", "compact-14"]
    assert shop.get("/items", params={"category": "Unheard"}).json()["items"] == []
    for cursor in ("%%%", "bm8gc3VjaCBpdGVt", "é"):
        assert shop.get("/items", params={"cursor": cursor}).status_code == 422


def test_an_item(shop: httpx.Client) -> None:
    assert shop.get("/items/camera-2").json() == {
        "item_id": "camera-2",
        "name": "Camera 2",
        "category": "Photo",
        "price": 18.0,
        "in_stock": True,
        "boost": 1.0,
        "count": 992,
    }
    missing = shop.get("/items/no/such item")
    assert missing.status_code == 404
    assert "no/such item" in missing.json()["detail"]


@pytest.mark.parametrize("relation", ["complement", "substitute"])
def test_related_items_are_those_of_the_dense_kernel(shop: httpx.Client, relation: str) -> None:
    answer = shop.get("/items/camera-4/related", params={"relation": relation, "k": 100}).json()
    kernel, names = planted_kernel(), item_ids()
    L, row = kernel.submatrix(range(kernel.size)), names.index("camera-4")
    effects = -L[row] * L[:, row] / L[row, row]
    effects[row] = 0
    sign = 1 if relation == "complement" else -1
    strongest = names[int(np.argmax(sign * effects))]
    assert strongest == ("tripod-4" if relation == "complement" else "compact-4")
    assert answer["items"][0]["item_id"] == strongest
    for item in answer["items"]:
        other = names.index(item["item_id"])
        assert item["effect"] == pytest.approx(effects[other], rel=1e-4, abs=1e-9)
        assert item["lift"] == pytest.approx(1 + effects[other] / L[other, other], rel=1e-4)
        assert sign * item["effect"] > 0
    assert shop.get("/items/odd/related").status_code == 404


def test_related_items_that_are_sold_out_or_hidden_are_not_shown(shop: httpx.Client) -> None:
    def related() -> list[str]:
        answer = shop.get("/items/camera-4/related", params={"k": 100}).json()
        return [item["item_id"] for item in answer["items"]]

    assert "tripod-1" not in related()  # sold out as the model has it
    assert related()[0] == "tripod-4"
    for change in ({"in_stock": False}, {"boost": 0}):
        shop.patch("/items/tripod-4", json=change)
        assert "tripod-4" not in related()
        shop.patch("/items/tripod-4", json=dict.fromkeys(change))
    assert related()[0] == "tripod-4"


def test_what_the_shop_says_counts_at_once(service: Service) -> None:
    shop = service.client
    before = recommended(shop)
    assert shop.patch("/items/film-3", json={"boost": 2, "price": 7.5}).json()["boost"] == 2
    after = recommended(shop)
    assert after["film-3"]["score"] == pytest.approx(2 * before["film-3"]["score"])
    assert after["film-3"]["price"] == 7.5
    assert set(recommended(shop, max_price=7.5)) == {"film-3"}
    shop.patch("/items/film-3", json={"in_stock": False})
    assert "film-3" not in recommended(shop)
    assert shop.get("/items/film-3").json()["boost"] == 2
    shop.patch("/items/film-3", json={"in_stock": None, "price": None, "boost": None})
    assert recommended(shop) == before


def test_categories_count_their_items(shop: httpx.Client) -> None:
    answer = shop.get("/categories").json()
    assert answer["categories"] == [
        {"category": "Photo", "items": 30},
        {"category": "Accessories", "items": 30},
    ]
    assert answer["model_version"] == shop.get("/items").json()["model_version"]


@pytest.mark.parametrize("patch", [{}, {"boost": -1}, {"boost": False}, {"price": "cheap"}, {"stock": 3}])
def test_a_bad_change_changes_nothing(shop: httpx.Client, patch: dict[str, Any]) -> None:
    before = shop.get("/items/film-4").json()
    assert shop.patch("/items/film-4", json=patch).status_code == 422
    assert shop.get("/items/film-4").json() == before
    assert shop.patch("/items/odd", json={"boost": 1}).status_code == 404


def test_changes_reach_all_processes_and_outlive_restarts_and_models(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    one, two = (start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=KEY).ready() for _ in range(2))
    assert one.client.patch("/items/camera-1", json={"in_stock": False}).status_code == 401
    wrong = {"X-Admin-Key": "a-key-of-nobody"}
    assert one.client.patch("/items/camera-1", json={"in_stock": False}, headers=wrong).status_code == 403
    right = {"X-Admin-Key": KEY}
    assert one.client.patch("/items/camera-1", json={"in_stock": False}, headers=right).status_code == 200
    assert "camera-1" not in recommended(one.client)
    eventually(lambda: "camera-1" not in recommended(two.client), "the other process never heard of it")
    newer = publish(tmp_path / "store")
    eventually(
        lambda: one.client.get("/models/active").json()["version"] == newer, "the new model was never loaded"
    )
    assert "camera-1" not in recommended(one.client)
    two.stop()
    three = start(REDIS_URL=valkey.url).ready()
    eventually(lambda: "camera-1" not in recommended(three.client), "the change was lost")
