"""Seeding: the worker brings the purchases of the training data into the profiles of shoppers."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually
from tests.app.jobs_process import Worker
from tests.app.shopper_shop import profile, publish_personal, wait_for_baskets

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def shop(valkey: Valkey, tmp_path: Path, start: Callable[..., Service]) -> httpx.Client:
    publish_personal(tmp_path / "store")
    service = start(TRIPOD_ADMIN_KEY=ADMIN_KEY, REDIS_URL=valkey.url)
    return service.ready().client


@pytest.fixture
def redis(valkey: Valkey) -> Iterator[Redis]:
    with Redis.from_url(valkey.url) as client:
        yield client


def write(folder: Path, rows: list[tuple[str, str, str, str]], name: str = "orders.csv") -> None:
    folder.mkdir(exist_ok=True)
    with (folder / name).open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["basket_id", "item_id", "timestamp", "shopper_id"])
        table.writerows(rows)


def day(number: float) -> str:
    return (START + timedelta(days=number)).isoformat().replace("+00:00", "Z")


def random_rows(shoppers: int, most: int) -> list[tuple[str, str, str, str]]:
    rng = random.Random(5)
    baskets = []
    for shopper in range(shoppers):
        for number in range(rng.randrange(1, most)):
            when = day(rng.randrange(0, 300))
            items = rng.sample([f"film-{n}" for n in range(15)], rng.randrange(1, 5))
            baskets.append([(f"o{shopper}-{number}", item, when, f"s-{shopper}") for item in items])
    rng.shuffle(baskets)
    return [row for basket in baskets for row in basket]


def expected(rows: list[tuple[str, str, str, str]], shopper: str) -> list[tuple[str, set[str]]]:
    """The time and the items of the shopper's newest 100 baskets."""
    baskets: dict[str, tuple[str, set[str]]] = {}
    for basket, item, when, owner in rows:
        if owner == shopper:
            baskets.setdefault(basket, (when, set()))[1].add(item)
    return sorted(baskets.values(), key=lambda basket: (basket[0], sorted(basket[1])))[-100:]


def stored(shop: httpx.Client, shopper: str) -> list[tuple[str, set[str]]]:
    found: Any = profile(shop, shopper)
    baskets = [(basket["bought_at"], set(basket["items"])) for basket in found["baskets"]]
    assert [when for when, _ in baskets] == sorted(when for when, _ in baskets)
    return sorted(baskets, key=lambda basket: (basket[0], sorted(basket[1])))


def seeded(redis: Redis, before: bytes | None = None) -> bytes:
    found = eventually(
        lambda: (state := redis.get("tripod:shoppers:seeded")) != before and state, "nothing is seeded"
    )
    assert isinstance(found, bytes)
    return found


def test_worker_seeds_the_shoppers_of_the_data(
    shop: httpx.Client, valkey: Valkey, tmp_path: Path, redis: Redis
) -> None:
    rows = random_rows(30, 12)
    rows += [(f"many-{number}", "film-1", day(number / 10), "many") for number in range(150)]
    rows += [("guest", "film-1", day(3), "")]
    write(tmp_path / "data", rows)
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        first = seeded(redis)
        assert len(redis.keys("tripod:shopper:*")) == 31
        for shopper in ("s-0", "s-17", "s-29", "many"):
            assert stored(shop, shopper) == expected(rows, shopper)
    # Nothing is read again while the data is the same.
    redis.delete(f"tripod:shopper:{ModelStore(tmp_path / 'store').shopper_ids().hashed('s-0')}")
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url) as worker:
        eventually(lambda: redis.keys("tripod:jobs:worker*"), "the worker does not live")
        eventually(lambda: _has_ended(worker), "the seeding goes on")
    assert profile(shop, "s-0") is None
    assert redis.get("tripod:shoppers:seeded") == first
    # New data is read, and what is known counts once.
    write(tmp_path / "data", [("new", "film-2", day(301), "s-17")], "more.csv")
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        seeded(redis, before=first)
    assert stored(shop, "s-17") == [*expected(rows, "s-17"), (day(301), {"film-2"})]
    assert stored(shop, "s-0") == expected(rows, "s-0")


def _has_ended(worker: Worker) -> bool:
    children = Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children").read_text().split()
    states = [Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] for child in children]
    return set(states) == {"Z"}


