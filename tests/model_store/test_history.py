"""The history of activations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from model_store import Activated, Draft, ModelStore

Drafts = Callable[..., Draft]


def names(history: list[Activated]) -> list[str]:
    return [entry.version for entry in history]


def test_history_is_newest_first(any_store: ModelStore, draft: Drafts) -> None:
    assert any_store.history() == []
    first, second, third = (any_store.publish(draft(seed)) for seed in range(3))
    for version in (first, second, first, third, first):
        any_store.activate(version)
    assert names(any_store.history()) == [first, third, second]
    assert any_store.active() == first


def test_history_has_twenty_entries(store: ModelStore, draft: Drafts) -> None:
    published = [store.publish(draft(seed)) for seed in range(23)]
    for version in published:
        store.activate(version)
    assert names(store.history()) == published[:-21:-1]


def test_prune_keeps_the_version_active_before(any_store: ModelStore, draft: Drafts) -> None:
    oldest, live = any_store.publish(draft(0)), any_store.publish(draft(1))
    any_store.activate(oldest)
    any_store.activate(live)
    rejected = [any_store.publish(draft(seed)) for seed in range(2, 5)]
    accepted = any_store.publish(draft(9))
    any_store.activate(accepted)
    assert any_store.prune(keep=1) == [*rejected[::-1], oldest]
    any_store.activate(live)
    any_store.delete(accepted)
    any_store.activate(any_store.publish(draft(10)))
    assert live not in any_store.prune(
        keep=1
    )  # the version activated in between is deleted, so a rollback leads here


def test_activations_of_release_0_1_without_a_history(store: ModelStore, draft: Drafts) -> None:
    first, second, third = (store.publish(draft(seed)) for seed in range(3))
    pointer, history = (Path(store.location) / name for name in ("ACTIVE", "HISTORY"))
    store.activate(first)
    assert pointer.read_text() == f"{first}\n"  # what release 0.1 reads
    history.unlink()
    assert names(store.history()) == [first]
    pointer.write_text(f"{second}\n")  # what release 0.1 writes
    store.activate(third)
    assert names(store.history()) == [third, second]
    history.write_bytes(b"\xff nonsense\n" + history.read_bytes())
    pointer.write_text("nonsense")
    store.activate(first)
    assert names(store.history()) == [first, third, second]


def test_history_says_whether_the_gate_or_a_person_activated(any_store: ModelStore, draft: Drafts) -> None:
    first, second, third = (any_store.publish(draft(seed)) for seed in range(3))
    any_store.activate(first)
    any_store.activate(second, by_gate=True)
    any_store.activate(third, by_gate=True)
    assert any_store.history() == [Activated(third, True), Activated(second, True), Activated(first)]
    any_store.activate(second)  # a rollback by a person
    assert any_store.history() == [Activated(second), Activated(third, True), Activated(first)]


def test_history_without_marks_counts_as_activated_by_people(store: ModelStore, draft: Drafts) -> None:
    first, second, third = (store.publish(draft(seed)) for seed in range(3))
    store.activate(third, by_gate=True)
    pointer, history = (Path(store.location) / name for name in ("ACTIVE", "HISTORY"))
    history.write_text(f"{second}\n{first}\n")
    assert store.history() == [Activated(third), Activated(second), Activated(first)]
    store.activate(second, by_gate=True)
    pointer.write_text(f"{third}\n")  # by release 0.1, which leaves the history alone
    assert store.history() == [Activated(third), Activated(second, True), Activated(first)]
