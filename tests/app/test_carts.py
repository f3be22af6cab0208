from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import redis

from tests.app.app_process import Service, Valkey, problem
from tests.app.app_shop import publish


def add(shop: httpx.Client, cart_id: str, *item_ids: str, **headers: str) -> httpx.Response:
    body = {"items": [{"item_id": item_id} for item_id in item_ids]}
    return shop.post(f"/carts/{cart_id}/items", json=body, headers=headers)


def quantities(answer: httpx.Response) -> dict[str, int]:
    return {line["item_id"]: line["quantity"] for line in answer.json()["items"]}


def test_cart_from_creation_to_deletion(shop: httpx.Client) -> None:
    created = shop.post("/carts")
    assert created.status_code == 201
    address = created.headers["location"]
    assert created.json()["items"] == []
    one = shop.post(f"{address}/items", json={"item_id": "camera-0", "quantity": 2})
    assert quantities(one) == {"camera-0": 2}
    two = shop.post(
        f"{address}/items", json={"items": [{"item_id": "no/such thing"}, {"item_id": "camera-0"}]}
    )
    assert list(quantities(two).items()) == [("camera-0", 3), ("no/such thing", 1)]
    for _ in range(2):
        assert quantities(shop.put(f"{address}/items/camera-0", json={"quantity": 5}))["camera-0"] == 5
    removed = shop.delete(f"{address}/items/no%2Fsuch%20thing")
    assert quantities(removed) == {"camera-0": 5}
    assert shop.get(address).json() == removed.json()
    assert shop.delete(address).status_code == 204
    assert problem(shop.get(address)) == (404, "cart-not-found")
    assert problem(shop.delete(address)) == (404, "cart-not-found")


def test_cart_lines_keep_their_insertion_order(shop: httpx.Client) -> None:
    names = [f"item {number * 7919 % 499}" for number in range(300)]
    add(shop, "ordered", *names[:200])
    add(shop, "ordered", *names[100:])
    assert list(quantities(shop.get("/carts/ordered"))) == list(dict.fromkeys(names))


async def post_until_not_503(
    client: httpx.AsyncClient, path: str, key: str | None, **body: Any
) -> httpx.Response:
    """Repeat the request with the same key after a 503, which a slow Redis on a busy machine causes."""
    headers = {} if key is None else {"Idempotency-Key": key}
    while True:
        answer = await client.post(path, headers=headers, **body)
        if answer.status_code != 503:
            return answer
        await asyncio.sleep(int(answer.headers["retry-after"]))


def test_concurrent_adds_are_all_counted(service: Service) -> None:
    async def add_all() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=service.client.base_url, timeout=60) as client:
            adds = [
                post_until_not_503(
                    client, "/carts/crowded/items", f"add-{number}", json={"item_id": f"item-{number % 10}"}
                )
                for number in range(200)
            ]
            return await asyncio.gather(*adds)

    answers = asyncio.run(add_all())
    assert {answer.status_code for answer in answers} == {200}
    assert quantities(service.client.get("/carts/crowded")) == {f"item-{number}": 20 for number in range(10)}
    assert len({answer.headers["etag"] for answer in answers}) == 200


def test_stale_if_match_is_refused(shop: httpx.Client) -> None:
    first = add(shop, "tagged", "camera-0").headers["etag"]
    second = add(shop, "tagged", "film-0", **{"If-Match": first})
    assert second.status_code == 200
    assert second.headers["etag"] != first
    assert problem(add(shop, "tagged", "film-1", **{"If-Match": first})) == (412, "cart-changed")
    assert problem(shop.delete("/carts/tagged", headers={"If-Match": first})) == (412, "cart-changed")
    either = f'{first}, W/"other", {second.headers["etag"]}'
    assert shop.put(
        "/carts/tagged/items/film-0", json={"quantity": 2}, headers={"If-Match": either}
    ).is_success
    assert problem(add(shop, "absent", "film-0", **{"If-Match": "*"})) == (412, "cart-changed")
    assert problem(add(shop, "tagged", "film-0", **{"If-Match": "no quotes"}))[0] == 422
    assert quantities(shop.get("/carts/tagged")) == {"camera-0": 1, "film-0": 2}


