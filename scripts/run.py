"""`make run`: a demo model, Valkey, the worker and the service, until Ctrl-C."""

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

from app.parent_process import end_with_parent
from app.settings import Settings, SettingsError, load_settings, variable_name
from model_store import ModelStore, ModelStoreError
from training.demo import Dataset

_READY_SECONDS = 120.0
_STOP_SECONDS = 20.0
_LEAST_FREE_BYTES = 500_000_000  # the demo's baskets, its model and the logs, with room to spare
_SHOWN_ITEM = "hot-dog-buns"
_PAGES = {"/": "the shop", "/dashboard": "the dashboard", "/docs": "the API"}


class RunError(Exception):
    """Something that the person at the terminal can mend; the text is one sentence."""


def run(
    store: Annotated[str | None, typer.Option(help="The model store.")] = None,
    data: Annotated[Path, typer.Option(help="Where the demo's baskets and the logs go.")] = Path("data"),
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on.")] = None,
    dataset: Annotated[Dataset, typer.Option(help="What the demo model learns from.")] = "groceries",
) -> None:
    """Train the demo model if the store has no active one, then serve until Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background jobs begin with SIGINT ignored
        signal.signal(number, _interrupt)
    try:
        settings = _settings(store=store, host=host, port=port)
        _check_port(settings)
        _check_disk(data)
        _ensure_model(settings.store, data, dataset)
        with ExitStack() as stack:
            _serve(settings, data, stack)
    except (RunError, SettingsError, ModelStoreError) as error:
        _leave(str(error))
    except OSError as error:
        _leave(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
    except KeyboardInterrupt:
        print("\nStopped.")


def _settings(**options: object) -> Settings:
    """The environment, with the options on top and a random admin key if there is none."""
    for name, value in options.items():
        if value is not None:
            os.environ[variable_name(name)] = str(value)
    os.environ.setdefault("TRIPOD_ADMIN_KEY", secrets.token_urlsafe(18))
    return load_settings()


def _check_port(settings: Settings) -> None:
    """Before the training: a minute of it would be in vain."""
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise RunError(
                f"Cannot listen on {settings.host} port {settings.port}: {error.strerror}. "
                "Stop what is there, or choose another port: TRIPOD_PORT=8001 make run"
            ) from error


def _check_disk(data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(data).free
    if free < _LEAST_FREE_BYTES:
        raise RunError(
            f"The disk of {data.resolve()} has {free / 1e6:.0f} MB left and the demo needs "
            f"{_LEAST_FREE_BYTES / 1e6:.0f} MB: make room there first."
        )


def _ensure_model(store: str, data: Path, dataset: Dataset) -> None:
    if ModelStore(store).active() is not None:
        return
    print("There is no model yet: learning one from the demo's baskets. This takes a minute or two, once.")
    command = ["demo", "--store", store, "--data", str(data), "--dataset", dataset]
    # In our process group: Ctrl-C reaches the training too, which then ends in an orderly way by itself.
    training = subprocess.Popen([sys.executable, "-m", "training", *command], stdout=subprocess.DEVNULL)
    try:
        code = training.wait()
    except KeyboardInterrupt:
        training.wait()
        raise
    if code:
        raise RunError("The demo model could not be made; the reason stands above.")


def _serve(settings: Settings, data: Path, stack: ExitStack) -> None:
    if (data / "baskets.parquet").exists():
        os.environ.setdefault("TRIPOD_DATA", str(data / "baskets.parquet"))
        os.environ.setdefault("TRIPOD_ITEM_TABLE", str(data / "items.parquet"))
    url = f"http://{'127.0.0.1' if settings.host == '0.0.0.0' else settings.host}:{settings.port}"
    processes = {"service": stack.enter_context(_child("serve", data / "serve.log"))}
    _wait_until_ready(url, processes, data)
    # Without a REDIS_URL the service brings a Valkey along, which a worker with the same store finds.
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
            start_new_session=True,  # Ctrl-C is for us: we stop the others in order
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
    raise RunError(f"The service does not get ready: see {data / 'serve.log'}.")


def _check_alive(processes: dict[str, subprocess.Popen[bytes]], data: Path) -> None:
    for name, process in processes.items():
        if process.poll() is not None:
            log = data / ("serve.log" if name == "service" else "worker.log")
            lines = log.read_text(errors="replace").strip().splitlines()
            reason = f" Its last words: {lines[-1]}" if lines else ""
            raise RunError(f"The {name} has ended (exit code {process.returncode}; see {log}).{reason}")


def _get(url: str) -> str | None:
    """The body of a good answer, None for any other."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            body: bytes = answer.read()
            return body.decode()
    except (urllib.error.URLError, OSError):
        return None


def _print_banner(url: str, data: Path) -> None:
    known = _get(f"{url}/items/{_SHOWN_ITEM}") is not None
    item = _SHOWN_ITEM if known else json.loads(_get(f"{url}/items?limit=1") or "")["items"][0]["item_id"]
    question = f"{url}/recommend?items={item}&k=3"
    print("\nTripod is running.\n")
    for path, what in _PAGES.items():
        if _get(url + path) is not None:
            print(f"  {what:14}{url}{path}")
    print(f"  {'admin key':14}{os.environ['TRIPOD_ADMIN_KEY']}   (header X-Admin-Key)")
    print(f"  {'logs':14}{data / 'serve.log'}\n")
    print(f"Ask it:\n\n  curl '{question}'\n")
    print(_laid_out(json.loads(_get(question) or "{}")))
    print("\nCtrl-C stops it.", flush=True)


def _laid_out(answer: dict[str, Any]) -> str:
    """JSON with a line for each member, and for each element of a list of objects."""
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


def _leave(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(1)


if __name__ == "__main__":
    typer.run(run)
