"""Default folders, and the folders of release 0.1 in an older checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from model_store import Draft, ModelStore, default_data, default_store

ROOT = Path(__file__).parents[2]
Drafts = Callable[..., Draft]
MOVE_MODELS = "mkdir -p var/models && mv model_store/artifacts/* var/models/"
MOVE_CARTS = "mkdir -p var/valkey && mv model_store/valkey/* var/valkey/"


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*paths: str) -> None:
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("something")


@pytest.mark.parametrize(
    "present",
    [
        [],
        ["var/models/ACTIVE", "var/valkey/log"],
        ["model_store/artifacts/ACTIVE", "var/models/ACTIVE"],
        ["model_store/artifacts/.lock"],
    ],
)
def test_default_store_is_in_var(caplog: pytest.LogCaptureFixture, present: list[str]) -> None:
    put(*present)
    assert default_store() == "var/models"
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("present", "store", "commands"),
    [
        (["model_store/artifacts/ACTIVE"], "model_store/artifacts", MOVE_MODELS),
        (
            ["model_store/artifacts/ACTIVE", "model_store/valkey/log", "var/models/.lock"],
            "model_store/artifacts",
            f"{MOVE_MODELS} && {MOVE_CARTS}",
        ),
        (["model_store/valkey/log"], "model_store/artifacts", MOVE_CARTS),
        (["model_store/valkey/log", "var/models/ACTIVE"], "var/models", MOVE_CARTS),
    ],
    ids=["models", "models and carts", "carts without models", "carts left behind"],
)
def test_store_of_an_earlier_release_is_used_and_named(
    caplog: pytest.LogCaptureFixture, present: list[str], store: str, commands: str
) -> None:
    put(*present)
    assert default_store() == store
    [message] = caplog.messages
    assert f"the model store is {store}" in message
    assert f"`{commands}`" in message


def test_moving_the_files_as_the_warning_says(caplog: pytest.LogCaptureFixture, draft: Drafts) -> None:
    old = ModelStore("model_store/artifacts")
    version = old.publish(draft())
    old.activate(version)
    put("model_store/valkey/appendonlydir/carts.aof", "data/baskets.parquet", "data/purchases/one.parquet")
    assert ModelStore(default_store()).active() == version
    assert default_data() == Path("data")
    assert len(caplog.messages) == 2
    for message in caplog.messages:
        subprocess.run(message.split("`")[1], shell=True, check=True)
    caplog.clear()
    assert ModelStore(default_store()).open().version == version
    assert default_data() == Path("var/data")
    assert caplog.messages == []
    assert Path("var/valkey/appendonlydir/carts.aof").read_text() == "something"
    assert Path("var/data/purchases/one.parquet").read_text() == "something"


def test_data_folder_that_is_not_tripods_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    put("data/mine.csv")
    assert default_data() == Path("var/data")
    assert caplog.messages == []


@pytest.mark.parametrize(
    "command", [["model_store", "list", "--json"], ["training", "demo", "--if-empty"]], ids=lambda c: c[0]
)
def test_programs_use_the_store_of_an_earlier_release_and_say_so(
    checkout: Path, draft: Drafts, command: list[str]
) -> None:
    store = ModelStore("model_store/artifacts")
    version = store.publish(draft())
    store.activate(version)

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIPOD_")}
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=checkout,
            env=kept | {"PYTHONPATH": str(ROOT)} | environment,
            capture_output=True,
            text=True,
            check=True,
        )

    result = run()
    assert version in result.stdout + result.stderr
    assert "Found model_store/artifacts of an earlier release, and the model store is" in result.stderr
    named = run(TRIPOD_STORE="model_store/artifacts")
    assert version in named.stdout + named.stderr
    assert "earlier release" not in named.stderr
    if command[0] == "model_store":
        assert json.loads(result.stdout)["store"] == store.location
