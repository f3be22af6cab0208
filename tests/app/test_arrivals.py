"""Items that the model does not know: recommended from what is known of them, moved by first purchases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from app.catalogue.purchases import CHANGES, PurchaseCounts
from app.redis.client import RedisLink
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually, get_json, ids_of
from tests.app.app_shop import publish

NEW = "tripod-new"
ITEM = {"name": "Tripod 4 of carbon", "category": "Accessories", "price": 28.0}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service for this file with a new item."""
    store = tmp_path_factory.mktemp("arrivals") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        client = running.ready().client
        assert client.put(f"/items/{NEW}", json=ITEM).status_code == 201
        yield client


def listed(client: httpx.Client, items: str = "", **query: Any) -> dict[str, dict[str, Any]]:
    answer = get_json(client, "/recommend", items=items, k=100, **query)
    return {item["item_id"]: item for item in answer["items"]}


def test_new_item_is_recommended_beside_the_right_cart(own: httpx.Client) -> None:
    with_camera, with_other = listed(own, "camera-4"), listed(own, "camera-9")
    assert with_camera[NEW]["cold"]
    assert not any(item["cold"] for item_id, item in with_camera.items() if item_id != NEW)
    assert with_camera[NEW]["rank"] < with_other[NEW]["rank"]
    assert with_camera[NEW]["times_usual"] > with_other[NEW]["times_usual"]
    assert with_camera[NEW]["name"] == ITEM["name"]


def test_probabilities_still_add_up_to_one(own: httpx.Client) -> None:
    found = listed(own, "camera-4", in_stock=False)
    assert len(found) == 60
    assert sum(item["probability"] for item in found.values()) == pytest.approx(1)
    explained = listed(own, "camera-4", explain=True)[NEW]
    assert sum(reason["share"] for reason in explained["because"]) == pytest.approx(1)
    assert explained["because"][0]["item_id"] in ("camera-4", None)


def test_filters_stock_boosts_and_deletion_hold_for_new_items(own: httpx.Client) -> None:
    assert NEW not in listed(own, category="Photo")
    assert NEW not in listed(own, max_price=27)
    assert NEW not in listed(own, exclude=NEW)
    assert list(listed(own, filter='{"field": "name", "is": "tripod 4 OF carbon"}')) == [NEW]
    own.patch(f"/items/{NEW}", json={"in_stock": False})
    assert NEW not in listed(own)
    own.patch(f"/items/{NEW}", json={"in_stock": True, "boost": 1000})
    assert next(iter(listed(own))) == NEW
    own.patch(f"/items/{NEW}", json={"boost": None})


def test_new_item_in_the_cart_counts_as_the_most_similar_one(own: httpx.Client) -> None:
    answer = get_json(own, "/recommend", items=NEW, k=5, explain=True)
    assert answer["cart"]["items"] == [NEW]
    assert answer["cart"]["unknown_items"] == []
    assert answer["fallback"] is None
    assert NEW not in ids_of(answer)
    assert ids_of(answer) != ids_of(get_json(own, "/recommend", k=5))
    named = {reason["item_id"] for item in answer["items"] for reason in item["because"]}
    assert named <= {NEW, None}
    assert NEW in named
    unknown = get_json(own, "/recommend", items="no such item", k=5)
    assert unknown["cart"]["unknown_items"] == ["no such item"]


@pytest.mark.parametrize("name", ["Zqxv", None])
def test_new_item_that_stands_for_nothing_is_unknown(own: httpx.Client, name: str | None) -> None:
    """One that resembles no item, and one that was deleted: as after a restart."""
    own.put("/items/other", json={"name": name or "Tripod"})
    if name is None:
        own.delete("/items/other")
    answer = get_json(own, "/recommend", items="other", k=5)
    assert answer["cart"]["items"] == []
    assert answer["cart"]["unknown_items"] == ["other"]
    assert answer["fallback"]["reason"] == "only_unknown_items"
    assert ids_of(answer) == ids_of(get_json(own, "/recommend", k=5))
    if name is not None:
        assert "other" not in listed(own, "other")
        own.delete("/items/other")


def test_item_that_stands_for_a_new_one_is_not_pinned(own: httpx.Client) -> None:
    similar = {"name": "Film 9", "category": "Accessories", "price": 49.0}
    own.put("/items/second-film", json=similar)
    own.put("/rules/pin", json={"name": "Film", "then": {"action": "pin", "item_id": "film-9"}})
    try:
        assert next(iter(listed(own))) == "film-9"
        assert "film-9" not in listed(own, "second-film")
    finally:
        own.delete("/rules/pin")
        own.delete("/items/second-film")


def test_batches_and_dials_treat_new_items_the_same(own: httpx.Client) -> None:
    carts = [{"items": ["camera-4"]}, {"items": [NEW]}]
    for options in ({}, {"discovery": 0.5}, {"cohesion": 1}, {"scoring": "kernel"}):
        batch = own.post("/recommend/batch", json={"carts": carts, "k": 60, **options}).json()["results"]
        for cart, result in zip(carts, batch, strict=True):
            single = own.post("/recommend", json={**cart, "k": 60, **options}).json()
            assert ids_of(single) == ids_of(result)
            assert (NEW in ids_of(single)) == (cart["items"] != [NEW])


def test_other_routes_accept_new_items(own: httpx.Client) -> None:
    assert get_json(own, f"/items/{NEW}/related")["items"] == []
    for query in ({"method": "greedy"}, {}):
        cart = get_json(own, "/bundles", items=f"{NEW},camera-3", k=2, **query)["cart"]
        assert (cart["items"], cart["unknown_items"]) == (["camera-3"], [NEW])  # counts are of known items
    own.post("/carts/new/items", json={"item_id": NEW})
    assert get_json(own, "/carts/new/insights")["cart"]["unknown_items"] == [NEW]
    replaced = get_json(own, "/carts/new/substitutes", replace=NEW)["items"]
    assert [item["shortage"]["reason"] for item in replaced] == ["unknown_item"]


