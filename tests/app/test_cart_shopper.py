"""Carts that know their shopper."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.app.app_process import problem
from tests.app.purchase_shop import Shop

SHOPPER = "ann@example.com"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with Shop(tmp_path_factory.mktemp("shop")) as running:
        yield running


def carts_of(shop: Shop, shopper_id: str = SHOPPER) -> set[str]:
    return set(shop.redis.smembers(f"tripod:shopper-carts:{shop.hashed(shopper_id)}"))


def test_cart_is_created_with_a_shopper(shop: Shop) -> None:
    guest = shop.client.post("/carts").json()
    known = shop.client.post("/carts", json={"shopper_id": SHOPPER}).json()
    assert [guest["has_shopper"], known["has_shopper"]] == [False, True]
    assert known["cart_id"] in carts_of(shop)
    assert problem(shop.client.post("/carts", json={"shopper": "x"})) == (422, "invalid-request")
    assert problem(shop.client.post("/carts", json={"shopper_id": "tab\there"})) == (422, "invalid-request")
    assert problem(shop.client.post("/carts", content=b"{}")) == (415, "unsupported-media-type")


def test_adding_items_names_the_shopper(shop: Shop) -> None:
    one = shop.client.post("/carts/named/items", json={"item_id": "film-0"})
    assert one.json()["has_shopper"] is False
    two = shop.client.post("/carts/named/items", json={"items": [{"item_id": "a"}], "shopper_id": SHOPPER})
    assert two.json()["has_shopper"] is True
    three = shop.client.post("/carts/named/items", json={"item_id": "film-0", "shopper_id": "other"})
    assert three.json()["has_shopper"] is True
    assert "named" not in carts_of(shop)
    assert "named" in carts_of(shop, "other")
    nested = {"items": [{"item_id": "a", "shopper_id": SHOPPER}]}
    assert problem(shop.client.post("/carts/named/items", json=nested)) == (422, "invalid-request")


def test_checkout_writes_the_shopper_to_the_purchase_log_and_the_order(shop: Shop) -> None:
    shop.client.post("/carts/paid/items", json={"item_id": "film-0", "quantity": 2})
    paid = shop.client.post("/carts/paid/checkout", json={"shopper_id": SHOPPER}).json()
    assert paid["has_shopper"] is True
    assert shop.entries()[-1] == {
        "cart_id": "paid",
        "lines": '[["film-0",2]]',
        "shopper": shop.hashed(SHOPPER),
    }
    key = f"tripod:order:{paid['purchase_id']}"
    order = json.loads(shop.redis.get(key))
    assert order == {
        "entry": paid["purchase_id"],
        "shopper": shop.hashed(SHOPPER),
        "timestamp": int(paid["purchase_id"].split("-")[0]),
        "lines": [["film-0", 2]],
        "fingerprint": "",
        "status": "recorded",
    }
    assert 15_551_000 < shop.redis.ttl(key) <= 15_552_000


def test_checkout_without_a_shopper_is_as_before(shop: Shop) -> None:
    shop.client.post("/carts/guest/items", json={"item_id": "film-0"})
    assert shop.client.post("/carts/guest/checkout").json()["has_shopper"] is False
    assert shop.entries()[-1] == {"cart_id": "guest", "lines": '[["film-0",1]]'}


def test_idempotency_key_is_valid_for_one_shopper(shop: Shop) -> None:
    key = {"Idempotency-Key": "k-1"}
    body = {"item_id": "film-0", "shopper_id": SHOPPER}
    first = shop.client.post("/carts/keyed/items", json=body, headers=key)
    assert shop.client.post("/carts/keyed/items", json=body, headers=key).json() == first.json()
    other = shop.client.post("/carts/keyed/items", json={**body, "shopper_id": "other"}, headers=key)
    assert problem(other) == (422, "idempotency-key-reused")


def test_deleted_cart_leaves_the_list_of_the_shoppers_carts(shop: Shop) -> None:
    shop.client.post("/carts/gone/items", json={"item_id": "film-0", "shopper_id": "deleter"})
    assert carts_of(shop, "deleter") == {"gone"}
    shop.client.delete("/carts/gone")
    assert carts_of(shop, "deleter") == set()


def test_expired_carts_leave_the_list_of_the_shoppers_carts(shop: Shop) -> None:
    for number in range(49):
        shop.client.post(f"/carts/old-{number}/items", json={"item_id": "a", "shopper_id": "regular"})
        shop.redis.delete(f"tripod:cart:old-{number}")
    assert len(carts_of(shop, "regular")) == 49
    shop.client.post("/carts/new/items", json={"item_id": "a", "shopper_id": "regular"})
    assert carts_of(shop, "regular") == {"new"}


def test_cart_written_by_release_0_1_gets_a_shopper(shop: Shop) -> None:
    old = {
        "cart_id": "old",
        "created": 1,
        "changes": 1,
        "lines": [["film-0", 1]],
        "birth": "1.5",
        "etag": "1.5-1",
        "updated": 1,
    }
    shop.redis.set("tripod:cart:old", json.dumps(old))
    assert shop.client.get("/carts/old").json()["has_shopper"] is False
    body = {"item_id": "film-0", "shopper_id": SHOPPER}
    changed = shop.client.post("/carts/old/items", json=body).json()
    assert changed["has_shopper"] is True
    assert changed["items"] == [{"item_id": "film-0", "quantity": 2}]


def test_shopper_id_is_kept_as_a_hash_and_never_logged(shop: Shop) -> None:
    keys = [key for key in shop.redis.keys("*") if SHOPPER in key]
    values = [value for key in shop.redis.keys("tripod:cart:*") if SHOPPER in (value := shop.redis.get(key))]
    assert not keys
    assert not values
    log = shop.service.log_path.read_text()
    assert SHOPPER not in log
    assert shop.hashed(SHOPPER) not in log
