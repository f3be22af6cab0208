from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.jobs.commands import jobs as commands
from tests.app.app_process import Service
from tests.app.jobs_process import KEY, QUICK, Worker, write_baskets
from tests.app.other_server import server_of

Run = Callable[..., Result]
OPTIONS = [part for name, value in QUICK.items() for part in ("-o", f"{name.replace('_', '-')}={value}")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands")
    write_baskets(path / "data")
    return path


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Service]:
    with Service(folder / "store", TRIPOD_ADMIN_KEY=KEY, TRIPOD_DATA=str(folder / "data")) as service:
        yield service


@pytest.fixture
def jobs(running: Service) -> Run:
    """Runs `jobs …` with the URL and the admin key of the service in the environment."""
    known = {"TRIPOD_URL": str(running.client.base_url), "TRIPOD_ADMIN_KEY": KEY}

    def run(*arguments: str, **environment: str) -> Result:
        return CliRunner().invoke(commands, arguments, env=known | environment)

    return run


def test_start_list_cancel_and_watch_without_a_worker(jobs: Run) -> None:
    started = jobs("start", "--no-watch")
    assert started.exit_code == 0, started.stderr
    job_id = started.stdout.strip()
    assert "python -m app worker" in started.stderr
    listed = jobs("list")
    assert job_id in listed.stdout
    assert "queued" in listed.stdout
    refused = jobs("start")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"Job {job_id} is already waiting")
    assert len(refused.stderr.splitlines()) == 1
    assert jobs("cancel", job_id).stdout.strip() == f"{job_id} cancelled"
    watched = jobs("watch", job_id)
    assert watched.exit_code == 1
    assert watched.stdout.strip().startswith(f"{job_id} cancelled")


def test_text_that_looks_like_markup_is_printed_unchanged(folder: Path, running: Service, jobs: Run) -> None:
    with Worker(folder / "store", folder / "data"):
        followed = jobs("start", "--data", "[/x]")
    assert followed.exit_code == 1, followed.stderr
    assert "[/x]" in followed.stdout
    listed = jobs("list")
    assert listed.exit_code == 0, listed.stderr
    assert "[/x]" in listed.stdout
    assert running.process.poll() is None


def test_start_follows_a_job_until_it_ends(folder: Path, running: Service) -> None:
    url = str(running.client.base_url)
    command = [sys.executable, "-m", "app", "jobs", "start", *OPTIONS, "--url", url, "--key", KEY]
    with Worker(folder / "store", folder / "data"):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    job_id, end = done.stdout.splitlines()
    assert end.startswith(f"{job_id} succeeded ")
    assert "60/60" in done.stderr
    assert "validation -" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "text"),
    [
        (
            ["list"],
            {"TRIPOD_URL": "http://127.0.0.1:1"},
            "The service at http://127.0.0.1:1 cannot be reached",
        ),
        (["list"], {"TRIPOD_ADMIN_KEY": "wrong key, wrong key"}, "does not match TRIPOD_ADMIN_KEY"),
        (["watch", "none"], {}, "There is no training job 'none'"),
        (["start", "-o", "steps"], {}, "'steps' is not NAME=VALUE"),
        (["start", "-o", "steps=-1"], {}, "body.options.steps"),
        (["start", "-o", "stepps=1"], {}, "body.options.stepps"),
        (["list"], {"TRIPOD_URL": "nonsense"}, "The service at nonsense cannot be reached"),
        (["watch", "a b/c"], {}, "There is no"),
        (["list"], {"TRIPOD_ADMIN_KEY": "secret\nof two lines"}, "The admin key cannot be sent"),
        (["list"], {"TRIPOD_ADMIN_KEY": "geheimnisträger-7"}, "The admin key cannot be sent"),
    ],
)
def test_errors_are_printed_as_one_line(
    jobs: Run, arguments: list[str], environment: dict[str, str], text: str
) -> None:
    result = jobs(*arguments, **environment)
    assert result.exit_code == 2
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "secret" not in result.stderr
    assert "geheim" not in result.stderr


def test_line_break_after_the_admin_key_is_ignored(jobs: Run) -> None:
    assert jobs("list", TRIPOD_ADMIN_KEY=f"{KEY}\n").exit_code == 0


@pytest.mark.parametrize(
    "content", [b"<!doctype html><p>welcome</p>", b"[]", b'{"hello": 1}', b"", b"[" * 99999]
)
@pytest.mark.parametrize("command", [["list"], ["start"], ["cancel", "x"], ["watch", "x"]])
def test_server_that_is_not_tripod_is_reported_in_one_line(command: list[str], content: bytes) -> None:
    with server_of(content) as url:
        result = CliRunner().invoke(commands, [*command, "--url", url, "--key", KEY])
    assert result.exit_code == 2
    (message,) = (line for line in result.stderr.splitlines() if "━" not in line)
    assert "is not Tripod" in message or "ended before the job" in message


def test_service_and_idle_worker_do_not_import_torch_or_training() -> None:
    script = "import sys, app.main, app.jobs.worker, app.jobs.work, app.__main__; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "'app.jobs.work'" in loaded
    for unwanted in ("torch", "polars", "training", "scipy"):
        assert f"'{unwanted}'" not in loaded
