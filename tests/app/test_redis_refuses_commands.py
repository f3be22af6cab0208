"""Redis responds but refuses commands because of its state: read-only, out of memory, busy, and so on."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from app.http.errors import RedisUnavailable
from app.redis import client as redis_client
from app.redis.client import RedisLink
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually
from tests.app.app_shop import publish

State = Callable[[redis.Redis], None]
REDIS_UNAVAILABLE = "urn:tripod:problem:redis-away"


def read_only(client: redis.Redis) -> None:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")


def cut_off_from_its_master(client: redis.Redis) -> None:
    client.config_set("replica-serve-stale-data", "no")
    read_only(client)


def out_of_memory(client: redis.Redis) -> None:
    client.config_set("maxmemory", 1)


def without_replicas(client: redis.Redis) -> None:
    client.config_set("min-replicas-to-write", 1)


def unable_to_save(client: redis.Redis) -> None:
    shutil.rmtree(client.config_get("dir")["dir"])
    client.config_set("save", "3600 1")
    client.bgsave()
    eventually(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "the save did not fail")


def busy(client: redis.Redis) -> None:
    client.config_set("busy-reply-threshold", 1)
    script = threading.Thread(target=_endless_script, args=[client.connection_pool])
    script.start()
    eventually(lambda: _is_busy(client), "the script did not start")


def not_permitted(client: redis.Redis) -> None:
    client.execute_command("ACL", "SETUSER", "default", "-set")


def _endless_script(pool: redis.ConnectionPool) -> None:
    with pytest.raises(ResponseError, match="killed"):
        redis.Redis(connection_pool=pool).eval("while true do end", 0)


def _is_busy(client: redis.Redis) -> bool:
    try:
        return not client.ping()
    except ResponseError as error:
        return str(error).startswith("BUSY")


STATES: dict[str, State] = {
    "READONLY": read_only,
    "MASTERDOWN": cut_off_from_its_master,
    "OOM": out_of_memory,
    "NOREPLICAS": without_replicas,
    "MISCONF": unable_to_save,
    "BUSY": busy,
    "NOPERM": not_permitted,
}


def reset(client: redis.Redis, folder: Path) -> None:
    if _is_busy(client):
        client.script_kill()
        eventually(lambda: not _is_busy(client), "the script was not stopped")
    client.execute_command("ACL", "SETUSER", "default", "+@all")
    client.execute_command("REPLICAOF", "NO", "ONE")
    for name, value in {
        "replica-serve-stale-data": "yes",
        "maxmemory": 0,
        "min-replicas-to-write": 0,
        "save": "",
    }.items():
        client.config_set(name, value)
    folder.mkdir(exist_ok=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Valkey, Path]]:
    folder = tmp_path_factory.mktemp("states")
    publish(folder / "store")
    valkey = Valkey(folder / "valkey")
    with Service(folder / "store", REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY) as service:
        service.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield service.ready(), valkey, folder / "valkey"
    valkey.kill()


@pytest.mark.parametrize("code", STATES)
def test_refused_writes_return_503_until_redis_accepts_them_again(
    place: tuple[Service, Valkey, Path], code: str
) -> None:
    service, valkey, folder = place
    shop, client = service.client, redis.Redis.from_url(valkey.url)
    assert shop.post("/carts/kept/items", json={"item_id": "camera-0"}).status_code == 200
    STATES[code](client)
    try:
        refused = [
            shop.post("/carts/kept/items", json={"item_id": "film-0"}),
            shop.patch("/items/film-0", json={"boost": 2}),
            shop.post("/training-jobs", json={"data": "baskets.txt"}),
        ]
        assert [answer.status_code for answer in refused] == [503] * 3
        assert {answer.json()["type"] for answer in refused} == {REDIS_UNAVAILABLE}
        assert all(code in answer.json()["detail"] for answer in refused)
        unready = shop.get("/readyz")
        assert unready.status_code == 503
        reason = unready.json()["missing"]["redis"]
        assert not unready.json()["detail"].endswith("..")
        assert ("READONLY" if code == "MASTERDOWN" else code) in reason  # the code that a write gets
        assert shop.get("/recommend", params={"items": "camera-0"}).status_code == 200
        assert shop.get("/healthz").status_code == 200
    finally:
        reset(client, folder)
    service.ready()
    assert shop.post("/carts/kept/items", json={"item_id": "camera-0"}).status_code == 200
    eventually(lambda: not any(shop.get("/readyz").json()["watchers"].values()), "a watcher did not recover")
    client.hset("tripod:items", "film-1", f'{{"price": {len(code)}}}')
    client.incr("tripod:items:changes")
    eventually(
        lambda: shop.get("/items/film-1").json()["price"] == len(code),
        "the item watcher does not apply changes",
    )


def test_refused_writes_between_reads_are_logged_once(place: tuple[Service, Valkey, Path]) -> None:
    service, valkey, folder = place
    client = redis.Redis.from_url(valkey.url)
    before = len(service.events())
    out_of_memory(client)  # reads still work
    for _ in range(3):
        assert service.client.post("/carts/kept/items", json={"item_id": "film-0"}).status_code == 503
        batch = service.client.post("/recommend/batch", json={"carts": [{"cart_id": "kept"}]})
        assert batch.status_code == 200
        time.sleep(0.3)  # meanwhile the item watcher reads
    reset(client, folder)
    service.ready()
    logged = [event["event"] for event in service.events()[before:] if event["event"].startswith("redis")]
    assert logged == ["redis refuses commands", "redis available again"]


def test_bug_of_ours_is_not_reported_as_redis_unavailable(place: tuple[Service, Valkey, Path]) -> None:
    service, valkey, _ = place
    redis.Redis.from_url(valkey.url).set("tripod:cart:BUSY", "not a cart")
    assert service.client.post("/carts/BUSY/items", json={"item_id": "film-0"}).status_code == 500
    assert service.client.get("/readyz").status_code == 200


def test_refusal_in_a_pipeline_is_recognised(place: tuple[Service, Valkey, Path]) -> None:
    _, valkey, folder = place
    client = redis.Redis.from_url(valkey.url)

    async def call() -> None:
        link = RedisLink(valkey.url)
        with link.call() as connection:
            both = connection.pipeline(transaction=False)
            both.get("a")
            both.set("b", 1)
            try:
                await both.execute()
            finally:
                await link.close()

    without_replicas(client)
    try:
        with pytest.raises(RedisUnavailable, match="NOREPLICAS"):
            asyncio.run(call())
    finally:
        reset(client, folder)


def test_redis_deadline_holds_on_a_busy_event_loop(
    place: tuple[Service, Valkey, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, valkey, _ = place
    monkeypatch.setattr(redis_client, "_TIMEOUT_SECONDS", 0.2)
    pid = int(redis.Redis.from_url(valkey.url).info("server")["process_id"])

    async def block_the_loop() -> None:
        while True:
            time.sleep(0.25)  # longer than the deadline, so that every timer fires late
            await asyncio.sleep(0)

    async def call() -> float:
        link = RedisLink(valkey.url)
        await link.read("GET", "x")
        os.kill(pid, signal.SIGSTOP)
        blocking, started = asyncio.create_task(block_the_loop()), time.monotonic()
        try:
            with pytest.raises(RedisUnavailable):
                await asyncio.wait_for(link.read("GET", "x"), 60)
        finally:
            os.kill(pid, signal.SIGCONT)
            blocking.cancel()
            await link.close()
        return time.monotonic() - started

    assert asyncio.run(call()) < 30
