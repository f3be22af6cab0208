from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from app import watchers
from app.errors import RedisAway
from app.watchers import Watchers


def test_no_error_ends_a_watcher_and_each_kind_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchers, "_PAUSE_SECONDS", 0.0)
    failures = [
        RedisAway("Redis does not answer."),
        RedisAway("Redis does not answer."),
        TypeError("a mistake of ours"),
        asyncio.CancelledError("of something that the look waited for"),
        None,
    ]
    told: list[str | None] = []

    async def watch() -> None:
        running, over, looks = Watchers(), asyncio.Event(), iter(failures)

        async def look() -> None:
            failure = next(looks)
            if failure is not None:
                raise failure

        async def pause() -> None:
            told.append(running.health()["items"])
            if len(told) == len(failures):
                over.set()
                await asyncio.sleep(60)

        running.start("items", look, pause)
        assert not running.all_have_looked
        await over.wait()
        assert running.all_have_looked
        await asyncio.wait_for(running.stop(), 10)

    with capture_logs() as logged:
        asyncio.run(watch())
    assert [text and text.split(" Since ")[0] for text in told] == [
        "Redis does not answer.",
        "Redis does not answer.",
        "TypeError: a mistake of ours.",
        "CancelledError: of something that the look waited for.",
        None,
    ]
    assert len({text.split(" Since ")[1] for text in told if text}) == 1  # when it began
    assert [event["event"] for event in logged] == ["a watcher fails"] * 3 + ["a watcher works again"]
