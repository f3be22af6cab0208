from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import redis

from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually
from tests.app.app_shop import publish


def test_service_works_without_carts_while_redis_is_unavailable_and_recovers(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY).ready()
    shop = service.client
    shop.headers["X-Admin-Key"] = ADMIN_KEY
    shop.post("/carts/kept/items", json={"item_id": "camera-0"})
    shop.patch("/items/film-0", json={"in_stock": False})
    valkey.kill()
    for refused in (
        shop.get("/carts/kept"),
        shop.post("/carts/kept/items", json={"item_id": "film-0"}),
        shop.post("/carts/kept/checkout"),
        shop.get("/recommend", params={"cart_id": "kept"}),
        shop.get("/carts/kept/insights"),
        shop.get("/carts/kept/substitutes"),
        shop.patch("/items/film-0", json={"boost": 2}),
    ):
        assert refused.status_code == 503
        assert refused.json()["type"] == "urn:tripod:problem:redis-away"
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.elapsed.total_seconds() < 5
    without_cart = shop.get("/recommend", params={"items": "camera-0", "k": 100})
    assert without_cart.status_code == 200
    assert "film-0" not in {item["item_id"] for item in without_cart.json()["items"]}
    assert shop.get("/bundles").status_code == 200
    assert shop.get("/items/film-0").json()["in_stock"] is False
    assert set(shop.get("/readyz").json()["missing"]) == {"redis"}
    assert shop.get("/healthz").status_code == 200
    valkey.start()
    service.ready()
    assert shop.get("/carts/kept").json()["items"] == [{"item_id": "camera-0", "quantity": 1}]
    assert shop.post("/carts/kept/items", json={"item_id": "camera-0"}).json()["items"][0]["quantity"] == 2
    assert shop.post("/carts/kept/checkout").status_code == 200
    messages = [event["event"] for event in service.events() if event["event"].startswith("redis ")]
    # A call that began before the restart may fail after one that succeeded.
    once = ["redis unavailable", "redis available again"]
    assert messages in (once, 2 * once)
    assert service.metric("tripod_redis_seconds_count.*error") > 0


def test_hanging_redis_is_unavailable_until_it_responds(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start(REDIS_URL=valkey.url).ready()
    service.client.post("/carts/kept/items", json={"item_id": "camera-0"})
    with redis.Redis(port=valkey.port) as client:
        pid = int(client.info("server")["process_id"])
    os.kill(pid, signal.SIGSTOP)
    try:
        assert service.client.get("/carts/kept").json()["type"] == "urn:tripod:problem:redis-away"
        assert service.client.get("/recommend", params={"items": "camera-0"}).status_code == 200
    finally:
        os.kill(pid, signal.SIGCONT)
    service.ready()
    assert service.client.get("/carts/kept").json()["items"] == [{"item_id": "camera-0", "quantity": 1}]


def test_service_started_without_redis_connects_later(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    valkey.kill()
    service = start(REDIS_URL=valkey.url)
    eventually(lambda: service.client.get("/recommend").status_code == 200, "recommendations need Redis")
    assert set(service.client.get("/readyz").json()["missing"]) == {"redis"}
    valkey.start()
    service.ready()
    assert service.client.post("/carts").status_code == 201
