"""A running service for the client, made of the parts that the tests of the service are made of."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# pytest's importlib mode adds neither.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "app"))

from app_process import Service
from app_shop import publish

ADMIN_KEY = "a-key-of-16-or-more"


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with the planted shop."""
    store = tmp_path_factory.mktemp("client") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        yield str(running.ready().client.base_url)


@pytest.fixture
def admin_key() -> str:
    return ADMIN_KEY
