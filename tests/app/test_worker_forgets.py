"""The worker removes forgotten shoppers from drained purchases when it has no job."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from redis import Redis

from tests.app.app_process import Valkey, eventually
from tests.app.jobs_process import Worker
from tests.app.shopper_shop import everything_in
from training.purchase_log import drain, purchases_folder

ANN, BEN = "a1" * 16, "b2" * 16
LOG, NOTE, LEASE = "tripod:purchases", "tripod:forgetting", "tripod:jobs:lease"


def buy(client: Redis, order_id: str, shopper: str) -> None:
    client.xadd(LOG, {"order_id": order_id, "lines": json.dumps([["camera", 1]]), "shopper": shopper})


def forget(client: Redis, shopper: str) -> None:
    client.xadd(LOG, {"forget": shopper})
    client.set(NOTE, 1)


def baskets(folder: Path) -> list[str]:
    return [name for file in folder.glob("*.parquet") for name in pl.read_parquet(file)["basket_id"]]


def test_idle_worker_removes_forgotten_shoppers_from_files_and_redis(valkey: Valkey, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "baskets.txt").write_text("camera film\n")
    with Redis.from_url(valkey.url) as client:
        buy(client, "1", ANN)
        buy(client, "2", BEN)
        drain(client, LOG, purchases_folder(str(data)))
        buy(client, "3", ANN)
        forget(client, ANN)
        assert ANN in everything_in(tmp_path)
        with Worker(tmp_path / "store", data, REDIS_URL=valkey.url) as worker:
            eventually(lambda: not client.exists(NOTE), "the worker did not forget")
            assert baskets(data / "purchases") == ["2"]
            assert client.xlen(LOG) == 0
            eventually(lambda: ANN not in everything_in(tmp_path), "Redis did not rewrite its file")
            eventually(lambda: not client.exists(LEASE), "the lease was not given back")

            client.set(LEASE, "a job", px=3_000)  # nothing is drained beside a job
            forget(client, BEN)
            eventually(lambda: not client.exists(NOTE), "the worker did not forget again")
            assert baskets(data / "purchases") == []
            assert client.get(LEASE) != b"a job"
            eventually(lambda: BEN not in everything_in(tmp_path), "Redis did not rewrite its file again")
            assert "Traceback" not in worker.log_path.read_text()


def test_forgotten_shopper_waits_for_the_profiles(valkey: Valkey, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "baskets.txt").write_text("camera film\n")
    with Redis.from_url(valkey.url) as client:
        client.set("tripod:shoppers:position", "1-0")  # an entry long ago
        buy(client, "1", ANN)
        forget(client, ANN)
        with Worker(tmp_path / "store", data, REDIS_URL=valkey.url):
            eventually(lambda: client.exists(LEASE), "the worker did not begin")
            assert client.exists(NOTE)
            client.set("tripod:shoppers:position", client.xrevrange(LOG, count=1)[0][0])
            eventually(lambda: client.xlen(LOG) == 0, "the entry was not removed")
            eventually(lambda: not client.exists(NOTE), "the worker did not forget")
            assert baskets(data / "purchases") == []
