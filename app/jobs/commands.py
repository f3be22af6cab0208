"""`python -m app jobs`: training jobs on the command line, over HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from app.jobs.client import ClientError, JobsClient
from app.jobs.schemas import ENDED

jobs = typer.Typer(name="jobs", no_args_is_help=True, help="Start, list, watch and cancel training jobs.")

Url = Annotated[str, typer.Option(envvar="TRIPOD_URL", help="URL of the service.")]
Key = Annotated[str, typer.Option(envvar="TRIPOD_ADMIN_KEY", help="Admin key of the service.")]
JobId = Annotated[str, typer.Argument(help="Id of the job.")]
DEFAULT_URL = "http://127.0.0.1:8000"


@jobs.command()
def start(
    *,
    url: Url = DEFAULT_URL,
    key: Key = "",
    data: Annotated[str | None, typer.Option(help="Baskets to learn from; default: TRIPOD_DATA.")] = None,
    items: Annotated[str | None, typer.Option(help="Item table; default: TRIPOD_ITEM_TABLE.")] = None,
    activate: Annotated[str, typer.Option(help="Activate the new model: auto, never or always.")] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Option of fit, such as steps=300."),
    ] = None,
    watching: Annotated[bool, typer.Option("--watch/--no-watch", help="Follow the job.")] = True,
) -> None:
    """Start a training job and follow it until it ends."""
    given = {"data": data, "items": items, "activate": activate}
    request: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with _clear_errors():
        request["options"] = dict(_option(text) for text in option or [])
        client = JobsClient(url, key)
        job = client.start(request)
        print(job["job_id"], flush=True)
        if job.get("note"):
            print(job["note"], file=sys.stderr)
        if watching:
            _watch(client, job["job_id"])


@jobs.command("list")
def list_(url: Url = DEFAULT_URL, key: Key = "") -> None:
    """List the latest jobs, the newest first."""
    with _clear_errors():
        answer = JobsClient(url, key).list()
    table = Table("job", "state", "step", "validation", "version", "live", "details")
    for job in answer["jobs"]:
        step = "" if job["step"] is None else f"{job['step']} of {job['steps']}"
        validation = job["validation_log_likelihood"]
        table.add_row(
            job["job_id"],
            job["state"],
            step,
            "" if validation is None else f"{validation:.2f}",
            job["version"] or "",
            "yes" if job["activated"] else "",
            " ".join(filter(None, (job["error"], job["note"]))),
        )
    out = Console(highlight=False, markup=False)  # a path may look like markup
    if not out.is_terminal:
        out.width = 200
    out.print(table)
    if not answer["worker_alive"]:
        print("No worker is alive: start one with `python -m app worker`.", file=sys.stderr)


@jobs.command()
def watch(job_id: JobId, url: Url = DEFAULT_URL, key: Key = "") -> None:
    """Follow a job until it ends; exit code 0 if it succeeded."""
    with _clear_errors():
        _watch(JobsClient(url, key), job_id)


@jobs.command()
def cancel(job_id: JobId, url: Url = DEFAULT_URL, key: Key = "") -> None:
    """Cancel a job."""
    with _clear_errors():
        job = JobsClient(url, key).cancel(job_id)
    print(f"{job['job_id']} {job['state']}")


def _watch(client: JobsClient, job_id: str) -> None:
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
    )
    job: dict[str, Any] = {}
    changes = client.follow(job_id)
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as bar:
        task = bar.add_task("waiting", total=None, facts="")
        for job in changes:
            bar.update(
                task,
                description=job["phase"] or job["state"],
                completed=job["step"] or 0,
                total=job["steps"],
                facts=_facts(job),
            )
    if job.get("state") not in ENDED:
        raise ClientError(f"The event stream of job {job_id} ended before the job: watch it again.")
    print(f"{job_id} {job['state']}" + (f": {job['error']}" if job["error"] else f" {job['version'] or ''}"))
    if job["note"]:
        print(job["note"], file=sys.stderr)
    if job["state"] != "succeeded":
        raise typer.Exit(1)


def _facts(job: dict[str, Any]) -> str:
    if job["validation_log_likelihood"] is None:
        return str(job["note"] or "")
    text = f"validation {job['validation_log_likelihood']:.3f}"
    if job["seconds_left"] is None:
        return text
    minutes, seconds = divmod(round(job["seconds_left"]), 60)
    return f"{text}, {minutes}:{seconds:02d} left"


def _option(text: str) -> tuple[str, Any]:
    """`steps=300` as ("steps", 300); a value that is not JSON is text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ClientError(f"'{text}' is not NAME=VALUE, such as steps=300.")
    try:
        return name.replace("-", "_"), json.loads(value)
    except ValueError:
        return name.replace("-", "_"), value


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
