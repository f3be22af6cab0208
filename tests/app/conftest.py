"""One running service for the tests that only ask, helpers importable beside the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode does not add it

from app_process import ADMIN_KEY, Service, Valkey
from app_shop import publish


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    store = tmp_path_factory.mktemp("shop") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready()


@pytest.fixture(scope="session")
def shop(service: Service) -> httpx.Client:
    return service.client


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start services of one's own; they are stopped at the end."""
    running: list[Service] = []

    def start_service(*arguments: str, **environment: str) -> Service:
        log = tmp_path / f"service-{len(running)}.log"
        running.append(Service(tmp_path / "store", *arguments, log=log, **environment))
        return running[-1]

    yield start_service
    for service in running:
        service.stop()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path / "external-valkey")
    yield server
    server.kill()
