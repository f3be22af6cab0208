"""The whole loop with real processes: check out carts, retrain, activate, roll back."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import httpx

from model_store import ModelStore
from tests.app.app_process import Service, eventually
from tests.app.jobs_process import ADMIN, KEY, Operator, Worker, write_baskets
from training.retraining import Retraining, retrain

CARTS = 2000
KNOWN = ("a6", "c9")  # a new pair of items that the first model knows
NEW = ("a5", "lens")  # a pair with an item that it does not know
OPTIONS = {"rank": 8, "skew_rank": 12, "steps": 150, "batch_size": 200, "learning_rate": 0.03, "seed": 3}


def first_model(store: Path, data: Path) -> str:
    models = ModelStore(store)
    request = Retraining(data=str(data), options=OPTIONS, report=False)
    version = retrain(models, request, tolerance=1, callback=lambda _: None, announce=lambda _: None).version
    models.activate(version)
    return version


def check_out_carts(client: httpx.Client) -> list[int]:
    """Each cart has one of the two pairs and another item."""
    rng = random.Random(1)
    others = [f"{kind}{group}" for kind in "abcd" for group in range(5)]
    carts = [[*(KNOWN, NEW)[number % 2], rng.choice(others)] for number in range(CARTS)]

    def buy(numbered: tuple[int, list[str]]) -> list[int]:
        number, items = numbered
        lines = {"items": [{"item_id": item} for item in items]}
        answers = [
            client.post(f"/carts/cart{number}/items", json=lines),
            client.post(f"/carts/cart{number}/checkout"),
        ]
        return [answer.status_code for answer in answers]

    with ThreadPoolExecutor(8) as pool:
        return [status for statuses in pool.map(buy, enumerate(carts)) for status in statuses]


@contextmanager
def load(url: str) -> Iterator[tuple[list[int], set[str]]]:
    """Request recommendations all the time, on new connections, so that both processes get some."""
    statuses: list[int] = []
    versions: set[str] = set()
    over = threading.Event()

    def request_all_the_time() -> None:
        with httpx.Client(base_url=url, timeout=60, headers={"connection": "close"}) as client:
            while not over.wait(0.02):
                answer = client.get("/recommend", params={"items": "a5"})
                statuses.append(answer.status_code)
                versions.add(answer.json()["model_version"])

    clients = [threading.Thread(target=request_all_the_time) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        yield statuses, versions
    finally:
        over.set()
        for client in clients:
            client.join()


def suggested(client: httpx.Client, item: str) -> list[str]:
    answer = client.get("/recommend", params={"items": item, "k": 5}).json()
    return [entry["item_id"] for entry in answer["items"]]


def loaded_by(service: Service, version: str) -> list[datetime]:
    """The times at which the processes loaded a version."""
    events = [event for event in service.events() if event["event"] == "model loaded"]
    return [datetime.fromisoformat(e["timestamp"]) for e in events if e["model_version"] == version]


def wait_for_cold(client: httpx.Client, *, cold: bool) -> None:
    """Wait until both processes, asked in turn, know the new item, or do not know it from purchases."""

    def agree() -> bool:
        answers = []
        for _ in range(8):
            with httpx.Client(base_url=client.base_url, timeout=60) as fresh:
                answers.append(fresh.get(f"/items/{NEW[1]}"))
        found = [answer.json() for answer in answers if answer.status_code == 200]
        return len(found) == 8 and {(item["name"], item["cold"]) for item in found} == {("Lens", cold)}

    eventually(agree, f"the new item is not cold={cold} in both processes")


def test_retraining_learns_from_checked_out_carts_and_can_be_rolled_back(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    write_baskets(data)
    first = first_model(tmp_path / "store", data)
    environment = {"TRIPOD_ADMIN_KEY": KEY, "TRIPOD_DATA": str(data), "TRIPOD_POLL_SECONDS": "1"}
    service = start("--workers", "2", **environment).ready()
    shop, operator = service.client, Operator(service)
    eventually(lambda: len(loaded_by(service, first)) == 2, "not both processes loaded the first model")
    assert shop.put(f"/items/{NEW[1]}", json={"name": "Lens"}, headers=ADMIN).json()["cold"] is True
    wait_for_cold(shop, cold=True)
    before = {item: suggested(shop, item) for item in ("a5", "a6")}
    assert KNOWN[1] not in before["a6"]
    with Worker(tmp_path / "store", data) as worker:
        assert set(check_out_carts(shop)) == {200}
        with load(str(shop.base_url)) as (statuses, versions):
            job_id = operator.start(options=OPTIONS | {"init": "previous", "report": False})["job_id"]
            events = [job for _, job in operator.follow(job_id)]
            job = events[-1]
            assert job["state"] == "succeeded", f"{job} {worker.log_path.read_text()}"
            second = job["version"]
            eventually(
                lambda: len(loaded_by(service, second)) == 2, "not both processes loaded the new model"
            )
            eventually(lambda: versions == {first, second}, "the new model does not respond")
            after = {item: suggested(shop, item) for item in ("a5", "a6")}
            wait_for_cold(shop, cold=False)
            rolled = shop.post(f"/models/{first}/activate", headers=ADMIN)
            assert rolled.json() == {"version": first, "previous_version": second}
            eventually(
                lambda: len(loaded_by(service, first)) == 4, "not both processes loaded the first model again"
            )
    wait_for_cold(shop, cold=True)
    assert set(statuses) == {200}
    assert versions == {first, second}
    assert len(statuses) > 50
    assert job["activated"] is True
    assert job["purchases_drained"] == CARTS
    assert job["gate"]["accepted"] is True
    assert job["gate"]["candidate"] > job["gate"]["active"]
    assert max(job["step"] for job in events if job["step"] is not None) == OPTIONS["steps"]
    assert NEW[1] in after["a5"]
    assert KNOWN[1] in after["a6"]
    assert {item: suggested(shop, item) for item in ("a5", "a6")} == before
    live = max(loaded_by(service, second)) - datetime.fromisoformat(job["ended_at"])
    print(f"{len(statuses)} requests succeeded; all loaded {live.total_seconds():+.2f} s after the job")
