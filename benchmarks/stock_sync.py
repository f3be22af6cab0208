"""A stock sync of a whole catalogue while recommendations go on.

    python -m benchmarks.stock_sync

A real service with its embedded Valkey, 100,000 items, and one client that asks for recommendations of new
carts, one after another, before and during the sync. Another process sends 100,000 changes of stock, in
requests of 10,000 as JSON, and then as one NDJSON stream. Goal: under a minute, and recommendations go on at
their speed. The catalogue of each request is checked in the end: every change must have arrived.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx
import numpy as np

from benchmarks.http_shop import CART
from benchmarks.machine import describe_machine, save_results
from benchmarks.random_model import publish

_ITEMS = 100_000
_AT_ONCE = 10_000
_CALM_SECONDS = 10.0
_KEY = "a key for the benchmark, long enough"
_NDJSON = "application/x-ndjson"


def _ask(url: str, stop: Event, found: Any) -> None:
    """Ask for recommendations until told to stop; send back when each ended and how long it took."""
    rng, taken = np.random.default_rng(2), []
    with httpx.Client(base_url=url) as client:
        while not stop.is_set():
            items = ",".join(f"item-{row}" for row in rng.choice(_ITEMS, CART, replace=False))
            start = perf_counter()
            client.get("/recommend", params={"items": items}).raise_for_status()
            taken.append(perf_counter() - start)
    found.put(taken)


def _latency(url: str, work: Callable[[], None]) -> tuple[float, list[float]]:
    """The seconds that some work takes, and the latencies of recommendations meanwhile."""
    context = multiprocessing.get_context("spawn")
    stop, found = context.Event(), context.Queue()
    asking = context.Process(target=_ask, args=(url, stop, found))
    asking.start()
    sleep(2.0)  # until it has started
    start = perf_counter()
    work()
    seconds = perf_counter() - start
    stop.set()
    latencies: list[float] = found.get()
    asking.join()
    return seconds, latencies


def _has_stock(row: int, sync: int) -> bool:
    """Each sync changes every item: half of them are sold out."""
    return (row + sync) % 2 == 0


def _as_json(client: httpx.Client) -> None:
    for start in range(0, _ITEMS, _AT_ONCE):
        rows = range(start, start + _AT_ONCE)
        items = [{"item_id": f"item-{row}", "in_stock": _has_stock(row, 0)} for row in rows]
        answer = client.patch("/items", json={"items": items}).raise_for_status().json()
        assert answer["changed"] == _AT_ONCE, answer


def _as_stream(client: httpx.Client) -> None:
    changes = ({"item_id": f"item-{row}", "in_stock": _has_stock(row, 1)} for row in range(_ITEMS))
    body = "".join(json.dumps(change) + "\n" for change in changes).encode()
    answer = client.patch("/items", content=body, headers={"Content-Type": _NDJSON}).raise_for_status().json()
    assert answer["changed"] == _ITEMS, answer


def _check(client: httpx.Client, sync: int) -> None:
    lines = client.get("/items/export").raise_for_status().text.splitlines()
    assert len(lines) == _ITEMS
    assert all(json.loads(line)["in_stock"] == _has_stock(row, sync) for row, line in enumerate(lines))


def _measure(url: str) -> list[dict[str, Any]]:
    runs = []
    with httpx.Client(base_url=url, headers={"X-Admin-Key": _KEY}, timeout=300) as client:
        syncs: list[tuple[str, Callable[[], None]]] = [
            ("no sync", lambda: sleep(_CALM_SECONDS)),
            ("JSON, 10 requests", lambda: _as_json(client)),
            ("NDJSON, one request", lambda: _as_stream(client)),
        ]
        for kind, work in syncs:
            seconds, latencies = _latency(url, work)
            milliseconds = 1000 * np.array(latencies)
            p50, p95, p99 = (float(np.percentile(milliseconds, p)) for p in (50, 95, 99))
            runs.append(
                {
                    "kind": kind,
                    "seconds": seconds,
                    "requests": len(latencies),
                    "p50": p50,
                    "p95": p95,
                    "p99": p99,
                }
            )
            print(
                f"| {kind} | {seconds:.1f} | {len(latencies):,} | {p50:.1f} | {p95:.1f} | {p99:.1f} |",
                flush=True,
            )
            if kind != "no sync":
                _check(client, sync=int(kind.startswith("NDJSON")))
    return runs


def main() -> None:
    """Print a table and save benchmarks/results/stock_sync.json."""
    print(f"{describe_machine()}, {_ITEMS:,} items\n")
    print("| sync | seconds | recommendations | p50, ms | p95, ms | p99, ms |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        publish(folder / "store", _ITEMS)
        command = [sys.executable, "-m", "app", "serve", "--port", "0", "--store", str(folder / "store")]
        with (folder / "log").open("wb") as log:
            service = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        try:
            runs = _measure(_url(service, folder / "log"))
        finally:
            service.terminate()
            service.wait()
    print(save_results("stock_sync", {"items": _ITEMS, "runs": runs}))


def _environment() -> dict[str, str]:
    return {**os.environ, "TRIPOD_ADMIN_KEY": _KEY, "PYTHONUNBUFFERED": "1"}


def _url(service: subprocess.Popen[bytes], log: Path) -> str:
    """The address of the service once it is ready."""
    while service.poll() is None:
        for line in log.read_text().splitlines():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "listening":
                url: str = event["url"]
                try:
                    if httpx.get(f"{url}/readyz").status_code == 200:
                        return url
                except httpx.TransportError:
                    pass
        sleep(0.1)
    raise SystemExit(log.read_text())


if __name__ == "__main__":
    main()
