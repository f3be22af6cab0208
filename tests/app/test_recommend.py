from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from pydantic import TypeAdapter

from app.catalogue.changing import snapshot_of
from app.catalogue.served_model import ServedModel
from app.recommend.question import KnownCart, Question
from app.recommend.request import RecommendRequest
from app.recommend.schemas import BatchAnswer, Recommendations
from app.recommend.service import answer_one
from model_store import ModelStore
from ndpp import Kernel
from tests.app.app_process import Service, get_json, ids_of
from tests.app.app_shop import GROUPS, draft, item_ids, publish

SOLD_OUT = 5


def recommend(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    return get_json(shop, "/recommend", **query)


def test_stored_cart_list_and_json_body_get_the_same_recommendations(shop: httpx.Client) -> None:
    shop.post("/carts/three-ways/items", json={"items": [{"item_id": "camera-1"}, {"item_id": "film-1"}]})
    by_cart = recommend(shop, cart_id="three-ways", k=7)
    by_list = recommend(shop, items=["camera-1", "film-1"], k=7)
    by_json = shop.post("/recommend", json={"items": ["camera-1", "film-1"], "k": 7}).json()
    assert by_cart["items"] == by_list["items"] == by_json["items"]
    assert by_cart["cart"]["cart_id"] == "three-ways"
    assert by_cart["model_version"] == shop.get("/models/active").json()["version"]


def test_unknown_items_are_listed_and_ignored(shop: httpx.Client) -> None:
    answer = recommend(shop, items="camera-2,unknown-2,camera-2,unknown-1")
    assert answer["cart"]["unknown_items"] == ["unknown-2", "unknown-1"]
    assert answer["cart"]["items"] == ["camera-2"]
    assert answer["items"] == recommend(shop, items="camera-2")["items"]
    assert answer["fallback"] is None


def test_cart_of_unknown_items_gets_the_response_for_an_empty_cart(shop: httpx.Client) -> None:
    empty = recommend(shop, k=4)
    unknown = recommend(shop, items="unknown-2,unknown-1", k=4)
    assert unknown["items"] == empty["items"]
    assert unknown["cart"]["unknown_items"] == ["unknown-2", "unknown-1"]
    assert empty["fallback"] is None
    assert unknown["fallback"]["reason"] == "only_unknown_items"
    assert unknown["fallback"]["filled"] == 0
    batch = shop.post(
        "/recommend/batch", json={"carts": [{"items": ["unknown-2", "unknown-1"]}, {}], "k": 4}
    ).json()
    first, second = batch["results"]
    assert ids_of(first) == ids_of(second) == ids_of(empty)
    assert (first["fallback"], second["fallback"]) == (unknown["fallback"], None)


def test_too_few_candidates_after_filters_are_reported(shop: httpx.Client) -> None:
    query = {"items": "camera-0", "k": 5, "category": "Photo", "max_price": 16}
    few = recommend(shop, **query)
    assert set(ids_of(few)) == {"compact-0", "camera-1", "compact-1"}
    assert few["fallback"]["reason"] == "too_few_candidates"
    assert "3" in few["fallback"]["message"]
    assert recommend(shop, min_price=1e9)["items"] == []


def test_fill_respects_filters_and_boosts_of_zero(shop: httpx.Client) -> None:
    query = {"items": "camera-0", "k": 5, "category": "Photo", "max_price": 16}
    assert ids_of(recommend(shop, **query, fill=True)) == ids_of(recommend(shop, **query))
    hidden = {"items": {"film-0": 0}, "categories": {"Photo": 0}}
    shop.patch("/items/film-1", json={"boost": 0})
    answer = shop.post("/recommend", json={"k": 100, "fill": True, "boosts": hidden}).json()
    shop.patch("/items/film-1", json={"boost": None})
    assert {item["category"] for item in answer["items"]} == {"Accessories"}
    assert not {"film-0", "film-1", "tripod-1"} & set(ids_of(answer))  # tripod-1 is sold out


def test_fill_adds_popular_items_where_the_kernel_gives_no_gain(tmp_path: Path) -> None:
    """A kernel of rank 4 without a diagonal: with 4 items in the cart, no other item has a gain."""
    V = np.random.default_rng(1).normal(size=(4 * GROUPS, 4)).astype(np.float32)
    shop = draft()
    kernel = Kernel.symmetric(V, np.zeros(4 * GROUPS))
    store = ModelStore(tmp_path)
    version = store.publish(replace(shop, kernel=kernel, kind="symmetric", mixture=None))
    snapshot = snapshot_of(ServedModel.of(store.open(version)), {})
    options = RecommendRequest(k=3, fill=True, category=["Accessories"], exclude=["film-1"])
    cart = KnownCart.of(snapshot, (None, ["camera-0", "tripod-0", "compact-0", "film-0"]), window=50)
    answer = answer_one(Question(snapshot, cart, options))
    assert [item.item_id for item in answer.items] == ["tripod-2", "film-2", "tripod-3"]
    assert [item.probability for item in answer.items] == [None, None, None]
    assert answer.fallback is not None
    assert (answer.fallback.reason, answer.fallback.filled) == ("too_few_candidates", 3)


def test_cart_items_are_never_recommended(shop: httpx.Client) -> None:
    everything = item_ids()
    answer = shop.post("/recommend", json={"items": everything[:50], "k": 100, "in_stock": False}).json()
    assert set(ids_of(answer)) <= set(everything[50:])
    assert SOLD_OUT not in [everything.index(name) for name in ids_of(recommend(shop, k=100))]
    assert everything[SOLD_OUT] in ids_of(recommend(shop, k=100, in_stock=False))


def test_unknown_category_of_a_boost_is_refused(shop: httpx.Client) -> None:
    boosts = {"categories": {"Fotos": 2}}
    for path, body in (("recommend", {}), ("recommend/batch", {"carts": [{}]}), ("bundles", {})):
        answer = shop.post(f"/{path}", json={**body, "boosts": boosts})
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["where"] == "body.boosts.categories"
        assert "did you mean 'Photo'" in answer.text
    boosted = shop.post("/recommend", json={"k": 5, "boosts": {"categories": {"pHOTO": 0}}}).json()
    assert {item["category"] for item in boosted["items"]} == {"Accessories"}


def test_cart_window_keeps_the_latest_items(start: Callable[..., Service], tmp_path: Path) -> None:
    publish(tmp_path / "store")
    shop = start(TRIPOD_CART_WINDOW="3").ready().client
    answer = recommend(shop, items="camera-0,camera-1,camera-2,camera-3,camera-4", k=100)
    assert answer["cart"]["items"] == ["camera-2", "camera-3", "camera-4"]
    assert answer["cart"]["ignored_items"] == ["camera-0", "camera-1"]
    assert not {"camera-0", "camera-1"} & set(ids_of(answer))


def test_batch_equals_single_requests(shop: httpx.Client) -> None:
    shop.post("/carts/batched/items", json={"items": [{"item_id": "camera-1"}, {"item_id": "unknown-1"}]})
    carts = [{"items": ["camera-0", "film-4"]}, {"cart_id": "batched"}, {}, {"items": ["unknown-1"]}]
    options = {"k": 6, "cohesion": 0.5, "explain": True, "exclude": ["tripod-0"]}
    batch = shop.post("/recommend/batch", json={"carts": carts, **options}).json()
    singles = [shop.post("/recommend", json={**cart, **options}).json() for cart in carts]
    for together, alone in zip(batch["results"], singles, strict=True):
        for answer in (together, alone):
            answer.pop("took_ms")
        numbers = [
            [(item.pop("probability"), item.pop("times_usual")) for item in answer["items"]]
            for answer in (together, alone)
        ]
        shares = [
            [reason.pop("share") for item in answer["items"] for reason in item["because"]]
            for answer in (together, alone)
        ]
        assert together == alone
        assert np.allclose(*numbers, rtol=1e-5)
        assert np.allclose(*shares, rtol=1e-4, atol=1e-6)
    missing = shop.post("/recommend/batch", json={"carts": [{"cart_id": "batched"}, {"cart_id": "absent"}]})
    assert missing.status_code == 404
    assert "absent" in missing.json()["detail"]
    assert shop.post("/recommend/batch", json={"carts": [{}] * 257}).status_code == 422


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"k": 0}, "query.k"),
        ({"k": 101}, "query.k"),
        ({"cohesion": 1.1}, "query.cohesion"),
        ({"discovery": "nan"}, "query.discovery"),
        ({"decoupling": 0.5}, "query.decoupling"),
        ({"scoring": "magic"}, "query.scoring"),
        ({"cart_id": "a", "items": "b"}, "either cart_id or items"),
        ({"min_price": 3, "max_price": 2}, "min_price must not be above max_price"),
        ({"kk": 3}, "query.kk"),
    ],
)
def test_invalid_query_parameter_is_named(shop: httpx.Client, query: dict[str, Any], where: str) -> None:
    answer = shop.get("/recommend", params=query)
    assert answer.status_code == 422
    assert where in answer.json()["detail"]


