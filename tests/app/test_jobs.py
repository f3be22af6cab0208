from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from app.jobs import schemas
from model_store import Activated, ModelStore
from tests.app.app_process import Service, Valkey, eventually
from tests.app.app_shop import publish
from tests.app.jobs_process import ADMIN, KEY, LONG, QUICK, Operator, Worker, write_baskets
from training.options import FitOptions
from training.reading import ReadingRules

# The tests share a worker, a model store and its active version.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jobs")
    write_baskets(path / "data")
    return path


@pytest.fixture(scope="module")
def shop_with_jobs(folder: Path) -> Iterator[Service]:
    environment = {"TRIPOD_ADMIN_KEY": KEY, "TRIPOD_DATA": str(folder / "data")}
    with Service(folder / "store", **environment) as running:
        yield running


@pytest.fixture(scope="module")
def operator(shop_with_jobs: Service) -> Operator:
    return Operator(shop_with_jobs)


@pytest.fixture(scope="module")
def worker(folder: Path, shop_with_jobs: Service) -> Iterator[Worker]:
    assert shop_with_jobs.process.poll() is None  # it runs the Valkey
    with Worker(folder / "store", folder / "data") as running:
        yield running


def left_behind(folder: Path) -> list[str]:
    """Folders in the model store that are not complete versions."""
    store = ModelStore(folder / "store")
    assert store.broken() == {}
    known = {info.version for info in store.versions()} | {"ACTIVE"}
    folders = [path.name for path in (folder / "store").glob("*") if path.is_dir()]
    return [name for name in folders if name not in known]


def test_job_request_accepts_every_option_of_fit() -> None:
    known = {part.name for kind in (FitOptions, ReadingRules) for part in fields(kind)}
    assert known | {"tune", "validation", "only_listed_items", "report"} == set(
        schemas.FitOptions.model_fields
    )


def test_admin_routes_are_forbidden_without_an_admin_key_in_the_settings(
    start: Callable[..., Service],
) -> None:
    service = start()
    for method, path in (
        ("POST", "/training-jobs"),
        ("GET", "/training-jobs"),
        ("GET", "/training-jobs/x"),
        ("GET", "/training-jobs/x/events"),
        ("POST", "/training-jobs/x/cancel"),
        ("POST", "/models/x/activate"),
        ("DELETE", "/models/x"),
        ("PATCH", "/items/x"),
    ):
        answer = service.client.request(method, path, headers=ADMIN, json={})
        assert answer.status_code == 403
        assert "TRIPOD_ADMIN_KEY is set" in answer.json()["detail"]


def test_wrong_admin_key_is_refused_and_keys_are_not_logged(shop_with_jobs: Service) -> None:
    for headers in ({"X-Admin-Key": "a wrong key of some length"}, {"X-Admin-Key": KEY[:-1]}):
        answer = shop_with_jobs.client.get("/training-jobs", headers=headers)
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:tripod:problem:forbidden"
    assert shop_with_jobs.client.get("/training-jobs", headers=ADMIN).status_code == 200
    log = shop_with_jobs.log_path.read_text()
    assert KEY not in log
    assert "a wrong key" not in log


def test_without_a_worker_one_job_waits_with_a_note(shop_with_jobs: Service, operator: Operator) -> None:
    waiting = operator.start(options=QUICK)
    assert waiting["state"] == "queued"
    assert "python -m app worker" in waiting["note"]
    second = shop_with_jobs.client.post("/training-jobs", headers=ADMIN)
    assert second.status_code == 409
    assert second.json()["type"] == "urn:tripod:problem:job-waiting"
    assert second.headers["location"] == f"/training-jobs/{waiting['job_id']}"
    answer = shop_with_jobs.client.get("/training-jobs", headers=ADMIN).json()
    assert answer["worker_alive"] is False
    assert answer["jobs"][0]["job_id"] == waiting["job_id"]
    assert operator.cancel(waiting["job_id"]).json()["state"] == "cancelled"
    again = operator.cancel(waiting["job_id"])
    assert again.status_code == 409
    assert again.json()["type"] == "urn:tripod:problem:job-ended"
    assert operator.client.get("/training-jobs/none", headers=ADMIN).status_code == 404