def test_recreated_cart_has_a_new_etag(shop: httpx.Client) -> None:
    before = add(shop, "recreated", "camera-0").headers["etag"]
    shop.delete("/carts/recreated")
    assert add(shop, "recreated", "camera-0").headers["etag"] != before


def test_repeated_idempotency_key_changes_the_cart_once(shop: httpx.Client) -> None:
    key = {"Idempotency-Key": "once-1"}
    add(shop, "careful", "camera-0", **key)
    latest = add(shop, "careful", "film-0")
    again = add(shop, "careful", "camera-0", **key)
    assert again.status_code == 200
    assert again.json() == latest.json()  # the cart as it is now
    assert again.headers["etag"] == latest.headers["etag"]
    assert quantities(shop.get("/carts/careful")) == {"camera-0": 1, "film-0": 1}
    assert problem(add(shop, "careful", "film-0", **key)) == (422, "idempotency-key-reused")
    created = [shop.post("/carts", headers={"Idempotency-Key": "create-1"}) for _ in range(2)]
    assert created[0].headers["location"] == created[1].headers["location"]
    assert [answer.status_code for answer in created] == [201, 201]


def test_idempotency_key_is_valid_for_one_route_and_one_cart(shop: httpx.Client) -> None:
    key = {"Idempotency-Key": "1"}
    mine, yours = add(shop, "mine", "camera-0", **key), add(shop, "yours", "camera-0", **key)
    assert (mine.json()["cart_id"], yours.json()["cart_id"]) == ("mine", "yours")
    assert quantities(yours) == {"camera-0": 1}
    assert shop.post("/carts/mine/checkout", headers=key).json()["status"] == "checked_out"
    assert shop.get("/carts/yours").json()["status"] == "open"
    # Cart ids and keys may both contain `:`.
    add(shop, "colon", "camera-0", **{"Idempotency-Key": "a:b"})
    assert quantities(add(shop, "colon:a", "camera-0", **{"Idempotency-Key": "b"})) == {"camera-0": 1}


def test_idempotency_key_of_a_creation_is_valid_for_one_client(start: Callable[..., Service]) -> None:
    shop = start(TRIPOD_TRUSTED_PROXIES="127.0.0.1").client

    def create(address: str) -> str:
        headers = {"Idempotency-Key": "1", "X-Forwarded-For": address}
        return shop.post("/carts", headers=headers).headers["location"]

    assert create("203.0.113.1") == create("203.0.113.1")
    assert create("203.0.113.1") != create("203.0.113.2")


def test_repeated_idempotency_key_for_a_deleted_cart_returns_404(shop: httpx.Client) -> None:
    key = {"Idempotency-Key": "once-2"}
    for request in (
        lambda: shop.post("/carts", headers=key),
        lambda: add(shop, "forgotten", "camera-0", **key),
    ):
        cart_id = request().json()["cart_id"]
        shop.delete(f"/carts/{cart_id}")
        assert problem(request()) == (404, "cart-not-found")
        assert shop.get(f"/carts/{cart_id}").status_code == 404


def test_idempotency_key_takes_little_memory_in_redis(start: Callable[..., Service], valkey: Valkey) -> None:
    shop = start(REDIS_URL=valkey.url).client
    add(shop, "large", *(f"item-{number}" for number in range(400)), **{"Idempotency-Key": "large-1"})
    with redis.Redis(port=valkey.port) as client:
        (remembered,) = client.keys("tripod:idempotency:*")
        assert len(client.get(remembered)) < 200


