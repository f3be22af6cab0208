"""The key of shopper ids and the marks of forgotten shoppers."""

from __future__ import annotations

from pathlib import Path

from model_store import ModelStore
from model_store.shopper_ids import ShopperIds


def test_store_makes_one_key_and_keeps_it_private(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models")
    hashed = store.shopper_ids().hashed("ann")
    assert ModelStore(tmp_path / "models").shopper_ids().hashed("ann") == hashed
    assert (tmp_path / "models/SHOPPER_KEY").stat().st_mode & 0o077 == 0
    assert store.versions() == []


def test_a_given_key_is_used_and_not_stored(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models")
    given = store.shopper_ids("a key of sixteen").hashed("ann")
    assert given == ShopperIds("a key of sixteen").hashed("ann")
    assert not (tmp_path / "models/SHOPPER_KEY").exists()


def test_hashes_depend_on_key_and_id_and_the_mark_differs_from_the_hash() -> None:
    one, other = ShopperIds("one key of the tests"), ShopperIds("another key of the tests")
    assert len({one.hashed("ann"), one.hashed("bob"), other.hashed("ann")}) == 3
    assert one.mark(one.hashed("ann")) not in (one.hashed("ann"), one.mark(one.hashed("bob")))


def test_forgotten_shoppers_are_remembered_by_mark(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models")
    assert store.forgotten_shoppers() == {}
    store.forget_shopper("a" * 32)
    store.forget_shopper("b" * 32)
    found = ModelStore(tmp_path / "models").forgotten_shoppers()
    assert list(found) == ["a" * 32, "b" * 32]
    assert all(seconds > 1_700_000_000 for seconds in found.values())


def test_key_and_marks_work_behind_a_url(tmp_path: Path) -> None:
    store = ModelStore(f"memory://{tmp_path.name}")
    hashed = store.shopper_ids().hashed("ann")
    assert store.shopper_ids().hashed("ann") == hashed
    store.forget_shopper("c" * 32)
    assert list(store.forgotten_shoppers()) == ["c" * 32]