def test_job_reports_its_steps_and_a_second_job_is_compared(
    folder: Path, operator: Operator, worker: Worker
) -> None:
    options = QUICK | {"evaluate_every": 10, "tune": "quick"}
    job_id = operator.start(options=options)["job_id"]
    events = list(operator.follow(job_id))
    jobs = [job for _, job in events]
    assert jobs[-1]["state"] == "succeeded", worker.log_path.read_text()
    assert [job["step"] for job in jobs if job["phase"] == "fitting" and job["step"] is not None] == [
        *range(0, 61, 10)
    ]
    phases = list(dict.fromkeys(job["phase"] for job in jobs if job["phase"]))
    assert phases == ["draining", "reading", "fitting", "tuning", "publishing", "comparing", "activating"]
    assert jobs[-1]["activated"] is True
    assert jobs[-1]["gate"] is None  # there was no other model
    assert jobs[-1]["validation_log_likelihood"] < 0
    store = ModelStore(folder / "store")
    assert store.active() == jobs[-1]["version"]
    middle = len(events) // 2
    resumed = list(operator.follow(job_id, **{"Last-Event-ID": events[middle][0]}))
    assert resumed == events[middle + 1 :]
    for beyond in (f"{int(events[-1][0].split('-')[0]) + 10**9}-0", f"{2**64 - 1}-{2**64 - 1}"):
        # The stream ends, because the job has ended.
        assert list(operator.follow(job_id, **{"Last-Event-ID": beyond})) == []
    for no_id in ("1-99999999999999999999", "99999999999999999999-0", f"{2**64}-0", "5", "abc-1"):
        assert list(operator.follow(job_id, **{"Last-Event-ID": no_id})) == events[-1:]
    assert store.history() == [Activated(jobs[-1]["version"], by_gate=True)]

    assert jobs[0]["request"]["options"]["kernel"] is None  # not in the request
    assert jobs[-1]["options_used"]["kernel"] == "scalable"

    second = operator.finished(operator.start(options={"init": "previous"}, activate="never")["job_id"])
    assert second["state"] == "succeeded"
    assert second["options_used"] == jobs[-1]["options_used"] | {"init": "previous", "report": True}
    assert (
        options.items() - {("report", False)}
        <= {name: value for name, value in second["options_used"].items() if name != "columns"}.items()
    )
    assert second["gate"]["rival"] == jobs[-1]["version"]
    assert second["activated"] is False
    assert second["gate"]["queries"] > 20
    assert store.active() == jobs[-1]["version"] != second["version"]
    listed = operator.client.get("/training-jobs", headers=ADMIN).json()
    assert [job["job_id"] for job in listed["jobs"][:2]] == [second["job_id"], job_id]
    assert listed["worker_alive"] is True


@pytest.mark.usefixtures("worker")
def test_worse_model_is_rejected_unless_activate_is_always(folder: Path, operator: Operator) -> None:
    store = ModelStore(folder / "store")
    operator.finished(operator.start(options=QUICK, activate="always")["job_id"])
    good = store.active()
    request = {"options": QUICK | {"steps": 1, "init": "paper", "tune": "none"}}
    bad = operator.finished(operator.start(**request)["job_id"])
    assert bad["state"] == "rejected", bad
    assert bad["gate"]["candidate"] < bad["gate"]["active"]
    assert f"{bad['gate']['candidate']:.1f}" in bad["error"]
    assert "activate it by hand, or train with activate: always" in bad["error"]
    assert store.active() == good
    assert bad["version"] in {info.version for info in store.versions()}
    forced = operator.finished(operator.start(**request, activate="always")["job_id"])
    assert forced["state"] == "succeeded"
    assert forced["gate"]["accepted"] is False
    assert store.active() == forced["version"]
    assert store.history()[0] == Activated(forced["version"], by_gate=False)
    # A person chose this version, so the better one before it is no longer compared.
    settled = operator.finished(operator.start(**request)["job_id"])
    assert settled["state"] == "succeeded", settled
    assert settled["gate"]["rival"] == forced["version"]
    assert store.history()[0] == Activated(settled["version"], by_gate=True)


@pytest.mark.usefixtures("worker")
def test_model_of_release_0_1_cannot_be_compared_and_the_error_says_so(
    folder: Path, operator: Operator
) -> None:
    old = publish(folder / "store")
    job = operator.finished(operator.start(options=QUICK | {"init": "scaled"})["job_id"])
    assert job["state"] == "rejected"
    assert job["gate"] is None
    assert job["error"].startswith(f"Version {job['version']} is not active: it cannot be compared")
    assert f"version {old} does not say which baskets it held out" in job["error"]
    activated = operator.client.post(f"/models/{job['version']}/activate", headers=ADMIN)
    assert activated.status_code == 200
    assert operator.finished(operator.start(options=QUICK)["job_id"])["gate"]["accepted"]


@pytest.mark.usefixtures("worker")
def test_invalid_data_fails_the_job_with_its_file_and_line(tmp_path: Path, operator: Operator) -> None:
    (tmp_path / "bad.csv").write_text("order,sku\n1,a\n")
    failed = operator.finished(operator.start(data=str(tmp_path / "bad.csv"))["job_id"])
    assert failed["state"] == "failed"
    assert "bad.csv, line 1: there is no column 'basket_id'" in failed["error"]
    assert failed["version"] is None


