"""Substitutes for items of a cart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from model_store import Draft, ModelStore
from ndpp.lifts import SUBSTITUTE
from tests.app.app_process import ADMIN_KEY, Service, get_json, ids_of, problem
from tests.app.app_shop import draft, item_ids


def shop_draft() -> Draft:
    """camera-0 and tripod-1 are sold out; camera-1 has the substitutes tripod-1, compact-1 and film-1."""
    planted = draft()
    assert planted.lifts is not None
    camera = item_ids().index("camera-1")
    rows = np.repeat(np.arange(len(item_ids())), np.diff(planted.lifts.offsets))
    related = (rows == camera) | (planted.lifts.partners == camera)
    relations = np.where(related, SUBSTITUTE, planted.lifts.relations).astype(np.uint8)
    return replace(
        planted,
        items=replace(planted.items, in_stock=(False, *planted.items.in_stock[1:])),
        lifts=replace(planted.lifts, relations=relations),
    )


def publish(store: Path, model: Draft) -> None:
    models = ModelStore(store)
    models.activate(models.publish(model))


@pytest.fixture(scope="module")
def sold_out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    store = tmp_path_factory.mktemp("substitutes") / "store"
    publish(store, shop_draft())
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready().client


def replacements(client: httpx.Client, **query: Any) -> list[str]:
    """The ids of the replacements of the only item to replace."""
    (item,) = get_json(client, "/substitutes", **query)["items"]
    return [other["item_id"] for other in item["replacements"]]


def test_items_out_of_stock_are_replaced_by_default(sold_out: httpx.Client) -> None:
    answer = get_json(sold_out, "/substitutes", items="camera-0,film-0,tripod-1,unknown-1")
    assert answer["cart"] == {
        "cart_id": None,
        "items": ["camera-0", "film-0", "tripod-1"],
        "unknown_items": ["unknown-1"],
        "ignored_items": [],
    }
    assert ids_of(answer) == ["camera-0", "tripod-1"]
    camera, tripod = answer["items"]
    assert (camera["name"], camera["category"], camera["price"]) == ("Camera 0", "Photo", 10)
    assert camera["in_stock"] is tripod["in_stock"] is False
    assert [other["item_id"] for other in camera["replacements"]] == ["compact-0"]
    assert [other["item_id"] for other in tripod["replacements"]] == ["camera-1"]
    assert get_json(sold_out, "/substitutes", items="film-0")["items"] == []
    assert get_json(sold_out, "/substitutes")["items"] == []


def test_named_items_are_replaced_whether_in_stock_or_not(sold_out: httpx.Client) -> None:
    cart = {"items": "camera-0,camera-2,camera-3"}
    answer = get_json(sold_out, "/substitutes", **cart, replace="camera-3,camera-0,camera-3")
    assert ids_of(answer) == ["camera-3", "camera-0"]
    assert [item["in_stock"] for item in answer["items"]] == [True, False]
    assert replacements(sold_out, **cart, replace='["camera-3"]') == ["compact-3"]


def test_replacement_has_the_lift_of_related_items(sold_out: httpx.Client) -> None:
    (item,) = get_json(sold_out, "/substitutes", items="camera-0")["items"]
    related = get_json(sold_out, "/items/camera-0/related", relation="substitute")
    (other,) = item["replacements"]
    assert other["lift_high"] < 1
    assert other.items() >= related["items"][0].items()


def test_probability_is_that_of_the_next_item_of_the_rest(sold_out: httpx.Client) -> None:
    answer = get_json(sold_out, "/substitutes", items="camera-0,film-0,unknown-1,tripod-1")
    (other,) = answer["items"][0]["replacements"]
    rest = get_json(sold_out, "/recommend", items="film-0,tripod-1", k=100, in_stock=False)
    (same,) = [item for item in rest["items"] if item["item_id"] == "compact-0"]
    assert other["probability"] == pytest.approx(same["probability"], rel=1e-5)
    assert other["times_usual"] == pytest.approx(same["times_usual"], rel=1e-5)
    assert other["times_usual"] > 1.2  # film-0 is bought with compact-0


def test_replacement_in_a_cart_of_one_item_is_as_likely_as_usual(sold_out: httpx.Client) -> None:
    (item,) = get_json(sold_out, "/substitutes", items="camera-0")["items"]
    assert item["replacements"][0]["times_usual"] == pytest.approx(1, rel=1e-5)


def test_replacements_are_ordered_by_how_they_fit_the_rest(sold_out: httpx.Client) -> None:
    named = {"replace": "camera-1"}
    assert replacements(sold_out, items="camera-1,film-2", **named) == ["compact-1", "film-1"]
    with_tripod = "camera-1,tripod-1"  # which is bought with film-1
    assert replacements(sold_out, items=with_tripod, **named) == ["film-1", "compact-1"]
    assert replacements(sold_out, items=with_tripod, k=1, **named) == ["film-1"]


def test_sold_out_and_cart_items_are_never_replacements(sold_out: httpx.Client) -> None:
    cart = "camera-1,compact-1"
    assert "tripod-1" in ids_of(
        get_json(sold_out, "/items/camera-1/related", relation="substitute", in_stock=False)
    )
    assert replacements(sold_out, items=cart, replace="camera-1") == ["film-1"]
    assert replacements(sold_out, items=f"{cart},film-1", replace="camera-1") == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"exclude": "film-1"}, ["compact-1"]),
        ({"category": "Photo"}, ["compact-1"]),
        ({"category": "Accessories"}, ["film-1"]),
        ({"max_price": 16}, ["compact-1"]),  # film-1 has no price
        ({"min_price": 17}, []),
    ],
)
def test_filters(sold_out: httpx.Client, filters: dict[str, Any], expected: list[str]) -> None:
    assert replacements(sold_out, items="camera-1", replace="camera-1", **filters) == expected


def test_hidden_items_are_neither_replacements_nor_replaced_by_default(sold_out: httpx.Client) -> None:
    for item_id in ("compact-0", "camera-4"):
        sold_out.patch(f"/items/{item_id}", json={"boost": 0})
    try:
        answer = get_json(sold_out, "/substitutes", items="camera-0,camera-4")
    finally:
        for item_id in ("compact-0", "camera-4"):
            sold_out.patch(f"/items/{item_id}", json={"boost": None})
    (item,) = answer["items"]
    assert (item["item_id"], item["replacements"]) == ("camera-0", [])
    assert item["shortage"]["message"] == (
        "This item has 1 substitute; 1 left out: in the cart, out of stock, hidden or filtered out."
    )


def test_price_difference_is_null_if_a_price_is_unknown(sold_out: httpx.Client) -> None:
    def differences(cart: str, named: str) -> dict[str, float | None]:
        (item,) = get_json(sold_out, "/substitutes", items=cart, replace=named)["items"]
        return {other["item_id"]: other["price_difference"] for other in item["replacements"]}

    assert differences("camera-1", "camera-1") == {"compact-1": 2, "film-1": None}
    assert differences("compact-1", "compact-1") == {"camera-1": -2}
    assert differences("film-1", "film-1") == {"camera-1": None}
    sold_out.patch("/items/compact-1", json={"price": 14.3})
    changed = differences("camera-1", "camera-1")
    sold_out.patch("/items/compact-1", json={"price": None})
    assert changed["compact-1"] == 0.3  # not 0.3000000000000007


def test_named_item_that_is_not_in_the_cart_is_invalid(sold_out: httpx.Client) -> None:
    refused = sold_out.get("/substitutes?items=camera-0,unknown-1&replace=film-7,camera-0,unknown-2")
    assert problem(refused) == (422, "invalid-request")
    assert refused.json()["errors"] == [
        {"where": "query.replace", "message": "'film-7' is not in the cart"},
        {"where": "query.replace", "message": "'unknown-2' is not in the cart"},
    ]


@pytest.mark.parametrize("query", ["k=0", "in_stock=false", "replace=..", "min_price=2&max_price=1"])
def test_invalid_parameters(sold_out: httpx.Client, query: str) -> None:
    for path in ("/substitutes", "/carts/any/substitutes"):
        assert problem(sold_out.get(f"{path}?{query}")) == (422, "invalid-request")
    assert problem(sold_out.get("/carts/any/substitutes?items=camera-0")) == (422, "invalid-request")


def test_shortage_says_why_there_are_fewer_replacements(sold_out: httpx.Client) -> None:
    query = {"items": "camera-1,film-0,unknown-1", "replace": "camera-1,film-0,unknown-1", "k": 2}
    camera, film, unknown = get_json(sold_out, "/substitutes", **query)["items"]
    assert camera["shortage"] is None
    assert film["replacements"] == unknown["replacements"] == []
    assert film["shortage"]["reason"] == "no_substitutes"
    assert unknown["shortage"]["reason"] == "unknown_item"
    assert unknown["name"] is unknown["price"] is unknown["in_stock"] is None
    (camera,) = get_json(sold_out, "/substitutes", items="camera-3", replace="camera-3")["items"]
    assert camera["shortage"] == {
        "reason": "too_few_candidates",
        "message": "This item has 1 substitute; 3 were requested.",
    }


def test_substitutes_of_a_cart_equal_those_of_a_list(sold_out: httpx.Client) -> None:
    names = ("camera-0", "unknown-1", "film-0")
    sold_out.post("/carts/repair/items", json={"items": [{"item_id": name} for name in names]})
    stored = get_json(sold_out, "/carts/repair/substitutes", k=1)
    assert ids_of(stored) == ["camera-0"]
    assert get_json(sold_out, "/substitutes", cart_id="repair", k=1) == stored
    listed = get_json(sold_out, "/substitutes", items=",".join(names), k=1)
    assert {**listed, "cart": {**listed["cart"], "cart_id": "repair"}} == stored
    assert ids_of(get_json(sold_out, "/carts/repair/substitutes", replace="film-0")) == ["film-0"]
    assert problem(sold_out.get("/carts/absent/substitutes")) == (404, "cart-not-found")
    both = sold_out.get("/substitutes?cart_id=repair&items=camera-0")
    assert problem(both) == (422, "invalid-request")


def test_substitutes_of_a_list_have_an_etag(sold_out: httpx.Client) -> None:
    path = "/substitutes?items=camera-0"
    first = sold_out.get(path)
    tag = {"If-None-Match": first.headers["ETag"]}
    assert sold_out.get(path, headers=tag).status_code == 304
    assert sold_out.get(f"{path}&k=1", headers=tag).status_code == 200
    head = sold_out.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["ETag"] == first.headers["ETag"]
    sold_out.patch("/items/camera-0", json={"in_stock": True})
    changed = sold_out.get(path, headers=tag)
    sold_out.patch("/items/camera-0", json={"in_stock": None})
    assert (changed.status_code, changed.json()["items"]) == (200, [])
    sold_out.post("/carts/tagged/items", json={"item_id": "camera-0"})
    for path in ("/carts/tagged/substitutes", "/substitutes?cart_id=tagged"):
        assert "ETag" not in sold_out.get(path).headers
        assert sold_out.head(path).status_code == 200


def test_items_beyond_the_cart_window_are_replaced(tmp_path: Path, start: Callable[..., Service]) -> None:
    publish(tmp_path / "store", shop_draft())
    client = start(TRIPOD_CART_WINDOW="2").ready().client
    answer = get_json(client, "/substitutes", items="compact-1,camera-0,film-0,camera-1", k=1)
    assert answer["cart"]["ignored_items"] == ["compact-1", "camera-0"]
    (item,) = answer["items"]
    assert [other["item_id"] for other in item["replacements"]] == ["compact-0"]
    assert replacements(client, items="compact-1,film-0,camera-1,film-2", replace="camera-1") == ["film-1"]


def test_model_without_fitted_probabilities_gives_none(tmp_path: Path, start: Callable[..., Service]) -> None:
    publish(tmp_path / "store", replace(shop_draft(), mixture=None, baskets=None))
    (item,) = get_json(start().ready().client, "/substitutes", items="camera-1", replace="camera-1")["items"]
    assert {other["item_id"] for other in item["replacements"]} == {"compact-1", "film-1"}
    for other in item["replacements"]:
        assert other["probability"] is other["times_usual"] is None
        assert other["lift"] > 0


def test_model_of_release_0_1_has_no_substitutes(tmp_path: Path, start: Callable[..., Service]) -> None:
    publish(tmp_path / "store", replace(shop_draft(), lifts=None, mixture=None, baskets=None))
    (item,) = get_json(start().ready().client, "/substitutes", items="camera-0,film-0")["items"]
    assert (item["item_id"], item["replacements"]) == ("camera-0", [])
    assert item["shortage"]["reason"] == "no_lifts"
