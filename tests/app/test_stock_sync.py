"""A stock sync leaves the event loop to other requests most of the time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from app.catalogue import service
from app.catalogue.records import Edit, Edited
from app.catalogue.service import ItemService

ITEMS = [{"item_id": f"item-{row}", "in_stock": False} for row in range(250)]


@pytest.mark.parametrize("as_lines", [True, False])
def test_each_full_batch_of_changes_is_followed_by_a_rest(
    monkeypatch: pytest.MonkeyPatch, as_lines: bool
) -> None:
    clock, log = [0.0], list[tuple[str, float]]()

    async def edit(edits: list[Edit]) -> Edited:
        clock[0] += 0.001 * len(edits)
        log.append(("edits", len(edits)))
        return Edited()

    async def sleep(seconds: float) -> None:
        log.append(("rest", seconds))

    async def nothing(*_: object) -> None:
        pass

    follower: Any = SimpleNamespace(refresh=nothing, purchases=SimpleNamespace(forget=nothing))
    snapshots: Any = SimpleNamespace(current=lambda: SimpleNamespace(row_of=lambda _: 0))
    store: Any = SimpleNamespace(edit=edit)
    compute: Any = None
    items = ItemService(snapshots, store, follower, compute, 1_000)
    monkeypatch.setattr(service, "thread_time", lambda: clock[0])
    monkeypatch.setattr(asyncio, "sleep", sleep)

    async def body() -> AsyncIterator[bytes]:
        yield "\n".join(map(json.dumps, ITEMS)).encode()

    async def run() -> None:
        if as_lines:
            answer = await items.patch_lines(body())
        else:
            answer = await items.patch_json(json.dumps({"items": ITEMS}).encode())
        assert answer.changed == len(ITEMS)

    asyncio.run(run())
    rest = ("rest", pytest.approx(0.4))
    assert log == [("edits", 100), rest, ("edits", 100), rest, ("edits", 50)]