def test_cancel_ends_a_running_fit(folder: Path, operator: Operator, worker: Worker) -> None:
    job_id = operator.start(options=LONG)["job_id"]
    operator.reaches(job_id, 25)
    process = worker.work_process()
    assert operator.cancel(job_id).json()["state"] == "cancelled"
    began = time.monotonic()
    eventually(lambda: not Path(f"/proc/{process}").exists(), "the work process still runs")
    print(f"the work process ended after {time.monotonic() - began:.2f} s")
    assert operator.finished(job_id)["state"] == "cancelled"
    assert left_behind(folder) == []


def test_killed_work_process_fails_its_job(folder: Path, operator: Operator, worker: Worker) -> None:
    job_id = operator.start(options=LONG)["job_id"]
    operator.reaches(job_id, 25)
    versions = len(ModelStore(folder / "store").versions())
    os.kill(worker.work_process(), signal.SIGKILL)
    failed = operator.finished(job_id)
    assert failed["state"] == "failed"
    assert "SIGKILL" in failed["error"]
    assert failed["ended_at"] is not None
    assert len(ModelStore(folder / "store").versions()) == versions
    assert left_behind(folder) == []


def test_job_is_retried_as_often_as_configured(start: Callable[..., Service], tmp_path: Path) -> None:
    write_baskets(tmp_path / "data")
    service = start(TRIPOD_ADMIN_KEY=KEY, TRIPOD_DATA=str(tmp_path / "data"), TRIPOD_JOB_RETRIES="1")
    operator = Operator(service)
    with Worker(tmp_path / "store", tmp_path / "data") as worker:
        job_id = operator.start(options=LONG)["job_id"]
        operator.reaches(job_id, 25)
        os.kill(worker.work_process(), signal.SIGKILL)
        again = eventually(
            lambda: (job := operator.job(job_id))["attempt"] == 2 and job["state"] == "running" and job,
            "the job was not started again",
        )
        assert again["retries"] == 1
        assert worker.stop() == 0  # an orderly stop is not a failed attempt
    stopped = operator.job(job_id)
    assert stopped["state"] == "queued"
    assert stopped["attempt"] == 2
    assert "stopped" in stopped["error"]
    with Worker(tmp_path / "store", tmp_path / "data") as worker:
        operator.reaches(job_id, 25)
        process = worker.work_process()
        worker.process.kill()
        eventually(
            lambda: not Path(f"/proc/{process}").exists(), "the work process still runs without its worker"
        )
        failed = operator.finished(job_id)
    assert failed["state"] == "failed"
    assert failed["error"] == "The worker died in the middle of the job."
    assert left_behind(tmp_path) == []
    assert service.client.get("/healthz").status_code == 200


def test_job_routes_answer_503_when_redis_is_unavailable(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    service = start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=KEY, TRIPOD_DATA=str(tmp_path))
    valkey.kill()
    for method, path in (
        ("POST", ""),
        ("GET", ""),
        ("GET", "/x"),
        ("GET", "/x/events"),
        ("POST", "/x/cancel"),
    ):
        answer = service.client.request(method, f"/training-jobs{path}", headers=ADMIN)
        assert answer.status_code == 503
        assert answer.json()["type"] == "urn:tripod:problem:redis-away"


def test_activate_and_delete_model_versions(start: Callable[..., Service], tmp_path: Path) -> None:
    first, second = publish(tmp_path / "store"), publish(tmp_path / "store", strength=2.0)
    service = start(TRIPOD_ADMIN_KEY=KEY, TRIPOD_POLL_SECONDS="60").ready()
    shop = service.client
    shop.headers.update(ADMIN)
    assert shop.delete(f"/models/{second}").json()["type"] == "urn:tripod:problem:model-active"
    answer = shop.post(f"/models/{first}/activate")
    assert answer.json() == {"version": first, "previous_version": second}
    # The next poll is in a minute, so the message on the channel must have arrived.
    eventually(lambda: shop.get("/models/active").json()["version"] == first, "the message did not arrive")
    assert shop.delete(f"/models/{second}").status_code == 204
    for missing in (second, "nonsense", "..%2f..%2fetc"):
        for answer in (shop.delete(f"/models/{missing}"), shop.post(f"/models/{missing}/activate")):
            assert answer.status_code == 404
    damaged = publish(tmp_path / "store", activate=False)
    (tmp_path / "store" / damaged / "kernel.safetensors").write_bytes(b"nothing")
    refused = shop.post(f"/models/{damaged}/activate")
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:tripod:problem:model-damaged"
    assert ModelStore(tmp_path / "store").active() == first