def test_cached_recommendations_are_reused_until_cart_or_items_change(service: Service) -> None:
    shop, reused = service.client, "tripod_answers_reused_total"
    shop.post("/carts/cached-1/items", json={"items": [{"item_id": "camera-6"}, {"item_id": "unknown-1"}]})
    shop.post("/carts/cached-2/items", json={"items": [{"item_id": "camera-6"}, {"item_id": "unknown-1"}]})
    first, before = recommend(shop, cart_id="cached-1", k=9), service.metric(reused)
    second = recommend(shop, cart_id="cached-2", k=9)
    assert service.metric(reused) == before + 1
    assert second["items"] == first["items"]
    assert (first["cart"]["cart_id"], second["cart"]["cart_id"]) == ("cached-1", "cached-2")
    assert recommend(shop, cart_id="cached-1", k=8)["items"] == first["items"][:8]
    shop.post("/carts/cached-1/items", json={"item_id": "tripod-6"})
    assert recommend(shop, cart_id="cached-1", k=9)["items"] != first["items"]
    shop.patch(f"/items/{ids_of(second)[0]}", json={"in_stock": False})
    assert ids_of(recommend(shop, cart_id="cached-2", k=9))[0] == ids_of(second)[1]
    shop.patch(f"/items/{ids_of(second)[0]}", json={"in_stock": None})
    assert recommend(shop, cart_id="cached-2", k=9)["items"] == first["items"]


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("cart", [["camera-0", "unknown-1", "film-1"], ["unknown-1"], []])
def test_recommend_responses_match_the_declared_schema(
    shop: httpx.Client, cart: list[str], fill: bool
) -> None:
    options = {"k": 100, "explain": True, "fill": fill}
    answers: list[tuple[type, httpx.Response]] = [
        (Recommendations, shop.get("/recommend", params={"items": ",".join(cart), **options})),
        (Recommendations, shop.post("/recommend", json={"items": cart, **options})),
        (BatchAnswer, shop.post("/recommend/batch", json={"carts": [{"items": cart}] * 2, **options})),
    ]
    for kind, answer in answers:
        adapter = TypeAdapter[Any](kind)
        read = adapter.validate_json(answer.content, strict=True, extra="forbid")
        assert adapter.dump_json(read) == answer.content
        assert answer.headers["content-type"] == "application/json"


def test_recommend_for_a_missing_cart_returns_404(shop: httpx.Client) -> None:
    answer = shop.get("/recommend", params={"cart_id": "absent"})
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:tripod:problem:cart-not-found"
