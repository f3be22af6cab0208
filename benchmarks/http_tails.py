"""The slowest answers at a steady rate below the highest load, as usual and while the model is replaced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import httpx

from benchmarks.http_load import Answers, Target, steady_load

SHARE = 0.7  # of the highest load
ADMIN_KEY = "the-key-of-the-benchmark"
_REQUESTS = 1_000  # at least, for the 99th percentile, unless that takes too long:
_LONGEST = 60.0  # seconds
_LONGEST_SWAP = 180.0


async def measure_tails(
    target: Target, paths: Iterator[str], highest: float, seconds: float, versions: list[str]
) -> dict[str, Any]:
    """p50 and p99 at SHARE of the highest load, and p99 while the other version is activated."""
    rate = SHARE * highest
    enough = time.perf_counter() + max(seconds, min(_REQUESTS / rate, _LONGEST))
    usual = await steady_load(target, paths, rate, lambda _: time.perf_counter() > enough)
    new = next(version for version in versions if version not in usual.last)
    return {
        "requests/s": rate,
        "p50 ms": usual.percentile(50),
        "p99 ms": usual.percentile(99),
        "requests": len(usual.latencies),
        "swap": await _measure_swap(target, paths, rate, seconds, new),
    }


async def _measure_swap(
    target: Target, paths: Iterator[str], rate: float, seconds: float, version: str
) -> dict[str, float]:
    """From the activation until `seconds` after the last answer of the version before it."""
    started, before, seen = 0.0, 0, Answers()
    url = f"http://127.0.0.1:{target.server.port}/models/{version}/activate"

    async def activate() -> None:
        nonlocal started, before
        await asyncio.sleep(1)
        started, before = time.perf_counter(), len(seen.latencies)
        async with httpx.AsyncClient(timeout=_LONGEST_SWAP) as client:
            (await client.post(url, headers={"X-Admin-Key": ADMIN_KEY})).raise_for_status()

    def old_last() -> float:
        return max((last for name, last in seen.last.items() if name != version), default=started)

    def finished(answers: Answers) -> bool:
        nonlocal seen
        seen, now = answers, time.perf_counter()
        if started and now > started + _LONGEST_SWAP:
            raise SystemExit(f"{version} was not in use {_LONGEST_SWAP:.0f} seconds after its activation")
        return version in answers.last and now > old_last() + seconds

    activation = asyncio.create_task(activate())
    answers = await steady_load(target, paths, rate, finished)
    await activation
    return {
        "p99 ms": answers.percentile(99, before),
        "seconds": old_last() - started,
        "requests": len(answers.latencies) - before,
    }
