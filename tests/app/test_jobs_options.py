"""Options that a job takes from the active version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from model_store import ModelStore
from tests.app.app_process import Service
from tests.app.jobs_process import KEY, QUICK, Operator, Worker, write_baskets

# The tests share a worker, a model store and its active version.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jobs")
    write_baskets(path / "data")
    return path


@pytest.fixture(scope="module")
def operator(folder: Path) -> Iterator[Operator]:
    environment = {"TRIPOD_ADMIN_KEY": KEY, "TRIPOD_DATA": str(folder / "data")}
    with Service(folder / "store", **environment) as service, Worker(folder / "store", folder / "data"):
        yield Operator(service)


def test_inherited_options_are_shown_before_reading_and_null_resets_them(
    tmp_path: Path, operator: Operator
) -> None:
    options = QUICK | {"validation": 70}
    assert operator.finished(operator.start(options=options, activate="always")["job_id"])["activated"]
    (tmp_path / "bad.csv").write_text("order,sku\n1,a\n")
    reset = {"steps": None, "validation": None, "rank": None, "report": None}
    failed = operator.finished(operator.start(data=str(tmp_path / "bad.csv"), options=reset)["job_id"])
    assert failed["state"] == "failed"
    used = failed["options_used"]
    assert (used["skew_rank"], used["batch_size"]) == (QUICK["skew_rank"], QUICK["batch_size"])
    assert (used["steps"], used["validation"], used["rank"], used["report"]) == (1000, None, None, True)


def test_damaged_active_version_does_not_stop_training(folder: Path, operator: Operator) -> None:
    store = ModelStore(folder / "store")
    damaged = operator.finished(operator.start(options=QUICK, activate="always")["job_id"])["version"]
    (folder / "store" / damaged / "manifest.json").write_text("{")
    refused = operator.finished(operator.start(options=QUICK)["job_id"])
    assert refused["state"] == "rejected"
    assert refused["gate"] is None
    assert f"the active version cannot be used ({damaged}/manifest.json" in refused["error"]
    assert "options missing from the request have the defaults of fit" in refused["note"]
    trained = operator.finished(operator.start(options=QUICK, activate="always")["job_id"])
    assert trained["state"] == "succeeded"
    assert f"{damaged}/manifest.json" in trained["note"]
    assert store.active() == trained["version"]
    store.delete(damaged)
