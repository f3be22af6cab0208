"""Mixtures of new items: computed in steps, while stock, deletions and rules hold at once."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app import main
from app.catalogue import holder, mixtures
from app.catalogue.changing import snapshot_of
from app.catalogue.holder import SnapshotHolder
from app.catalogue.mixtures import Step
from app.catalogue.records import Changes
from app.catalogue.served_model import ServedModel
from app.catalogue.snapshot import Snapshot
from model_store import ModelStore
from tests.app.app_shop import publish

NEW = {f"new-{n:02}": {"name": f"Tripod of kind {n}", "category": "Accessories"} for n in range(12)}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    store = tmp_path_factory.mktemp("mixtures") / "store"
    publish(store)
    return ServedModel.of(ModelStore(store).open())


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (holder, mixtures):
        monkeypatch.setattr(module, "AT_ONCE", 5)


def changes(records: dict[str, Any], number: int = 1, *, are_all: bool = False) -> Changes:
    texts = {item_id.encode(): json.dumps(record).encode() for item_id, record in records.items()}
    return Changes(number, texts, are_all)


def started(model: ServedModel, records: dict[str, Any]) -> SnapshotHolder:
    snapshots = SnapshotHolder(1 << 20)
    snapshots.use_changes(changes(records, are_all=True))
    snapshots.use_model(model)
    return snapshots


def placed(snapshot: Snapshot) -> list[str]:
    """The arrivals that may be recommended."""
    return [item_id for item_id, row in snapshot.arrival_rows.items() if snapshot.log_usual[row] > -np.inf]


def finish(snapshots: SnapshotHolder) -> int:
    steps = 0
    while snapshots.mixtures_wait:
        snapshots.mix()
        steps += 1
    return steps


def assert_complete(snapshot: Snapshot) -> None:
    """Compare with mixtures that are computed in one step of a new snapshot."""
    expected = snapshot_of(snapshot.model, snapshot.records)
    while expected.mixtures.waiting:
        expected = Step.of(expected).applied(expected)
    for item_id, row in snapshot.arrival_rows.items():
        if not snapshot.deleted[row]:
            other = expected.log_usual[expected.arrival_rows[item_id]]
            assert snapshot.log_usual[row] == pytest.approx(other)


def test_a_new_snapshot_is_in_use_before_the_mixtures_of_many_new_items(model: ServedModel) -> None:
    snapshots = started(model, {**NEW, "film-0": {"deleted": True}, "film-1": {"in_stock": False}})
    current = snapshots.current()
    assert current.listed_row("film-0") is None
    assert not current.in_stock[current.row_of("film-1")]
    assert current.listed_rows(NEW)
    assert placed(current) == []
    assert current.most_similar(current.arrival_rows["new-00"]) is None
    assert finish(snapshots) == 3
    assert set(placed(snapshots.current())) == set(NEW)
    assert_complete(snapshots.current())
    assert snapshots.current().revision == "1-0-0"  # as in a process that had nothing to wait for


def test_few_new_items_have_their_mixtures_with_the_model(model: ServedModel) -> None:
    few = dict(list(NEW.items())[:5])
    assert set(placed(started(model, few).current())) == set(few)


def test_a_changed_known_item_takes_no_new_item_away(model: ServedModel) -> None:
    snapshots = started(model, NEW)
    finish(snapshots)
    before = snapshots.current()
    snapshots.use_changes(changes({"tripod-0": {"name": "Tripod of kind 3"}}, 2))
    np.testing.assert_array_equal(snapshots.current().log_usual, before.log_usual)
    assert not snapshots.few_mixtures_wait  # nobody waits for those of all
    assert snapshots.current().revision != "2-0-0"
    assert finish(snapshots) == 3
    assert_complete(snapshots.current())
    assert (snapshots.current().log_usual != before.log_usual).any()


def test_changes_go_on_during_a_step(model: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = started(model, NEW)
    step_of = Step.of

    def slow(snapshot: Snapshot) -> Step:
        step = step_of(snapshot)
        changed = {"new-11": {"name": "Compact"}, "new-99": {"name": "Film"}, "film-2": {"name": "Roll"}}
        snapshots.use_changes(changes(changed, 2))
        return step

    monkeypatch.setattr(Step, "of", slow)
    snapshots.mix()
    monkeypatch.setattr(Step, "of", step_of)
    assert {11, 12} <= snapshots.current().mixtures.waiting
    finish(snapshots)
    assert_complete(snapshots.current())


def test_reading_all_records_again_keeps_mixtures(model: ServedModel) -> None:
    snapshots = started(model, {**NEW, "film-3": {"attributes": {"new": 1}}})
    finish(snapshots)
    again = {**NEW, "film-3": {"attributes": {"new": True}}, "film-4": {"in_stock": False}}
    again.pop("new-00")
    snapshots.use_changes(changes(again, 3, are_all=True))
    current = snapshots.current()
    assert len(placed(current)) == len(NEW)  # the row of one that is gone stays, deleted
    assert current.listed_row("new-00") is None
    assert not current.in_stock[current.row_of("film-4")]
    assert current.record(current.row_of("film-3") or 0).attributes == {"new": True}
    assert current.attribute_columns.column("new").booleans is not None  # type: ignore[union-attr]


def test_start_waits_for_a_catalogue_that_redis_has_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_FIRST_POLLS_SECONDS", 0.0)
    catalogue = SimpleNamespace(loading=True)
    services: Any = SimpleNamespace(
        watchers=SimpleNamespace(all_have_polled=False),
        models=SimpleNamespace(loading=False),
        catalogue=catalogue,
    )

    async def run() -> None:
        waiting = asyncio.create_task(main._wait_for_first_polls(services))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        catalogue.loading = False  # as with a Redis that does not answer
        await asyncio.wait_for(waiting, 5)

    asyncio.run(run())