def test_cart_limits(shop: httpx.Client) -> None:
    assert add(shop, "long", *(f"item-{number}" for number in range(500))).status_code == 200
    assert problem(add(shop, "long", "one-more")) == (409, "cart-full")
    assert add(shop, "long", "item-3").status_code == 200
    assert len(shop.get("/carts/long").json()["items"]) == 500
    assert problem(add(shop, "x", *(f"item-{number}" for number in range(501))))[0] == 422
    many = shop.put("/carts/many/items/camera-0", json={"quantity": 1_000_000})
    assert many.status_code == 200
    assert problem(add(shop, "many", "camera-0")) == (409, "cart-full")
    assert add(shop, "a" * 128, "camera-0").status_code == 200
    for bad in ("a" * 129, "sp ace", "-dash", "slash%2F"):
        assert add(shop, bad, "camera-0").status_code in (404, 422), bad
    assert problem(add(shop, "x", "bell\a"))[0] == 422
    assert problem(shop.post("/carts/x/items", json={"item_id": "a", "quantity": 0}))[0] == 422


def test_concurrent_checkouts_create_one_purchase(start: Callable[..., Service], valkey: Valkey) -> None:
    service = start(REDIS_URL=valkey.url)
    add(service.client, "family", "camera-0", "film-0")

    async def check_out_all() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=service.client.base_url, timeout=60) as client:
            keys = [None] * 20 + ["pay-1"] * 20
            requests = [post_until_not_503(client, "/carts/family/checkout", key) for key in keys]
            return await asyncio.gather(*requests)

    answers = asyncio.run(check_out_all())
    purchases = {answer.json()["purchase_id"] for answer in answers}
    assert len(purchases) == 1
    assert set(Counter(answer.status_code for answer in answers)) == {200, 409}
    with redis.Redis(port=valkey.port) as client:
        log = client.xrange("tripod:purchases")
    assert [entry_id.decode() for entry_id, _ in log] == list(purchases)
    fields = log[0][1]
    assert fields[b"cart_id"] == b"family"
    assert json.loads(fields[b"lines"]) == [["camera-0", 1], ["film-0", 1]]
    assert service.client.get("/carts/family").json()["status"] == "checked_out"


def test_checkout_repeated_with_its_idempotency_key_returns_the_same_response(shop: httpx.Client) -> None:
    add(shop, "retried", "camera-0")
    first, again = (
        shop.post("/carts/retried/checkout", headers={"Idempotency-Key": "pay-2"}) for _ in range(2)
    )
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()


def test_checked_out_cart_cannot_be_changed(shop: httpx.Client) -> None:
    add(shop, "done", "camera-0")
    purchase = shop.post("/carts/done/checkout").json()["purchase_id"]
    for refused in (
        add(shop, "done", "film-0"),
        shop.put("/carts/done/items/camera-0", json={"quantity": 9}),
        shop.delete("/carts/done/items/camera-0"),
        shop.post("/carts/done/checkout"),
    ):
        assert problem(refused) == (409, "cart-checked-out")
        assert refused.json()["purchase_id"] == purchase
    assert shop.delete("/carts/done").status_code == 204


def test_checkout_of_an_empty_or_missing_cart_is_refused(shop: httpx.Client) -> None:
    empty = shop.post("/carts").headers["location"]
    assert problem(shop.post(f"{empty}/checkout")) == (409, "cart-empty")
    assert problem(shop.post("/carts/never-made/checkout")) == (404, "cart-not-found")
    assert problem(shop.delete(f"{empty}/items/camera-0")) == (404, "item-not-in-cart")


def test_every_access_renews_the_time_to_live(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start(REDIS_URL=valkey.url, TRIPOD_CART_TTL="1000").ready()
    add(service.client, "sliding", "camera-0")
    client = redis.Redis(port=valkey.port)
    for use in (
        lambda: service.client.get("/carts/sliding"),
        lambda: service.client.get("/recommend", params={"cart_id": "sliding"}),
        lambda: add(service.client, "sliding", "film-0"),
    ):
        client.expire("tripod:cart:sliding", 500)
        assert use().is_success
        assert client.ttl("tripod:cart:sliding") > 900
    client.close()


def test_unused_cart_expires(start: Callable[..., Service]) -> None:
    service = start(TRIPOD_CART_TTL="1")
    assert add(service.client, "short", "camera-0").status_code == 200
    time.sleep(1.5)  # reading it in between would renew it
    assert problem(service.client.get("/carts/short")) == (404, "cart-not-found")
