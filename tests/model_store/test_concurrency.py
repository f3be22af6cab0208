"""Concurrency: publishers killed at random moments, readers, activations and deletions at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from model_store import Draft, ModelStore, UnknownVersionError

ROOT = Path(__file__).parents[2]  # where the subprocesses find the package `tests`
Drafts = Callable[..., Draft]

# Prints `ready`, then publishes, activates and prunes until it is killed.
_PUBLISHER = """
import sys
from contextlib import suppress
from tests.model_store.conftest import make_draft
from model_store import ModelStore, UnknownVersionError
store, seed = ModelStore(sys.argv[1]), 0
print("ready", flush=True)
while True:
    seed += 1
    with suppress(UnknownVersionError):  # pruned by the other publisher before it became active
        store.activate(store.publish(make_draft(seed, size=2_000)))
    store.prune(keep=0)
"""


def start_publisher(store: ModelStore) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PUBLISHER, store.location]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def leftovers(store: ModelStore) -> list[Path]:
    return list(Path(store.location).glob(".unfinished-*"))


def test_readers_never_see_an_incomplete_model(store: ModelStore, draft: Drafts) -> None:
    store.activate(store.publish(draft(size=2_000)))
    opened: set[str] = set()
    stop = threading.Event()
    failures: list[BaseException] = []

    def read_on() -> None:
        reader = ModelStore(store.location)
        try:
            while not stop.is_set():
                opened.add(reader.open().version)
                assert reader.broken() == {}
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=read_on)
    thread.start()
    chance, killed, interrupted = random.Random(0), 0, 0
    started = time.monotonic()

    def enough() -> bool:
        """After 10 s with an interrupted publisher and two opened versions, or after a minute."""
        seconds = time.monotonic() - started
        return seconds > 60 or (seconds > 10 and interrupted > 0 and len(opened) > 1)

    try:
        while not failures and not enough():
            publishers = [start_publisher(store) for _ in range(2)]
            for publisher in publishers:
                assert publisher.stdout is not None
                assert publisher.stdout.readline() == "ready\n"
            for publisher in publishers:
                time.sleep(chance.uniform(0, 0.25))
                kill(publisher)
                killed += 1
            interrupted += bool(leftovers(store))
    finally:
        stop.set()
        thread.join()
    assert failures == []
    assert killed > 0
    assert interrupted > 0
    assert len(opened) > 1
    active = store.active()
    for info in store.versions():
        assert store.verify(info.version).version == info.version
    store.prune(keep=1)
    assert leftovers(store) == []
    assert store.open().version == active


def test_prune_keeps_the_folder_of_a_running_publisher(store: ModelStore, draft: Drafts) -> None:
    """Once the publisher is killed, prune removes its folder."""
    store.activate(store.publish(draft()))
    script = (
        "import sys, time; from pathlib import Path; from model_store.storage import LocalFolder\n"
        "with LocalFolder(Path(sys.argv[1])).scratch('20261116-021530-3f9a1c') as folder:\n"
        "    (folder / 'items.json').write_text('{')\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    publisher = subprocess.Popen(
        [sys.executable, "-c", script, store.location], stdout=subprocess.PIPE, text=True
    )
    assert publisher.stdout is not None
    assert publisher.stdout.readline() == "ready\n"
    store.prune(keep=1)
    assert len(leftovers(store)) == 1
    kill(publisher)
    store.prune(keep=1)
    assert leftovers(store) == []


def test_concurrent_activations_all_succeed(store: ModelStore, draft: Drafts) -> None:
    """At every moment the active version is one of them."""
    versions = [store.publish(draft(seed)) for seed in range(4)]
    store.activate(versions[0])
    failures: list[BaseException] = []

    def activate_often(version: str) -> None:
        own = ModelStore(store.location)
        try:
            for _ in range(25):
                own.activate(version)
                assert own.active() in versions
                assert own.open().version in versions
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=activate_often, args=(version,)) for version in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert leftovers(store) == []


def test_version_deleted_while_being_opened_is_unknown(store: ModelStore, draft: Drafts) -> None:
    """It can be opened as a whole, or it is an unknown version."""
    store.activate(store.publish(draft()))
    outcomes: set[str] = set()
    for seed in range(40):
        version = store.publish(draft(seed, size=500))
        deleter = threading.Thread(target=store.delete, args=(version,))
        deleter.start()
        try:
            while True:
                assert store.open(version).kernel.size == 500
                outcomes.add("opened")
        except UnknownVersionError as error:
            assert version in str(error)
            outcomes.add("gone")
        deleter.join()
    assert "gone" in outcomes


def test_concurrent_activation_and_deletion_keep_an_active_version(store: ModelStore, draft: Drafts) -> None:
    """One of them fails, and the active version can be opened afterwards."""
    store.activate(store.publish(draft()))
    for seed in range(20):
        version = store.publish(draft(seed))
        errors: list[Exception] = []

        def attempt(
            action: Callable[[str], None], version: str = version, errors: list[Exception] = errors
        ) -> None:
            try:
                action(version)
            except Exception as error:
                errors.append(error)

        threads = [
            threading.Thread(target=attempt, args=(action,)) for action in (store.activate, store.delete)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(errors) == 1
        assert store.open().version == store.active()
