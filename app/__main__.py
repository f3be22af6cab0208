"""`python -m app`: serve, and print the settings."""

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
from app.logs import configure_logs, get_logger
from app.settings import Settings, SettingsError, load_settings, settings_table, variable_name
from app.valkey import EmbeddedValkey, ValkeyError, find_running

_PORT_SECONDS = 3.0

# Local variables, which Typer would print with an error, hold passwords.
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
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one.")] = None,
    workers: Annotated[int | None, typer.Option(help="The number of server processes.")] = None,
    store: Annotated[str | None, typer.Option(help="The model store: a folder or a URL.")] = None,
) -> None:
    """Serve until stopped. Without REDIS_URL an embedded Valkey keeps the carts beside the store."""
    _use_one_blas_thread()
    chosen = _settings_with(host=host, port=port, workers=workers, store=store)
    configure_logs(chosen.log_level)
    # Uvicorn ends by raising the signal again, which must lead through the `with` blocks below.
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
    store: Annotated[str | None, typer.Option(help="The model store: a folder or a URL.")] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only tell whether a worker is alive on this host, by exit code 0."),
    ] = False,
) -> None:
    """Do training jobs until stopped. Without REDIS_URL it works for the service with the same store."""
    from app.jobs.worker import is_alive_here, run_worker  # noqa: PLC0415  the service has no use for it

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
        _stop(f"Redis does not answer: {str(error).rstrip('.')}.")
    except (SettingsError, ValkeyError) as error:
        _stop(str(error))
    except KeyboardInterrupt:
        raise SystemExit(0) from None


def _use_one_blas_thread() -> None:
    """NumPy, which is not loaded yet, reads these. BLAS threads of one request would only fight with those
    of the next, and those of a fit with the service beside it.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _settings_with(**options: object) -> Settings:
    """The environment with the command's options on top; worker processes read the same from it."""
    for name, value in options.items():
        if value is not None:
            os.environ[variable_name(name)] = str(value)
    from model_store import ModelStore, ModelStoreError  # noqa: PLC0415  it loads NumPy

    try:
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
            # The processes of a service that was killed end by themselves, and it takes them a moment.
            if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            listening.close()
            _stop(
                f"Cannot listen on {host} port {port}: {error.strerror}. "
                "Choose another with --host and --port."
            )


def _valkey_folder(store: str) -> Path:
    """Beside the store; beside us if that is not a folder of this machine."""
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
