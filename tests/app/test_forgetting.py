"""Forgetting a shopper: nothing that Tripod keeps holds the id or its hash afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from redis import Redis

from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually
from tests.app.jobs_process import Worker
from tests.app.shopper_shop import ADMIN, buy, everything_in, profile, publish_personal, wait_for_baskets
from training.purchase_log import drain, purchases_folder

ID = "jane-doe-4711"


def order(order_id: str, *items: str, **fields: object) -> dict[str, object]:
    lines = [{"item_id": item} for item in items]
    return {"order_id": order_id, "items": lines, "shopper_id": ID, **fields}


@pytest.fixture
def shop(valkey: Valkey, tmp_path: Path, start: Callable[..., Service]) -> httpx.Client:
    publish_personal(tmp_path / "store")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "baskets.txt").write_text("film-1 film-2\n")
    settings = {"TRIPOD_ADMIN_KEY": ADMIN_KEY, "TRIPOD_DATA": str(tmp_path / "data")}
    service = start(REDIS_URL=valkey.url, **settings).ready()
    service.client.headers.update(ADMIN)
    return service.client


def test_no_byte_of_a_forgotten_shopper_is_left(shop: httpx.Client, valkey: Valkey, tmp_path: Path) -> None:
    hashed = ModelStore(tmp_path / "store").shopper_ids().hashed(ID)
    buy(shop, ID, "film-0")
    buy(shop, "someone-else", "film-3")
    assert shop.post("/purchases", json=order("drained", "film-1", "film-2")).status_code == 201
    wait_for_baskets(shop, ID, 2)
    with Redis.from_url(valkey.url) as redis:
        drain(redis, "tripod:purchases", purchases_folder(str(tmp_path / "data")))
        assert shop.post("/purchases", json=order("logged", "film-2")).status_code == 201
        wait_for_baskets(shop, ID, 3)
        assert (
            shop.post("/purchases/logged/returns", json={"items": [{"item_id": "film-2"}]}).status_code == 200
        )
        cart = shop.post("/carts", json={"shopper_id": ID}).json()["cart_id"]
        shop.post(f"/carts/{cart}/items", json={"item_id": "film-4"})
        shop.get("/recommend", params={"cart_id": cart, "shopper_id": ID, "explain": "true"})
        assert hashed in everything_in(tmp_path)

        assert shop.delete(f"/shoppers/{ID}").json()["files"] == "pending"
        with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
            eventually(lambda: not redis.exists("tripod:forgetting"), "the worker did not forget")
            eventually(lambda: hashed not in everything_in(tmp_path), "the hash is still in a file")
        left = everything_in(tmp_path)
        assert ID not in left
        keys = redis.keys("*")
        assert not any(hashed.encode() in key for key in keys)
        assert not any(hashed.encode() in (redis.dump(key) or b"") for key in keys)
    assert profile(shop, ID) is None
    assert shop.get(f"/carts/{cart}").status_code == 404
    assert wait_for_baskets(shop, "someone-else", 1)


def test_purchases_from_before_do_not_come_back(shop: httpx.Client) -> None:
    old = order("nightly-1", "film-1", timestamp="2026-01-01T00:00:00Z")
    assert shop.post("/purchases", json=old).status_code == 201
    wait_for_baskets(shop, ID, 1)
    assert shop.delete(f"/shoppers/{ID}").status_code == 200
    assert shop.post("/purchases", json=old).status_code == 201  # the shop sends its orders again
    buy(shop, ID, "film-2")
    found = wait_for_baskets(shop, ID, 1)
    assert found["baskets"][0]["items"] == ["film-2"]
