from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from app.http.errors import RedisUnavailable
from app.runtime import watchers
from app.runtime.watchers import Watchers


def test_watcher_survives_every_error_and_logs_each_kind_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchers, "_PAUSE_SECONDS", 0.0)
    failures = [
        RedisUnavailable("Redis does not respond."),
        RedisUnavailable("Redis does not respond."),
        TypeError("a mistake of ours"),
        asyncio.CancelledError("raised inside the look"),
        None,
    ]
    states: list[str | None] = []

    async def watch() -> None:
        running, over, looks = Watchers(), asyncio.Event(), iter(failures)

        async def poll() -> None:
            failure = next(looks)
            if failure is not None:
                raise failure

        async def pause() -> None:
            states.append(running.health()["items"])
            if len(states) == len(failures):
                over.set()
                await asyncio.sleep(60)

        running.start("items", poll, pause)
        assert not running.all_have_polled
        await over.wait()
        assert running.all_have_polled
        await asyncio.wait_for(running.stop(), 10)

    with capture_logs() as logged:
        asyncio.run(watch())
    assert [text and text.split(" Since ")[0] for text in states] == [
        "Redis does not respond.",
        "Redis does not respond.",
        "TypeError: a mistake of ours.",
        "CancelledError: raised inside the look.",
        None,
    ]
    assert len({text.split(" Since ")[1] for text in states if text}) == 1  # the time of the first failure
    assert [event["event"] for event in logged] == ["watcher failed"] * 3 + ["watcher recovered"]
