"""Fixtures: one service for all tests with its settings, and services and a Valkey of a test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.app_process import ADMIN_KEY, Service, Valkey
from tests.app.app_shop import publish
from tests.app.bundle_shop import publish_bundles


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


@pytest.fixture(scope="session")
def bundle_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("bundles") / "store"
    publish_bundles(store)
    return store


@pytest.fixture(scope="session")
def bundle_service(bundle_store: Path) -> Iterator[Service]:
    """A service with a model that knows which items are bought together as a whole."""
    with Service(bundle_store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start services for one test; they are stopped at its end."""
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
