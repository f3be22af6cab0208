"""How records of items reach every process: by the log of changes, or by reading all records again."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
import redis

from app.catalogue.changing import snapshot_of
from app.catalogue.follower import CatalogueFollower
from app.catalogue.holder import SnapshotHolder
from app.catalogue.mixtures import Step
from app.catalogue.records import Record, RecordStore, deleted, merged_with, replaced_by
from app.catalogue.served_model import ServedModel
from app.redis.client import RedisLink
from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually
from tests.app.app_shop import item_ids, publish


def patch_of_release_0_1(client: redis.Redis, item_id: str, fields: dict[str, object]) -> None:
    """Change an override as release 0.1 does, without an entry in the log."""
    override = json.loads(client.hget("tripod:items", item_id) or "{}") | fields
    client.hset("tripod:items", item_id, json.dumps({k: v for k, v in override.items() if v is not None}))
    client.incr("tripod:items:changes")


class Follower:
    """The part of a server process that follows changes of records, without HTTP."""

    def __init__(self, link: RedisLink, model: ServedModel) -> None:
        self.snapshots = SnapshotHolder(1 << 20)
        self.snapshots.use_model(model)
        self.store = RecordStore(link)
        self.service = CatalogueFollower(link, self.snapshots, poll_seconds=1)
        self.known = set(model.stored.items.ids)

    async def patch(self, item_id: str, fields: dict[str, object]) -> None:
        await self.store.edit([merged_with(item_id, fields, known=item_id in self.known, creates=True)])

    async def assert_up_to_date(self) -> None:
        """Compare with a process that starts now and reads all records."""
        await self.service.poll()
        everything = await self.store.since(None)
        current = self.snapshots.current()
        records = {item_id: record for item_id, record in everything.parsed() if record is not None}
        expected = snapshot_of(current.model, records)
        if expected.arrivals:
            expected = Step.of(expected).applied(expected)
        known = range(current.model.kernel.size)
        # Arrivals may be in another order, and rows of those that are gone stay until the next model.
        listed = {item_id: current.listed_row(item_id) for item_id in current.arrivals}
        rows = [*known, *(row for row in listed.values() if row is not None)]
        order = [
            *known,
            *(expected.arrival_rows[item_id] for item_id, row in listed.items() if row is not None),
        ]
        assert sorted(order) == list(range(expected.size))
        for name in ("prices", "in_stock", "boosts", "deleted"):
            found, wanted = getattr(current, name), getattr(expected, name)
            np.testing.assert_array_equal(found[rows], wanted[order], err_msg=name)
        for row, other in zip(rows, order, strict=True):
            assert current.item_id(row) == expected.item_id(other)
            assert current.name(row) == expected.name(other)
            assert current.category(row) == expected.category(other)
            assert current.record(row) == expected.record(other)
            assert current.search_text(row) == expected.search_text(other)
        shown = set(rows)
        found = [current.item_id(row) for row in current.search.matches("film") if row in shown]
        assert sorted(found) == sorted(expected.item_id(row) for row in expected.search.matches("film"))
        partners = [
            {current.item_id(row) for row in np.flatnonzero(current.variants.others([one]))} for one in rows
        ]
        assert partners == [
            {expected.item_id(row) for row in np.flatnonzero(expected.variants.others([one]))}
            for one in order
        ]
        assert current.revision.split("-")[0] == str(everything.number)
        usual = np.exp(expected.log_usual)[order]
        np.testing.assert_allclose(np.exp(current.log_usual)[rows], usual, rtol=1e-9)


@pytest.fixture
def follow(valkey: Valkey, tmp_path: Path) -> Callable[[Callable[..., Awaitable[None]]], None]:
    """Run a test with two followers and a client of the same Redis."""
    publish(tmp_path / "store")
    model = ServedModel.of(ModelStore(tmp_path / "store").open())

    def run(test: Callable[..., Awaitable[None]]) -> None:
        async def in_loop() -> None:
            link, client = RedisLink(valkey.url), redis.Redis.from_url(valkey.url)
            try:
                await test(Follower(link, model), Follower(link, model), client)
            finally:
                await link.close()

        asyncio.run(in_loop())

    return run


@pytest.mark.parametrize("seed", range(3))
def test_following_the_log_equals_reading_all_records(
    follow: Callable[[Callable[..., Awaitable[None]]], None], seed: int
) -> None:
    rng = random.Random(seed)
    ids = [*item_ids(), "unknown to the model", "another", "film roll"]

    def some_fields() -> dict[str, object]:
        values = {
            "in_stock": rng.choice([True, False, None]),
            "price": rng.choice([1.5, 2, None]),
            "boost": rng.choice([0, 1, 3.5, None]),
            "name": rng.choice(["Film", "Roll of film", None]),
            "category": rng.choice(["Photo", "New", "Photo > Film", None]),
            "parent_id": rng.choice(["film-0", "no item", None]),
            "attributes": rng.choice([{"colour": "red"}, {"colour": None, "iso": 200}]),
        }
        return {name: values[name] for name in rng.sample(sorted(values), rng.randint(1, 5))}

    async def test(one: Follower, two: Follower, client: redis.Redis) -> None:
        saved: dict[bytes, bytes] = {}

        def save() -> None:
            saved.update({key: client.dump(key) for key in client.keys("tripod:items*")})  # type: ignore[misc]

        def restore_the_save() -> None:
            client.flushall()
            for key, value in saved.items():
                client.restore(key, 0, value)

        disruptions = [
            lambda: patch_of_release_0_1(client, rng.choice(ids), some_fields()),
            lambda: client.xtrim("tripod:items:log", maxlen=rng.randint(0, 3), approximate=False),
            client.flushall,
            lambda: client.delete("tripod:items:log"),
            save,
            restore_the_save,
        ]
        for _ in range(60):
            for _ in range(rng.randint(1, 6)):
                item_id, follower = rng.choice(ids), rng.choice([one, two])
                known = item_id in follower.known
                action = rng.random()
                if action < 0.1:
                    await follower.store.edit([deleted(item_id, known=known)])
                elif action < 0.2:
                    fields = {"name": "Replaced film"}
                    await follower.store.edit([replaced_by(item_id, fields, known=known)])
                else:
                    await follower.patch(item_id, some_fields())
            if rng.random() < 0.4:
                rng.choice(disruptions)()
            await rng.choice([one, two]).assert_up_to_date()
        await one.assert_up_to_date()
        await two.assert_up_to_date()

    follow(test)


def test_change_after_lost_changes_is_applied(
    follow: Callable[[Callable[..., Awaitable[None]]], None],
) -> None:
    async def test(one: Follower, two: Follower, client: redis.Redis) -> None:
        await one.patch("film-0", {"price": 1})
        saved = {key: client.dump(key) for key in client.keys("tripod:items*")}  # type: ignore[union-attr]
        await one.patch("film-1", {"price": 2})
        await one.assert_up_to_date()
        client.flushall()
        for key, value in saved.items():
            client.restore(key, 0, value)
        # Now the number of changes is again the one that the follower has seen.
        await two.patch("film-2", {"price": 3})
        await one.assert_up_to_date()

    follow(test)


def test_changes_continue_after_the_clock_is_set_back(
    follow: Callable[[Callable[..., Awaitable[None]]], None],
) -> None:
    async def test(one: Follower, two: Follower, client: redis.Redis) -> None:
        future = 5 * 10**15
        client.set("tripod:items:changes", future)
        await one.patch("film-0", {"price": 1})
        assert int(client.get("tripod:items:changes")) == future + 1  # type: ignore[arg-type]
        await two.assert_up_to_date()
        client.delete("tripod:items:changes")  # the log is now ahead of the clock
        await one.patch("film-0", {"price": 2})
        await one.patch("film-1", {"price": 2})
        await one.assert_up_to_date()
        await two.assert_up_to_date()

    follow(test)


def test_burst_of_changes_is_followed_without_reading_all_records(
    follow: Callable[[Callable[..., Awaitable[None]]], None],
) -> None:
    async def test(one: Follower, two: Follower, client: redis.Redis) -> None:
        await one.patch("film-0", {"price": 1})
        await one.service.poll()
        await two.service.poll()
        client.config_resetstat()
        patches = [one.patch(item_id, {"price": 7.5}) for item_id in item_ids()]
        await asyncio.gather(*patches, two.service.poll())
        await one.service.poll()
        await two.service.poll()
        assert not {"cmdstat_hgetall", "cmdstat_hscan"} & client.info("commandstats").keys()
        assert set(two.snapshots.current().prices.tolist()) == {7.5}
        assert two.snapshots.current().revision == one.snapshots.current().revision
        await two.assert_up_to_date()

    follow(test)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"in_stock": false, "label": {"en": "new"}}', Record(in_stock=False)),
        (b'{"price": {"EUR": 3}, "boost": 2}', Record(boost=2)),
        (b'{"boost": true, "in_stock": 1, "price": 3}', Record(price=3)),
        (b'{"price": 1e999, "attributes": 3, "name": 4, "deleted": "yes"}', Record()),
        (b"[1, 2]", Record()),
        (b"not JSON", Record()),
        (b"", Record()),
    ],
)
def test_record_of_a_newer_release_keeps_the_known_fields(text: bytes, expected: Record) -> None:
    assert Record.parse(text) == expected


def test_readyz_reports_a_failed_item_watcher_and_its_recovery(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY).ready()
    client = redis.Redis.from_url(valkey.url)

    def watcher() -> str | None:
        answer = service.client.get("/readyz")
        assert answer.status_code == 200  # the service goes on with the records it knows
        reason: str | None = answer.json()["watchers"]["items"]
        return reason

    assert service.client.get("/readyz").json()["watchers"] == dict.fromkeys(
        ("models", "activations", "items", "shoppers")
    )
    client.set("tripod:items:changes", "not a number")
    reason = eventually(watcher, "the failure of the watcher is not reported")
    assert "invalid literal" in reason
    assert " Since 20" in reason
    client.delete("tripod:items:changes")
    client.hset("tripod:items", "film-0", '{"in_stock": false, "label": "written by a newer release"}')
    client.incr("tripod:items:changes")
    eventually(
        lambda: not service.client.get("/items/film-0").json()["in_stock"],
        "the watcher does not apply changes",
    )
    eventually(lambda: watcher() is None, "the recovery is not reported")
    logged = [event["event"] for event in service.events() if event.get("watcher") == "items"]
    assert logged == ["watcher failed", "watcher recovered"]