def test_order_that_was_posted_and_is_in_the_data_counts_once(
    shop: httpx.Client, valkey: Valkey, tmp_path: Path, redis: Redis
) -> None:
    order = {
        "order_id": "o-1",
        "items": [{"item_id": "film-1"}],
        "shopper_id": "anna",
        "timestamp": day(1),
    }
    assert shop.post("/purchases", json=order, headers={"X-Admin-Key": ADMIN_KEY}).status_code == 201
    wait_for_baskets(shop, "anna", 1)
    write(tmp_path / "data", [("o-1", "film-1", day(1), "anna"), ("o-2", "film-2", day(2), "anna")])
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        seeded(redis)
    assert stored(shop, "anna") == [(day(1), {"film-1"}), (day(2), {"film-2"})]


def test_cancelled_and_returned_purchases_do_not_come_back(
    shop: httpx.Client, valkey: Valkey, tmp_path: Path, redis: Redis
) -> None:
    admin = {"X-Admin-Key": ADMIN_KEY}
    rows = []
    for order_id, *items in (("o-1", "film-1"), ("o-2", "film-2", "film-3"), ("o-3", "film-4")):
        lines = [{"item_id": item} for item in items]
        order = {"order_id": order_id, "items": lines, "shopper_id": "anna", "timestamp": day(1)}
        assert shop.post("/purchases", json=order, headers=admin).status_code == 201
        rows += [(order_id, item, day(1), "anna") for item in items]
    wait_for_baskets(shop, "anna", 3)
    only = {"order_id": "o-4", "items": [{"item_id": "film-5"}], "shopper_id": "berta", "timestamp": day(1)}
    assert shop.post("/purchases", json=only, headers=admin).status_code == 201
    wait_for_baskets(shop, "berta", 1)
    for order_id in ("o-1", "o-4"):
        assert shop.delete(f"/purchases/{order_id}", headers=admin).status_code == 204
    returned = {"items": [{"item_id": "film-3"}]}
    assert shop.post("/purchases/o-2/returns", json=returned, headers=admin).status_code == 200
    wait_for_baskets(shop, "anna", 2)
    eventually(lambda: profile(shop, "berta") is None, "the cancellation did not reach the profile")
    # The data still holds the orders as they were, like files that were read before the corrections.
    write(tmp_path / "data", [*rows, ("o-4", "film-5", day(1), "berta"), ("o-5", "film-6", day(2), "anna")])
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        seeded(redis)
    left = [(day(1), {"film-2"}), (day(1), {"film-4"}), (day(2), {"film-6"})]
    eventually(lambda: stored(shop, "anna") == left, "the corrections are lost")
    assert profile(shop, "berta") is None


def test_a_date_in_the_future_does_not_make_all_others_old(
    shop: httpx.Client, valkey: Valkey, tmp_path: Path, redis: Redis
) -> None:
    write(
        tmp_path / "data",
        [("o-1", "film-1", day(1), "anna"), ("o-2", "film-2", "2999-01-01T00:00:00Z", "berta")],
    )
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        seeded(redis)
    assert stored(shop, "anna") == [(day(1), {"film-1"})]


def test_forgotten_shoppers_and_those_not_seen_for_long_are_not_seeded(
    shop: httpx.Client, valkey: Valkey, tmp_path: Path, redis: Redis
) -> None:
    write(
        tmp_path / "data",
        [
            ("o-1", "film-1", day(1), "anna"),
            ("o-2", "film-1", day(2), "berta"),
            ("o-3", "film-1", day(-900), "clara"),
        ],
    )
    assert shop.delete("/shoppers/anna", headers={"X-Admin-Key": ADMIN_KEY}).status_code == 200
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        seeded(redis)
    assert profile(shop, "anna") is None
    assert profile(shop, "berta") is not None
    assert profile(shop, "clara") is None


def test_data_without_shoppers_or_with_faults_seeds_nothing(
    valkey: Valkey, tmp_path: Path, redis: Redis
) -> None:
    publish_personal(tmp_path / "store")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "baskets.txt").write_text("film-1 film-2\nfilm-3\n")
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url):
        seeded(redis)
    assert redis.keys("tripod:shopper:*") == []
    (tmp_path / "data" / "baskets.csv").write_text("no,such,columns\n1,2,3\n")
    with Worker(tmp_path / "store", tmp_path / "data", REDIS_URL=valkey.url) as worker:
        eventually(lambda: "were not seeded" in worker.log_path.read_text(), "the fault is not logged")
        assert worker.process.poll() is None
    warning = next(line for line in worker.log_path.read_text().splitlines() if "were not seeded" in line)
    assert "baskets.csv" in json.loads(warning)["error"]
