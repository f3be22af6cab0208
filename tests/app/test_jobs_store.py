"""Job records on a real Valkey: the lease, one queued job, schedules that fire once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis

from app.carts.store import PURCHASE_LOG
from app.jobs import store as store_module
from app.jobs.schedule import Schedule
from app.jobs.schemas import JobRequest
from app.jobs.store import JobStore, Lease, events_key
from app.settings import Settings, SettingsError, load_settings

NIGHT = datetime(2026, 11, 16, 3, 59, 59, tzinfo=UTC)


@pytest.fixture
def store(client: Redis) -> JobStore:
    return JobStore(client)


def create(store: JobStore, retries: int = 0) -> str:
    created, job = store.create(JobRequest(), "request", retries)
    assert created
    return job.job_id


def claim(store: JobStore) -> Lease:
    claimed = store.claim()
    assert claimed is not None
    return claimed[1]


def test_concurrent_requests_create_one_job(store: JobStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: store.create(JobRequest(), "request", 0), range(40)))
    assert sum(created for created, _ in answers) == 1
    assert len({job.job_id for _, job in answers}) == 1
    assert len(store.latest()) == 1


def test_concurrent_workers_claim_a_job_once(store: JobStore) -> None:
    job_id = create(store)
    with ThreadPoolExecutor(8) as pool:
        claimed = [found for found in pool.map(lambda _: store.claim(), range(40)) if found]
    ((job, lease),) = claimed
    assert (job.job_id, job.state, lease.job_id) == (job_id, "running", job_id)


def test_claim_can_be_repeated_if_its_response_was_lost(store: JobStore) -> None:
    job_id = create(store)
    fields = {"state": "running"}
    for _ in range(2):
        assert store._apply(job_id, ("queued",), fields=fields, token=f"{job_id}:one")[0] == "ok"
    assert store._apply(job_id, ("queued",), fields=fields, token=f"{job_id}:two")[0] == "refused"


def test_create_can_be_repeated_when_its_answer_was_lost(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = store._create
    monkeypatch.setattr(store, "_create", lambda **call: (script(**call), script(**call))[1])
    create(store)
    assert len(store.latest()) == 1


def test_one_job_runs_and_another_is_queued(store: JobStore) -> None:
    assert store.claim() is None
    first = create(store)
    lease = claim(store)
    second = create(store)
    assert store.claim() is None
    assert store.update(lease, step=5)
    assert store.cancel(second)[0] == "ok"
    assert store.update(lease)  # the end of another job leaves the lease alone
    second = create(store)
    store.end(lease, "succeeded", version="v")
    assert claim(store).job_id == second
    assert [job.state for job in store.latest()] == ["running", "cancelled", "succeeded"]
    assert store.get(first).version == "v"  # type: ignore[union-attr]


def test_oldest_queued_job_is_claimed_first(store: JobStore, client: Redis) -> None:
    first = create(store, retries=1)
    claim(store)
    second = create(store)
    client.delete("tripod:jobs:lease")  # the first job died and is queued again
    lease = claim(store)
    assert lease.job_id == first
    store.end(lease, "succeeded")
    assert claim(store).job_id == second


def test_job_queued_by_release_0_1_is_claimed(store: JobStore, client: Redis) -> None:
    """The job's record is as release 0.1 wrote it, and RQ's keys are ignored."""
    job_id = "20261116-021530-3f9a1c"
    record = {"job_id": job_id, "state": "queued", "trigger": "request", "request": '{"activate": "never"}'}
    record |= {"attempt": 1, "retries": 0, "created_at": "2026-11-16T02:15:30Z", "activated": False}
    client.set(f"tripod:job:{job_id}", json.dumps(record))
    client.zadd("tripod:jobs", {job_id: 1794795330000000})
    client.rpush("rq:queue:tripod", "an id of RQ")
    claimed = store.claim()
    assert claimed is not None
    assert (claimed[0].job_id, claimed[0].request.activate) == (job_id, "never")


def test_running_job_without_its_lease_counts_as_dead(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(store_module, "_START_SECONDS", 0.05)
    job_id = create(store, retries=1)
    first = claim(store)
    again = _until(store, job_id, "queued")
    assert again.attempt == 2
    assert again.error == "The worker died in the middle of the job."
    second = claim(store)
    dead = _until(store, job_id, "failed")
    assert dead.ended_at is not None
    for lease in (first, second):
        assert not store.update(lease)
        assert not store.update(lease, step=1)


def test_replaced_work_process_and_its_worker_change_nothing(store: JobStore, client: Redis) -> None:
    """The process was suspended, its lease expired, another worker started the job again, and it wakes up."""
    job_id = create(store, retries=1)
    claimed = store.claim()
    assert claimed is not None
    client.delete("tripod:jobs:lease")
    _until(store, job_id, "queued")
    successor = claim(store)
    stale = claimed[1]
    assert not store.update(stale)
    assert not store.update(stale, step=99)
    store.end(stale, "succeeded")
    store.died(claimed[0], "The work process was ended by SIGKILL.", stale)
    assert store.update(successor)
    job = store.get(job_id)
    assert job is not None
    assert (job.state, job.step, job.attempt) == ("running", None, 2)


def test_stopped_worker_requeues_its_job_without_counting_an_attempt(store: JobStore) -> None:
    create(store)
    claimed = store.claim()
    assert claimed is not None
    job = store.died(claimed[0], "The worker was stopped.", claimed[1], again=True)
    assert (job.state, job.attempt, job.error) == ("queued", 1, "The worker was stopped.")
    assert claim(store).job_id == job.job_id


def _until(store: JobStore, job_id: str, state: str):
    for _ in range(1000):
        job = store.get(job_id)
        assert job is not None
        if job.state == state:
            return job
    raise AssertionError(f"the job did not become {state}")


def test_cancel_releases_the_lease_but_is_refused_during_activation(store: JobStore) -> None:
    job_id = create(store)
    lease = claim(store)
    store.update(lease, phase="activating")
    outcome, job = store.cancel(job_id)
    assert outcome == "refused"
    assert job is not None
    assert job.state == "running"
    store.update(lease, phase="fitting")
    assert store.cancel(job_id)[0] == "ok"
    assert not store.update(lease)
    store.end(lease, "succeeded")
    assert store.get(job_id).state == "cancelled"  # type: ignore[union-attr]


def test_every_change_is_an_event_and_old_jobs_are_deleted(
    store: JobStore, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "_KEPT", 3)
    ids = []
    for _ in range(5):
        ids.append(create(store))
        lease = claim(store)
        store.update(lease)
        store.end(lease, "failed", error="…")
    assert [job.job_id for job in store.latest()] == ids[:1:-1]
    events = client.xrange(events_key(ids[-1]))
    assert [json.loads(fields[b"job"])["state"] for _, fields in events] == ["queued", "running", "failed"]
    assert not client.keys(f"*{ids[0]}*")


def test_cron_time_creates_one_job_for_all_workers(store: JobStore) -> None:
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


def test_cron_time_missed_without_a_worker_is_caught_up_once(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *")
    Schedule(settings).tick(store, NIGHT)
    after_the_restart = [Schedule(settings) for _ in range(3)]
    for minutes in (5, 6):
        for worker in after_the_restart:
            worker.tick(store, NIGHT + timedelta(minutes=minutes))
    (job,) = store.latest()
    assert job.trigger == "schedule"


def test_many_missed_cron_times_create_one_job(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="*/10 * * * *")
    Schedule(settings).tick(store, NIGHT)
    for seconds in (0, 1, 2):
        Schedule(settings).tick(store, NIGHT + timedelta(hours=5, seconds=seconds))
    (job,) = store.latest()
    store.cancel(job.job_id)
    Schedule(settings).tick(store, NIGHT + timedelta(hours=5, minutes=5))
    assert len(store.latest()) == 1


def test_cron_time_missed_by_more_than_a_day_is_skipped(store: JobStore, client: Redis) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *")
    Schedule(settings).tick(store, NIGHT)
    assert 86_000 < client.ttl("tripod:jobs:schedule") <= 86_400  # then the key expires


def test_clock_set_back_creates_no_second_job(store: JobStore) -> None:
    settings = Settings(data="x", retrain_cron="0 4 * * *")
    worker = Schedule(settings)
    for minutes in (0, 1, -30, -29, 1, 2):
        worker.tick(store, NIGHT + timedelta(minutes=minutes))
    assert len(store.latest()) == 1


def test_worker_alive_by_host(store: JobStore) -> None:
    assert not store.worker_alive()
    store.note_worker("one")
    assert store.worker_alive()
    assert store.worker_alive("one")
    assert not store.worker_alive("two")


def test_enough_purchases_create_one_job_for_all_workers(store: JobStore, client: Redis) -> None:
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
    claim(store)
    buy(1)  # the job is running, but has not drained the log yet
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
def test_invalid_schedule_settings_are_named(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=f"^{variable}="):
        load_settings()