def test_first_purchases_through_a_keyed_client_move_a_new_item(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    settings = {"REDIS_URL": valkey.url, "TRIPOD_ADMIN_KEY": ADMIN_KEY}
    one, two = start(**settings).ready(), start(**settings).ready()
    one.client.headers["X-Admin-Key"] = ADMIN_KEY
    one.client.put(f"/items/{NEW}", json=ITEM)
    eventually(lambda: NEW in listed(two.client), "the other process does not know the new item")
    before = listed(one.client)[NEW]["probability"]
    for number in range(3):  # checkouts without the key count at the next training only
        one.client.post(f"/carts/c{number}/items", json={"item_id": NEW})
        one.client.post(f"/carts/c{number}/checkout")
    purchases = [{"order_id": f"o{n}", "items": [{"item_id": NEW}, {"item_id": "film-4"}]} for n in range(5)]
    for purchase in purchases:
        assert one.client.post("/purchases", json=purchase).status_code == 201
    moved = eventually(
        lambda: listed(two.client)[NEW]["probability"] > 1.2 * before and listed(two.client)[NEW],
        "the purchases do not move the item",
    )
    counts = valkey_counts(valkey)
    eventually(lambda: valkey_counts(valkey) == (5, 5), f"counted {counts}")
    three = start(**settings).ready()  # a new process reads the counts
    assert listed(three.client)[NEW]["probability"] == pytest.approx(listed(one.client)[NEW]["probability"])
    for number in range(60):  # baskets without it make it less likely again
        purchase = {"order_id": f"p{number}", "items": [{"item_id": "film-4"}]}
        one.client.post("/purchases", json=purchase)
    one.client.post("/purchases", json={"order_id": "last", "items": [{"item_id": NEW}]})
    eventually(
        lambda: listed(three.client)[NEW]["probability"] < moved["probability"],
        "baskets without the item do not count",
    )


def test_purchases_count_while_the_shop_has_an_item_or_a_model_knows_it(valkey: Valkey) -> None:
    async def run() -> None:
        link = RedisLink(valkey.url)
        counts = PurchaseCounts(link)
        await counts.advance("position", (b"", b"1"), 10, [NEW], {NEW: 5, "film-4": 3})
        assert await counts.read() == {NEW: (5, 10)}
        # A newer model knows the item. If there is a rollback, the baskets without it are not all.
        await counts.advance("position", (b"1", b"2"), 100, [], {NEW: 50, "film-4": 30})
        assert await counts.read() == {NEW: (55, 110)}
        before = await link.read("GET", CHANGES)
        await counts.forget([NEW, "other"])
        assert await counts.read() == {}
        assert await link.read("GET", CHANGES) != before  # so that all processes read them again
        await counts.advance("position", (b"2", b"3"), 7, [NEW], {})
        assert await counts.read() == {NEW: (0, 7)}
        await link.close()

    asyncio.run(run())


def test_baskets_of_a_time_without_the_item_do_not_count(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY).ready()
    client = service.client
    client.headers["X-Admin-Key"] = ADMIN_KEY

    def buy(count: int, item_id: str) -> None:
        before = valkey_counts(valkey)[1]
        orders = [f"o{before + n}" for n in range(count)]
        for order in orders:
            purchase = {"order_id": order, "items": [{"item_id": item_id}]}
            assert client.post("/purchases", json=purchase).status_code == 201
        eventually(lambda: valkey_counts(valkey)[1] == before + count, "the purchases are not counted")

    client.put(f"/items/{NEW}", json=ITEM)
    probability = listed(client)[NEW]["probability"]
    buy(3, NEW)
    eventually(lambda: listed(client)[NEW]["probability"] > probability, "the purchases do not count")
    client.delete(f"/items/{NEW}")
    buy(40, "film-4")
    client.patch("/items", json={"items": [{"item_id": NEW, **ITEM}]})
    assert listed(client)[NEW]["probability"] == pytest.approx(probability)
    buy(2, NEW)
    assert valkey_counts(valkey) == (2, 45)
    since: Any = redis.Redis.from_url(valkey.url).hget("tripod:arrivals:since", NEW)
    assert int(since) == 43


def valkey_counts(valkey: Valkey) -> tuple[int, int]:
    client = redis.Redis.from_url(valkey.url)
    bought: Any = client.hget("tripod:arrivals:bought", NEW)
    baskets: Any = client.get("tripod:arrivals:baskets")
    return int(bought or 0), int(baskets or 0)


def test_similar_item_stands_for_a_new_one_in_probabilities_only(own: httpx.Client) -> None:
    """Rules and variants look at what is really in the cart."""
    similar = {"field": "id", "in": [f"tripod-{number}" for number in range(15)]}
    then = {"action": "hide", "items": {"field": "id", "is": "film-9"}}
    rule = {"name": "Tripods", "when": {"cart_has": similar}, "then": then}
    assert own.put("/rules/tripods", json=rule).status_code == 201
    assert "film-9" in listed(own, NEW)
    assert "film-9" not in listed(own, "tripod-4")
    own.put("/rules/tripods", json={**rule, "when": {"cart_has": {"field": "id", "is": NEW}}})
    assert "film-9" not in listed(own, NEW)
    own.delete("/rules/tripods")
    changes = [{"item_id": item_id, "parent_id": "tripods"} for item_id in ("tripod-4", "tripod-9")]
    own.patch("/items", json={"items": changes})
    assert "tripod-9" in listed(own, NEW)
    own.patch("/items", json={"items": [{**change, "parent_id": None} for change in changes]})
