"""`make run`: train a demo model if needed, then run the service, its worker and Valkey until Ctrl-C."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from app.runtime.parent_process import end_with_parent
from app.settings import Settings, SettingsError, load_settings, variable_name
from model_store import ModelStore, ModelStoreError, default_data, default_store
from model_store.places import DEFAULT_DATA
from training.demo import Dataset

_READY_SECONDS = 120.0
_STOP_SECONDS = 20.0
_MIN_FREE_BYTES = 500_000_000  # demo baskets, model and logs, with a margin
_SHOWN_ITEM = "hot-dog-buns"
_PAGES = {"/": "shop", "/dashboard": "dashboard", "/docs": "API"}
# Households with 41 to 73 baskets: berries, frozen breakfasts, vegetables, a baby, a cat and a dog.
HOUSEHOLDS = "household-139,household-790,household-1650,household-1839,household-1912"
BANNER_END = "Press Ctrl-C to stop."


class RunError(Exception):
    """An error that the user can fix; the message is one sentence."""


def run(
    store: Annotated[str | None, typer.Option(help="The model store.")] = None,
    *,
    data: Annotated[
        Path,
        typer.Option(
            help="Folder for the demo baskets and the logs.",
            default_factory=default_data,
            show_default=DEFAULT_DATA,
        ),
    ],
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    dataset: Annotated[Dataset, typer.Option(help="Data set of the demo model.")] = "groceries",
) -> None:
    """Train the demo model if no model is active, then serve until Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):  # shells start background jobs with SIGINT ignored
        signal.signal(number, _interrupt)
    try:
        settings = _settings(store=store, host=host, port=port)
        _check_port(settings)
        _check_disk(data)
        _ensure_model(settings.store, data, dataset)
        with ExitStack() as stack:
            _serve(settings, data, dataset, stack)
    except (RunError, SettingsError, ModelStoreError) as error:
        _exit(str(error))
    except OSError as error:
        _exit(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
    except KeyboardInterrupt:
        print("\nStopped.")


def _settings(**options: object) -> Settings:
    """Settings from the environment and the options, with a random admin key if there is none."""
    for name, value in options.items():
        if value is not None:
            os.environ[variable_name(name)] = str(value)
    os.environ.setdefault("TRIPOD_ADMIN_KEY", secrets.token_urlsafe(18))
    settings = load_settings()
    if "store" in settings.model_fields_set:
        return settings
    os.environ["TRIPOD_STORE"] = default_store()
    return load_settings()


def _check_port(settings: Settings) -> None:
    """Check the port before training, so that a busy port fails at once."""
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise RunError(
                f"Cannot listen on {settings.host} port {settings.port}: {error.strerror}. "
                "Stop the other program, or choose another port: TRIPOD_PORT=8001 make run"
            ) from error


def _check_disk(data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(data).free
    if free < _MIN_FREE_BYTES:
        raise RunError(
            f"The disk of {data.resolve()} has {free / 1e6:.0f} MB free, but the demo needs "
            f"{_MIN_FREE_BYTES / 1e6:.0f} MB: free some space first."
        )


def _ensure_model(store: str, data: Path, dataset: Dataset) -> None:
    if ModelStore(store).active() is not None:
        return
    print("No model yet: training one on the demo baskets. This takes a minute or two, once.")
    command = ["demo", "--store", store, "--data", str(data), "--dataset", dataset]
    # In our process group, so that Ctrl-C reaches the training too, which then stops cleanly by itself.
    training = subprocess.Popen([sys.executable, "-m", "training", *command], stdout=subprocess.DEVNULL)
    try:
        code = training.wait()
    except KeyboardInterrupt:
        training.wait()
        raise
    if code:
        raise RunError("Training the demo model failed; see the error above.")


def _serve(settings: Settings, data: Path, dataset: Dataset, stack: ExitStack) -> None:
    if (data / "baskets.parquet").exists():
        if dataset == "groceries":
            os.environ.setdefault("TRIPOD_STOREFRONT_SHOPPERS", HOUSEHOLDS)
        os.environ.setdefault("TRIPOD_DATA", str(data / "baskets.parquet"))
        os.environ.setdefault("TRIPOD_ITEM_TABLE", str(data / "items.parquet"))
    url = f"http://{'127.0.0.1' if settings.host == '0.0.0.0' else settings.host}:{settings.port}"
    processes = {"service": stack.enter_context(_child("serve", data / "serve.log"))}
    _wait_until_ready(url, processes, data)
    # Without a REDIS_URL the service starts an embedded Valkey; a worker with the same model store finds it.
    processes["worker"] = stack.enter_context(_child("worker", data / "worker.log"))
    _print_banner(url, data)
    while True:
        _check_alive(processes, data)
        time.sleep(0.5)


@contextmanager
def _child(command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m app COMMAND`, stopped at the end, and by the kernel should we be killed (on Linux)."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches only this process, which stops the others in order
            preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509  two system calls
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(url: str, processes: dict[str, subprocess.Popen[bytes]], data: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        _check_alive(processes, data)
        if _get(f"{url}/readyz") is not None:
            return
        time.sleep(0.1)
    raise RunError(f"The service did not become ready: see {data / 'serve.log'}.")


def _check_alive(processes: dict[str, subprocess.Popen[bytes]], data: Path) -> None:
    for name, process in processes.items():
        if process.poll() is not None:
            log = data / ("serve.log" if name == "service" else "worker.log")
            lines = log.read_text(errors="replace").strip().splitlines()
            reason = f" Last log line: {lines[-1]}" if lines else ""
            raise RunError(f"The {name} has stopped (exit code {process.returncode}; see {log}).{reason}")


def _get(url: str) -> str | None:
    """Body of a successful answer, otherwise None."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            body: bytes = answer.read()
            return body.decode()
    except (urllib.error.URLError, OSError):
        return None


def _print_banner(url: str, data: Path) -> None:
    known = _get(f"{url}/items/{_SHOWN_ITEM}") is not None
    item = _SHOWN_ITEM if known else json.loads(_get(f"{url}/items?limit=1") or "")["items"][0]["item_id"]
    request = f"{url}/recommend?items={item}&k=3"
    print("\nTripod is running.\n")
    for path, what in _PAGES.items():
        if _get(url + path) is not None:
            print(f"  {what:14}{url}{path}")
    print(f"  {'admin key':14}{os.environ['TRIPOD_ADMIN_KEY']}   (header X-Admin-Key)")
    print(f"  {'logs':14}{data / 'serve.log'}\n")
    print(f"Try it:\n\n  curl '{request}'\n")
    print(_formatted(json.loads(_get(request) or "{}")))
    print(f"\n{BANNER_END}", flush=True)


def _formatted(answer: dict[str, Any]) -> str:
    """JSON with one line per member, and per element of a list."""
    members = []
    for name, value in answer.items():
        if isinstance(value, list):
            inner = ",\n".join(f"      {json.dumps(element, ensure_ascii=False)}" for element in value)
            members.append(f'    "{name}": [\n{inner}\n    ]')
        else:
            members.append(f'    "{name}": {json.dumps(value, ensure_ascii=False)}')
    return "  {\n" + ",\n".join(members) + "\n  }"


def _interrupt(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _exit(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(1)


if __name__ == "__main__":
    typer.run(run)
