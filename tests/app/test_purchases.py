"""Purchases from elsewhere: recorded once, cancelled, returned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.app.app_process import problem
from tests.app.purchase_shop import LOG, Shop

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with Shop(tmp_path_factory.mktemp("shop")) as shop:
        yield shop


@pytest.fixture
def shop(running: Shop) -> Shop:
    running.redis.delete(LOG, *running.redis.keys("tripod:order:*"))
    return running


def order(order_id: str, *items: str, **members: Any) -> dict[str, Any]:
    return {"order_id": order_id, "items": [{"item_id": item_id} for item_id in items], **members}


def record(shop: Shop, order_id: str, *items: str, **members: Any) -> httpx.Response:
    return shop.client.post("/purchases", json=order(order_id, *items, **members))


def record_lines(shop: Shop, *lines: str | dict[str, Any]) -> dict[str, Any]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    answer = shop.client.post("/purchases", content=text.encode(), headers=NDJSON)
    assert answer.status_code == 200, answer.text
    return answer.json()


def give_back(
    shop: Shop, order_id: str, headers: dict[str, str] | None = None, **items: int
) -> httpx.Response:
    lines = [{"item_id": item_id, "quantity": quantity} for item_id, quantity in items.items()]
    return shop.client.post(f"/purchases/{order_id}/returns", json={"items": lines}, headers=headers)


def test_purchase_is_recorded_once(shop: Shop) -> None:
    body = {
        "order_id": "1001",
        "items": [{"item_id": "film-0", "quantity": 2}, {"item_id": "camera-0"}, {"item_id": "film-0"}],
        "shopper_id": "ann",
        "timestamp": "2026-01-02T03:04:05.678+01:00",
    }
    first = shop.client.post("/purchases", json=body)
    assert first.status_code == 201
    assert first.json()["items"] == [
        {"item_id": "film-0", "quantity": 3},
        {"item_id": "camera-0", "quantity": 1},
    ]
    assert first.json()["bought_at"] == "2026-01-02T02:04:05.678000Z"
    assert (first.json()["status"], first.json()["has_shopper"]) == ("recorded", True)
    again = shop.client.post("/purchases", json=body)
    assert again.status_code == 200
    assert again.json() == first.json()
    shopper = shop.hashed("ann")
    moment = int(datetime(2026, 1, 2, 2, 4, 5, 678_000, tzinfo=UTC).timestamp() * 1000)
    assert shop.entries() == [
        {
            "order_id": "1001",
            "lines": '[["film-0", 3], ["camera-0", 1]]',
            "shopper": shopper,
            "timestamp": str(moment),
        }
    ]
    kept = json.loads(shop.redis.get("tripod:order:1001"))
    assert kept["entry"] == first.json()["purchase_id"]
    assert (kept["timestamp"], kept["shopper"], kept["status"]) == (moment, shopper, "recorded")
    assert kept["lines"] == [["film-0", 3], ["camera-0", 1]]


def test_purchase_with_other_content_is_a_conflict(shop: Shop) -> None:
    record(shop, "1", "a", "b", timestamp=1_700_000_000)
    assert record(shop, "1", "b", "a", timestamp="2023-11-14T22:13:20").status_code == 200
    for changed in (
        record(shop, "1", "a", timestamp=1_700_000_000),
        record(shop, "1", "a", "b", timestamp=1_700_000_001),
        record(shop, "1", "a", "b"),
        record(shop, "1", "a", "b", timestamp=1_700_000_000, shopper_id="ann"),
    ):
        assert problem(changed) == (409, "purchase-exists")
    assert len(shop.entries()) == 1


def test_purchase_without_a_timestamp_is_from_now(shop: Shop) -> None:
    answer = record(shop, "1", "a").json()
    assert abs(datetime.fromisoformat(answer["bought_at"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert answer["has_shopper"] is False
    assert "timestamp" not in shop.entries()[0]
    assert record(shop, "1", "a").status_code == 200


@pytest.mark.parametrize(
    ("members", "where"),
    [
        ({"items": []}, "body.items"),
        ({"items": [{"item_id": ""}]}, "body.items.0.item_id"),
        ({"items": [{"item_id": "a", "quantity": 0}]}, "body.items.0.quantity"),
        ({"items": [{"item_id": "a", "quantity": 600_000}] * 2}, "body.items"),
        ({"order_id": "line\nbreak"}, "body.order_id"),
        ({"order_id": "x" * 257}, "body.order_id"),
        ({"shopper_id": ""}, "body.shopper_id"),
        ({"timestamp": "yesterday"}, "body.timestamp"),
        ({"timestamp": True}, "body.timestamp"),
        ({"timestamp": 1_763_259_000_123}, "body.timestamp"),
        ({"timestamp": -1}, "body.timestamp"),
        ({"timestamp": "1969-12-31T23:00:00Z"}, "body.timestamp"),
        ({"timestamp": "9999-12-31T23:59:59-23:00"}, "body.timestamp"),
        ({"timestamp": time.time() + 90_000}, "body.timestamp"),
        ({"price": 3}, "body.price"),
    ],
)
def test_invalid_purchase_is_refused(shop: Shop, members: dict[str, Any], where: str) -> None:
    answer = shop.client.post("/purchases", json={**order("1", "a"), **members})
    assert problem(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["where"] == where
    assert not shop.entries()


def test_body_that_is_no_purchase_is_refused(shop: Shop) -> None:
    json_body = {"Content-Type": "application/json; charset=utf-8"}
    for content in (b"", b"{", b'{"order_id": "\\ud800"}', b"\xff"):
        answer = shop.client.post("/purchases", content=content, headers=json_body)
        assert problem(answer) == (400, "bad-request")
    for content in (b"[]", b"7"):
        answer = shop.client.post("/purchases", content=content, headers=json_body)
        assert problem(answer) == (422, "invalid-request")
    assert problem(shop.client.post("/purchases", content=b"{}")) == (415, "unsupported-media-type")


def test_purchases_need_the_admin_key(shop: Shop) -> None:
    for method, path in (
        ("POST", "/purchases"),
        ("DELETE", "/purchases/1"),
        ("POST", "/purchases/1/returns"),
    ):
        answer = httpx.request(method, f"{shop.client.base_url}{path}", json=order("1", "a"))
        assert problem(answer) == (401, "unauthorized")


def test_lines_of_purchases_are_recorded_and_bad_ones_listed(shop: Shop) -> None:
    record(shop, "known", "a")
    answer = record_lines(
        shop,
        order("1", "a", "b"),
        "",
        "not JSON",
        order("2"),
        order("known", "a"),
        order("known", "b"),
        order("1", "a", "b"),
        {**order("3", "ü"), "price": 3},
        order("4", "c", timestamp="2026-01-01"),
    )
    assert (answer["recorded"], answer["repeated"], answer["failed_count"]) == (2, 2, 4)
    assert [failed["line"] for failed in answer["failed"]] == [3, 4, 6, 8]
    assert "JSON" in answer["failed"][0]["errors"][0]["message"]
    assert answer["failed"][1]["errors"][0]["where"] == "items"
    assert "other content" in answer["failed"][2]["errors"][0]["message"]
    assert answer["failed"][3]["errors"][0]["where"] == "price"
    assert [entry["order_id"] for entry in shop.entries()] == ["known", "1", "4"]


def test_byte_order_mark_before_the_first_line_is_ignored(shop: Shop) -> None:
    body = b"\xef\xbb\xbf" + json.dumps(order("1", "a")).encode()
    for chunks in ([body], [body[:1], body[1:2], body[2:]]):
        answer = shop.client.post("/purchases", content=iter(chunks), headers=NDJSON)
        assert answer.json()["failed"] == []
    assert [entry["order_id"] for entry in shop.entries()] == ["1"]


def test_only_the_first_hundred_failed_lines_are_listed(shop: Shop) -> None:
    answer = record_lines(shop, *("nonsense" for _ in range(450)), order("1", "a"))
    assert [failed["line"] for failed in answer["failed"]] == list(range(1, 101))
    assert (answer["recorded"], answer["failed_count"]) == (1, 450)


def test_body_of_many_purchases_may_be_larger_than_others(shop: Shop) -> None:
    """8 MB in chunks; the service answers other requests in between."""
    lines = [
        json.dumps(order(f"bulk-{number}", f"item {number}", "x" * 250, "y" * 250))
        for number in range(13_000)
    ]
    body = "\n".join(lines).encode()
    assert len(body) > 7_500_000
    chunks = [body[start : start + 99_991] for start in range(0, len(body), 99_991)]
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(
            shop.client.post, "/purchases", content=iter(chunks), headers=NDJSON, timeout=180
        )
        waits = []
        while not sending.done():
            start = time.perf_counter()
            assert httpx.get(f"{shop.client.base_url}/healthz", timeout=30).status_code == 200
            waits.append(time.perf_counter() - start)
    answer = sending.result()
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"recorded": 13_000, "repeated": 0, "failed_count": 0, "failed": []}
    assert len(waits) > 5
    assert sorted(waits)[len(waits) // 2] < 1.0
    assert shop.redis.xlen(LOG) == 13_000


def test_too_large_bodies_of_purchases_are_refused(shop: Shop) -> None:
    huge = b" " * 17_000_000
    assert problem(shop.client.post("/purchases", content=huge, headers=NDJSON)) == (413, "body-too-large")
    one = shop.client.post(
        "/purchases", content=b" " * 2_000_000, headers={"Content-Type": "application/json"}
    )
    assert problem(one) == (413, "body-too-large")
    elsewhere = shop.client.post("/carts/x/items", content=b" " * 2_000_000, headers=NDJSON)
    assert problem(elsewhere) == (413, "body-too-large")
    answer = record_lines(shop, order("1", "a"), "x" * 1_500_000, order("2", "a"))
    assert answer["recorded"] == 2
    assert answer["failed"] == [
        {"line": 2, "errors": [{"where": "line", "message": "it has more than 1048576 bytes"}]}
    ]


def test_cancelled_purchase_is_corrected_in_the_log(shop: Shop) -> None:
    bought = record(shop, "a/b c%2F", "a", shopper_id="ann", timestamp=1_700_000_000).json()
    address = "/purchases/a%2Fb%20c%252F"
    for _ in range(2):
        assert shop.client.delete(address).status_code == 204
    assert shop.entries()[1:] == [
        {
            "corrects": bought["purchase_id"],
            "lines": "[]",
            "timestamp": "1700000000000",
            "shopper": shop.hashed("ann"),
            "order_id": "a/b c%2F",
        }
    ]
    again = record(shop, "a/b c%2F", "a", shopper_id="ann", timestamp=1_700_000_000)
    assert again.status_code == 200
    assert (again.json()["status"], again.json()["items"]) == ("cancelled", [])
    assert problem(shop.client.delete("/purchases/unknown")) == (404, "purchase-not-found")


def test_checked_out_cart_is_cancelled_by_its_purchase_id(shop: Shop) -> None:
    shop.client.post("/carts/c/items", json={"item_id": "a", "quantity": 3})
    purchase_id = shop.client.post("/carts/c/checkout").json()["purchase_id"]
    left = give_back(shop, purchase_id, a=1)
    assert left.json()["items"] == [{"item_id": "a", "quantity": 2}]
    assert shop.client.delete(f"/purchases/{purchase_id}").status_code == 204
    corrections = shop.entries()[1:]
    assert [entry["lines"] for entry in corrections] == ['[["a",2]]', "[]"]
    for entry in corrections:
        assert entry["corrects"] == purchase_id
        assert "order_id" not in entry


def test_returned_lines_are_subtracted(shop: Shop) -> None:
    lines = [{"item_id": "a", "quantity": 5}, {"item_id": "b", "quantity": 1}]
    shop.client.post("/purchases", json={"order_id": "1", "items": lines})
    ttl = shop.redis.ttl("tripod:order:1")
    left = give_back(shop, "1", a=2, b=1)
    assert left.status_code == 200
    assert left.json()["items"] == [{"item_id": "a", "quantity": 3}]
    assert left.json()["status"] == "partly_returned"
    assert shop.entries()[-1]["lines"] == '[["a",3]]'
    for too_many in (give_back(shop, "1", a=4), give_back(shop, "1", b=1), give_back(shop, "1", c=1)):
        assert problem(too_many) == (422, "invalid-request")
    assert "0 are left" in give_back(shop, "1", b=1).json()["detail"]
    assert len(shop.entries()) == 2
    assert give_back(shop, "1", a=3).json()["status"] == "cancelled"
    assert shop.client.delete("/purchases/1").status_code == 204
    assert len(shop.entries()) == 3
    assert problem(give_back(shop, "unknown", a=1)) == (404, "purchase-not-found")
    assert 0 < shop.redis.ttl("tripod:order:1") <= ttl


def test_return_repeated_with_its_idempotency_key_counts_once(shop: Shop) -> None:
    shop.client.post("/purchases", json={"order_id": "1", "items": [{"item_id": "a", "quantity": 5}]})
    key = {"Idempotency-Key": "return-1"}
    first = give_back(shop, "1", key, a=2)
    assert give_back(shop, "1", key, a=2).json() == first.json()
    assert problem(give_back(shop, "1", key, a=1)) == (422, "idempotency-key-reused")
    assert len(shop.entries()) == 2
    record(shop, "2", "a")
    assert give_back(shop, "2", key, a=1).status_code == 200


def test_concurrent_repetitions_record_one_purchase(shop: Shop) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: record(shop, "1", "a", timestamp=1_700_000_000), range(24)))
    assert sorted({answer.status_code for answer in answers}) in ([200, 201], [200, 201, 503])
    assert [answer.status_code for answer in answers].count(201) == 1
    assert len(shop.entries()) == 1
