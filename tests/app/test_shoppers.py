"""Shoppers: the profile follows purchases, is bounded, expires; what is due; the admin key."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest
from redis import Redis

from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually, get_json, ids_of, problem
from tests.app.app_shop import item_ids
from tests.app.shopper_shop import ADMIN, buy, profile, publish_personal, wait_for_baskets

DAY = 86_400
NOW = int(time.time())


@pytest.fixture
def shop(valkey: Valkey, tmp_path: Path, start: Callable[..., Service]) -> httpx.Client:
    publish_personal(tmp_path / "store")
    service = start(TRIPOD_ADMIN_KEY=ADMIN_KEY, REDIS_URL=valkey.url).ready()
    service.client.headers.update(ADMIN)
    return service.client


@pytest.fixture
def redis(valkey: Valkey) -> Iterator[Redis]:
    with Redis.from_url(valkey.url) as client:
        yield client


def hashed(tmp_path: Path, shopper_id: str) -> str:
    return ModelStore(tmp_path / "store").shopper_ids().hashed(shopper_id)


def note(redis: Redis, shopper: str, items: list[str], **fields: Any) -> str:
    """Append a purchase of one of each item to the log, as POST /purchases does."""
    lines = json.dumps([[item, 1] for item in items])
    entry: Any = redis.xadd("tripod:purchases", dict(shopper=shopper, lines=lines, **fields))
    return str(entry.decode())


def test_profile_follows_a_checkout_within_a_second(shop: httpx.Client) -> None:
    buy(shop, "anna", "camera-0", "film-1")
    wait_for_baskets(shop, "anna", 1)
    bought = time.monotonic()
    buy(shop, "anna", "film-1")
    stored = wait_for_baskets(shop, "anna", 2)
    assert time.monotonic() - bought < 2  # a second, and a busy machine
    assert [basket["items"] for basket in stored["baskets"]] == [["camera-0", "film-1"], ["film-1"]]
    film, camera = stored["items"]
    assert (film["item_id"], film["name"], film["times"]) == ("film-1", "Film 1", 2)
    assert (camera["item_id"], camera["times"]) == ("camera-0", 1)
    assert stored["last_bought_at"] == film["last_bought_at"] == stored["baskets"][1]["bought_at"]
    assert abs(datetime.fromisoformat(stored["last_bought_at"]) - datetime.now(UTC)) < timedelta(minutes=5)
    assert profile(shop, "berta") is None


def test_a_guest_has_no_profile(shop: httpx.Client, redis: Redis) -> None:
    shop.post("/carts/guest/items", json={"item_id": "camera-0"})
    assert shop.post("/carts/guest/checkout").status_code == 200
    position = redis.xrevrange("tripod:purchases", count=1)[0][0]
    eventually(lambda: redis.get("tripod:shoppers:position") == position, "the log is not followed")
    assert redis.keys("tripod:shopper:*") == []


def test_repeated_entries_count_once(shop: httpx.Client, redis: Redis, tmp_path: Path) -> None:
    anna = hashed(tmp_path, "anna")
    note(redis, anna, ["camera-0"], order_id="order-1", timestamp=1000 * (NOW - 2 * DAY))
    note(redis, anna, ["camera-0", "film-0"], order_id="order-1", timestamp=1000 * (NOW - 2 * DAY))
    note(redis, anna, ["film-0"], order_id="order-2", timestamp=1000 * (NOW - DAY))
    stored = wait_for_baskets(shop, "anna", 2)
    assert [basket["items"] for basket in stored["baskets"]] == [["camera-0", "film-0"], ["film-0"]]
    redis.delete("tripod:shoppers:position")  # the whole log is read again
    last = redis.xrevrange("tripod:purchases", count=1)[0][0]
    eventually(lambda: redis.get("tripod:shoppers:position") == last, "the log is not read again")
    assert profile(shop, "anna")["baskets"] == stored["baskets"]


def test_corrections_change_and_remove_baskets(shop: httpx.Client, redis: Redis, tmp_path: Path) -> None:
    anna = hashed(tmp_path, "anna")
    first = note(redis, anna, ["camera-0", "film-0"], timestamp=1000 * (NOW - 3 * DAY))
    second = note(redis, anna, ["film-3"], order_id="order-2", timestamp=1000 * (NOW - DAY))
    wait_for_baskets(shop, "anna", 2)
    note(redis, anna, ["film-0"], corrects=first)
    note(redis, anna, [], corrects=second, order_id="order-2")
    stored = wait_for_baskets(shop, "anna", 1)
    assert stored["baskets"][0]["items"] == ["film-0"]
    assert datetime.fromisoformat(stored["first_bought_at"]).timestamp() == NOW - 3 * DAY
    note(redis, anna, [], corrects=first)
    eventually(lambda: profile(shop, "anna") is None, "the profile still exists")


def test_entry_that_cannot_be_read_is_skipped(shop: httpx.Client, redis: Redis, tmp_path: Path) -> None:
    anna = hashed(tmp_path, "anna")
    redis.xadd("tripod:purchases", {"shopper": anna, "lines": "no JSON"})
    redis.xadd("tripod:purchases", {"shopper": anna})
    note(redis, anna, ["film-0"])
    wait_for_baskets(shop, "anna", 1)
    assert get_json(shop, "/readyz")["watchers"]["shoppers"] is None


def test_profile_keeps_the_newest_baskets_and_lines(shop: httpx.Client, redis: Redis, tmp_path: Path) -> None:
    anna, berta = hashed(tmp_path, "anna"), hashed(tmp_path, "berta")
    for number in range(130):  # not in order of time
        days = (number * 37) % 130 + 1
        note(redis, anna, [f"item-{days}"], order_id=f"a{number}", timestamp=1000 * (NOW - days * DAY))
    stored = wait_for_baskets(shop, "anna", 100)
    assert [basket["items"] for basket in stored["baskets"]] == [[f"item-{d}"] for d in range(100, 0, -1)]
    assert len(stored["items"]) == 100
    note(redis, anna, ["too old"], order_id="old", timestamp=1000 * (NOW - 200 * DAY))
    for number in range(5):
        lines = [f"item-{number}-{line}" for line in range(500)]
        note(redis, berta, lines, order_id=f"b{number}", timestamp=1000 * (NOW - number * DAY))
    stored = wait_for_baskets(shop, "berta", 4)
    assert [len(basket["items"]) for basket in stored["baskets"]] == [500] * 4
    assert stored["baskets"][-1]["items"][0] == "item-0-0"
    assert profile(shop, "anna")["first_bought_at"] == profile(shop, "anna")["baskets"][0]["bought_at"]
    assert len(profile(shop, "anna")["baskets"]) == 100
    assert len(redis.get(f"tripod:shopper:{anna}")) < 6_000


def test_profile_expires_unless_it_is_used(
    valkey: Valkey, tmp_path: Path, start: Callable[..., Service], redis: Redis
) -> None:
    publish_personal(tmp_path / "store")
    settings = {"TRIPOD_ADMIN_KEY": ADMIN_KEY, "TRIPOD_SHOPPER_TTL": "100", "REDIS_URL": valkey.url}
    shop = start(**settings).ready().client
    buy(shop, "anna", "film-0")
    stored = wait_for_baskets(shop, "anna", 1)
    left = datetime.fromisoformat(stored["expires_at"]) - datetime.now(UTC)
    assert timedelta(seconds=60) < left <= timedelta(seconds=101)
    key = f"tripod:shopper:{hashed(tmp_path, 'anna')}"
    redis.expire(key, 50)
    profile(shop, "anna")  # looking at it is not use
    assert redis.ttl(key) <= 50
    get_json(shop, "/recommend", shopper_id="anna")
    assert redis.ttl(key) > 50
    redis.pexpire(key, 1)
    eventually(lambda: profile(shop, "anna") is None, "the profile does not expire")


def test_two_processes_share_the_work(
    valkey: Valkey, tmp_path: Path, start: Callable[..., Service], redis: Redis
) -> None:
    publish_personal(tmp_path / "store")
    settings = {"TRIPOD_ADMIN_KEY": ADMIN_KEY, "REDIS_URL": valkey.url}
    one, other = start(**settings).ready(), start(**settings).ready()
    holder = redis.get("tripod:shoppers:follower")
    time.sleep(1)
    assert redis.get("tripod:shoppers:follower") == holder is not None
    one.process.kill()  # whichever holds the lease, the other goes on
    buy(other.client, "anna", "film-0")
    wait_for_baskets(other.client, "anna", 1)
    other.stop()
    assert redis.get("tripod:shoppers:follower") is None  # given back at once


def slow_buy_again(baskets: list[tuple[int, list[str]]], now: float) -> list[tuple[str, int, float]]:
    """Item, times and usual interval in seconds by the documented rules."""
    found: list[tuple[float, str, int, float]] = []
    given_up: list[tuple[float, str, int, float]] = []
    for item in {item for _, items in baskets for item in items} & set(item_ids()) - {"tripod-1"}:
        times = sorted(seconds for seconds, items in baskets if item in items)
        if len(times) > 1:
            interval = median(times[place + 1] - times[place] for place in range(len(times) - 1))
            lateness = (now - times[-1]) / interval
            (given_up if lateness > 3 else found).append((lateness, item, len(times), interval))
    ordered = sorted(found, reverse=True) + sorted(given_up)
    return [(item, count, interval) for _, item, count, interval in ordered]


def test_buy_again_matches_the_rules(shop: httpx.Client, redis: Redis, tmp_path: Path) -> None:
    rng = random.Random(3)
    pool = [*item_ids()[:20], "unknown-1"]
    baskets = [
        (NOW - 3600 * rng.randrange(1, 90 * 24), rng.sample(pool, rng.randrange(1, 6))) for _ in range(60)
    ]
    for number, (seconds, items) in enumerate(baskets):
        note(redis, hashed(tmp_path, "anna"), items, order_id=f"o{number}", timestamp=1000 * seconds)
    wait_for_baskets(shop, "anna", 60)
    answer = get_json(shop, "/shoppers/anna/buy-again", limit=100)
    expected = slow_buy_again(baskets, time.time())
    assert len(expected) > 10
    assert ids_of(answer) == [item for item, _, _ in expected]
    for item, (_, count, interval) in zip(answer["items"], expected, strict=True):
        last, due = (datetime.fromisoformat(item[name]) for name in ("last_bought_at", "due_at"))
        assert item["times"] == count
        assert item["usual_interval_days"] == pytest.approx(interval / DAY, abs=1e-3)
        assert due - last == timedelta(seconds=round(interval))
        assert item["overdue_days"] == pytest.approx((time.time() - due.timestamp()) / DAY, abs=0.01)
    assert ids_of(get_json(shop, "/shoppers/anna/buy-again", limit=2)) == ids_of(answer)[:2]
    shop.patch(f"/items/{expected[0][0]}", json={"in_stock": False})
    eventually(
        lambda: ids_of(get_json(shop, "/shoppers/anna/buy-again"))[0] == expected[1][0],
        "an item that is sold out is still due",
    )


def test_unknown_shopper_is_not_found_and_not_named(shop: httpx.Client) -> None:
    for path in ("/shoppers/jane%40example.org", "/shoppers/jane%40example.org/buy-again"):
        answer = shop.get(path)
        assert problem(answer) == (404, "shopper-not-found")
        assert "jane" not in answer.text
    assert problem(shop.get("/shoppers/anna/buy-again?limit=0")) == (422, "invalid-request")
    assert problem(shop.get("/shoppers/" + "x" * 257)) == (422, "invalid-request")
    for text in (".", ".."):  # which no address could name afterwards
        answer = shop.post("/recommend", json={"shopper_id": text})
        assert problem(answer) == (422, "invalid-request")
        assert "a shopper id is neither" in answer.text


def test_ids_with_any_characters_are_accepted(shop: httpx.Client) -> None:
    buy(shop, "Jörg/50%", "film-0")
    found = wait_for_baskets(shop, "J%C3%B6rg%2F50%25", 1)
    assert found["baskets"][0]["items"] == ["film-0"]


def test_admin_key_is_needed(shop: httpx.Client) -> None:
    for method, path in (
        ("GET", "/shoppers/anna"),
        ("GET", "/shoppers/anna/buy-again"),
        ("DELETE", "/shoppers/anna"),
    ):
        assert problem(httpx.request(method, f"{shop.base_url}{path}")) == (401, "unauthorized")
        wrong = {"X-Admin-Key": "a wrong key, long enough"}
        assert problem(httpx.request(method, f"{shop.base_url}{path}", headers=wrong)) == (403, "forbidden")


def test_ids_and_hashes_are_neither_logged_nor_counted(
    shop: httpx.Client, tmp_path: Path, redis: Redis
) -> None:
    buy(shop, "jane-doe", "film-0")
    wait_for_baskets(shop, "jane-doe", 1)
    get_json(shop, "/recommend", shopper_id="jane-doe")
    for path in ("/shoppers/jane-doe/nothing-here", "/Shoppers/jane-doe", "/shoppers%2Fjane-doe"):
        shop.get(path)
    assert shop.delete("/shoppers/jane-doe").status_code == 200
    log = (tmp_path / "service-0.log").read_text()
    assert "/shoppers/{shopper_id}" in log
    hash_ = hashed(tmp_path, "jane-doe")
    for text in (log, shop.get("/metrics").text):
        assert "jane-doe" not in text
        assert hash_ not in text
    assert not redis.keys("*jane-doe*")
