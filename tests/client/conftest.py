"""A running service for the client tests, started with the helpers of tests/app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tripod_client import Tripod

from tests.app.app_process import Service
from tests.app.app_shop import publish
from tests.app.bundle_shop import publish_bundles
from tests.app.shopper_shop import publish_personal

ADMIN_KEY = "a-key-of-16-or-more"


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a service with the test catalogue."""
    store = tmp_path_factory.mktemp("client") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        yield str(running.ready().client.base_url)


@pytest.fixture(scope="session")
def bundles_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a service whose model knows which items are bought together as a whole."""
    store = tmp_path_factory.mktemp("client-bundles") / "store"
    publish_bundles(store)
    with Service(store) as running:
        yield str(running.ready().client.base_url)


@pytest.fixture(scope="session")
def personal_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a service whose model uses what shoppers bought before."""
    store = tmp_path_factory.mktemp("client-shoppers") / "store"
    publish_personal(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        yield str(running.ready().client.base_url)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Tripod]:
    """A client with the admin key, of a service whose catalogue a test may change."""
    publish(tmp_path / "store")
    with Service(tmp_path / "store", TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        url = str(running.ready().client.base_url)
        with Tripod(url, admin_key=ADMIN_KEY) as tripod:
            yield tripod


@pytest.fixture
def admin_key() -> str:
    return ADMIN_KEY
