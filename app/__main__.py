"""`python -m app`: the commands serve, worker, jobs and settings."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
import uvicorn
from redis.exceptions import RedisError
from uvicorn.supervisors import Multiprocess

from app.jobs.commands import jobs
from app.redis.embedded import EmbeddedValkey, ValkeyError, find_running
from app.runtime.logs import configure_logs, get_logger
from app.settings import Settings, SettingsError, load_settings, settings_table, variable_name

_PORT_SECONDS = 3.0

# Typer would print local variables with an error, and these hold passwords.
cli = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    help="The Tripod service.",
)
cli.add_typer(jobs)


@cli.callback()
def main() -> None:
    """The Tripod service."""


@cli.command()
def settings() -> None:
    """Print all settings as a table."""
    print(settings_table())


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 chooses a free one.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of server processes.")] = None,
    store: Annotated[str | None, typer.Option(help="Model store: a folder or a URL.")] = None,
) -> None:
    """Run the service. Without REDIS_URL it starts an embedded Valkey, its data next to the model store."""
    _use_one_blas_thread()
    chosen = _settings_with(host=host, port=port, workers=workers, store=store)
    configure_logs(chosen.log_level)
    # Uvicorn raises the signal again when it ends: turn it into an exception that closes the `with` blocks.
    signal.signal(signal.SIGTERM, _exit)
    try:
        with ExitStack() as stack:
            listening = stack.enter_context(_listen(chosen.host, chosen.port))
            if chosen.redis_url is None:
                valkey = stack.enter_context(EmbeddedValkey(_valkey_folder(chosen.store)))
                os.environ["REDIS_URL"] = valkey.url
            if chosen.workers > 1:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tripod-metrics-"))
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            _run(chosen, listening)
    except (SettingsError, ValkeyError) as error:
        _stop(str(error))
    except KeyboardInterrupt:
        raise SystemExit(0) from None


@cli.command()
def worker(
    store: Annotated[str | None, typer.Option(help="Model store: a folder or a URL.")] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Exit with 0 if a worker is alive on this host, otherwise with 2."),
    ] = False,
) -> None:
    """Run training jobs. Without REDIS_URL it uses the Valkey of the service with the same model store."""
    from app.jobs.worker import is_alive_here, run_worker  # noqa: PLC0415  only the worker needs it

    _use_one_blas_thread()
    chosen = _settings_with(store=store)
    configure_logs(chosen.log_level)
    try:
        if chosen.redis_url is None:
            os.environ["REDIS_URL"] = find_running(_valkey_folder(chosen.store))
        if check and not is_alive_here(load_settings()):
            _stop("No worker is alive on this host.")
        if not check:
            run_worker(load_settings())
    except RedisError as error:
        _stop(f"Redis does not respond: {str(error).rstrip('.')}.")
    except (SettingsError, ValkeyError) as error:
        _stop(str(error))
    except KeyboardInterrupt:
        raise SystemExit(0) from None


def _use_one_blas_thread() -> None:
    """Set the variables that NumPy reads when it is imported, later on.

    With several BLAS threads, requests would compete with each other, and a fit with the service beside it.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _settings_with(**options: object) -> Settings:
    """The settings with the command's options, which are set in the environment for the worker processes."""
    for name, value in options.items():
        if value is not None:
            os.environ[variable_name(name)] = str(value)
    from model_store import ModelStore, ModelStoreError, default_store  # noqa: PLC0415  it loads NumPy

    try:
        settings = load_settings()
        if "store" not in settings.model_fields_set:
            os.environ["TRIPOD_STORE"] = default_store()
            settings = load_settings()
        ModelStore(settings.store)
    except SettingsError as error:
        _stop(str(error))
    except ModelStoreError as error:
        _stop(f"TRIPOD_STORE cannot be used: {error}.")
    return settings


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deadline = time.monotonic() + _PORT_SECONDS
    while True:
        try:
            listening.bind((host, port))
            listening.set_inheritable(True)
            return listening
        except OSError as error:
            # The worker processes of a service that was killed need a moment to end.
            if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            listening.close()
            _stop(
                f"Cannot listen on {host} port {port}: {error.strerror}. "
                "Choose another with --host and --port."
            )


def _valkey_folder(store: str) -> Path:
    """Beside the model store, or in the current folder if the model store is remote."""
    path = store.removeprefix("file://")
    return Path("valkey") if "://" in path else Path(path).expanduser().absolute().parent / "valkey"


def _run(settings: Settings, listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    get_logger().info("listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}", docs="/docs")
    config = uvicorn.Config(
        "app.main:create_worker" if settings.workers > 1 else "app.main:create_app",
        factory=True,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.trusted_proxies is not None,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=10,
        backlog=2048,
    )
    if settings.workers > 1:
        Multiprocess(config, sockets=[listening]).run()
    else:
        uvicorn.Server(config).run(sockets=[listening])


def _exit(_: int, __: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _stop(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    cli()
