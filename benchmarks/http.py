"""Throughput and latency over HTTP: `GET /recommend?cart_id=…&k=10` against a bare route with one Redis call.

`python -m benchmarks.http` starts a Valkey, a bare FastAPI application that makes one call to it, and the
service on synthetic models, one process each. It loads them in turn and reports ratios, because a busy
machine slows all of them alike. The load generator works like wrk: keep-alive connections with one request at
a time.

The service caches its latest 1,024 answers, so the result depends on the carts. There are three loads:
*new carts* (2,000 in turn, so that every answer is computed; the worst case), *shoppers* (carts of different
sizes, filled by popularity, each requested three times before it changes: an assumption, not a measurement),
and *the same cart* repeatedly, which is always answered from the cache.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import httpx
import numpy as np
import typer
import uvloop
from fastapi import FastAPI
from numpy.typing import NDArray
from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

from app.redis.embedded import EmbeddedValkey
from benchmarks.http_load import Load, Target, load
from benchmarks.machine import save_results
from model_store import Draft, Items, Knobs, ModelStore
from ndpp import Kernel, Mixture, Relevance
from ndpp.mixture import Habit, SimilarBaskets, Together
from training.baskets import Baskets
from training.next_item.basket_index import index_baskets

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
RANK = 100
NEIGHBOURS = 20
BASKETS = 100_000  # of 8 items each, in the index of training baskets
MIXTURE = Mixture(
    decoupling=0.9,
    together=Together((0.6, 0.0), (0.8, 0.0), (0.2, -0.1)),
    baskets=SimilarBaskets((0.7, 0.0), (-0.5, 0.2)),
    habit=Habit((0.5, 0.0), (0.4, 0.0), (0.3, -0.1), (-0.3, -0.4)),
    least_gain=1e-4,
)
CART = 5  # items in a new cart
CARTS = 2_000
VIEWS = 3  # requests for a shopper's cart before it changes
SHOPPERS = 100  # shoppers at the same time


def bare_app() -> FastAPI:
    """Baseline: a FastAPI route with one Redis call."""
    app, redis = FastAPI(), Redis.from_url(os.environ["REDIS_URL"])

    @app.get("/bare")
    async def bare() -> dict[str, int]:
        return {"length": len(await redis.get("bare") or b"")}

    return app


def publish(store: Path, size: int, mixture: Mixture = MIXTURE) -> None:
    """Publish and activate a random model whose popularity is heavy-tailed, as in a real catalogue."""
    rng = np.random.default_rng(size)
    shares = 1 / np.arange(1, size + 1) ** 0.8
    shares *= 8 / shares.sum()
    half = RANK // 2
    rows = np.sqrt(shares)[:, None].astype(np.float32) / np.sqrt(half)
    V, B = (rows * rng.standard_normal((size, half), dtype=np.float32) for _ in range(2))
    C = np.kron(np.eye(half // 2), [[0.0, 1.0], [-1.0, 0.0]])
    offsets = NEIGHBOURS * np.arange(size + 1, dtype=np.int64)
    neighbours = rng.integers(0, size, offsets[-1], dtype=np.int32)
    weights = rng.uniform(0.01, 0.2, offsets[-1]).astype(np.float32)
    ids = tuple(f"item-{row}" for row in range(size))
    bought = np.searchsorted(np.cumsum(shares), 8 * rng.random((BASKETS, 8))).clip(max=size - 1)
    baskets = [np.unique(basket).astype(np.int32) for basket in bought]
    borders = np.cumsum([0, *(len(basket) for basket in baskets)])
    models = ModelStore(store)
    models.activate(
        models.publish(
            Draft(
                kernel=Kernel.scalable(V, B, C, shares),
                kind="scalable",
                items=Items(
                    ids=ids,
                    names=tuple(f"Item number {row}" for row in range(size)),
                    categories=tuple(f"Category {row % 50}" for row in range(size)),
                    prices=tuple(1.0 + row % 100 for row in range(size)),
                ),
                relevance=Relevance(offsets, neighbours, weights, floor=0.01),
                mixture=mixture,
                baskets=index_baskets(Baskets(ids, np.concatenate(baskets), borders)),
                knobs=Knobs(decoupling=0.9, relevance=2.0, popularity=0.0),
                hyperparameters={},
                metrics={},
                data_fingerprint="synthetic",
                seed=size,
            )
        )
    )


@contextmanager
def running(command: list[str], **environment: str) -> Iterator[int]:
    """Run a server process; yields its process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        env=os.environ | ONE_THREAD | environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str, timeout: float = 120.0) -> None:
    """Wait until the URL answers 200."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"{url} did not answer 200 within {timeout:.0f} seconds.")


def main(
    sizes: Annotated[list[int], typer.Option(help="Catalogue sizes.")] = [3_300, 400_000],  # noqa: B006
    connections: Annotated[int, typer.Option(help="Concurrent connections.")] = 8,
    seconds: Annotated[float, typer.Option(help="Seconds per round.")] = 4.0,
    rounds: Annotated[int, typer.Option(help="Rounds; the medians are reported.")] = 3,
    port: Annotated[int, typer.Option(help="First port to use.")] = 18400,
) -> None:
    """Run the benchmark, print a table and save the results."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis = stack.enter_context(EmbeddedValkey(folder / "valkey")).url
        bare = [
            "uvicorn",
            "benchmarks.http:bare_app",
            "--factory",
            "--no-access-log",
            "--log-level",
            "warning",
        ]
        pid = stack.enter_context(running([*bare, "--port", str(port)], REDIS_URL=redis))
        wait_for(f"http://127.0.0.1:{port}/bare")
        targets = [Target("bare route, one Redis call", pid, port, ("/bare",))]
        for number, size in enumerate(sizes, 1):
            store = folder / str(size) / "store"
            publish(store, size)
            serve = ["app", "serve", "--port", str(port + number), "--store", str(store)]
            pid = stack.enter_context(running(serve, REDIS_URL=redis))
            targets += _with_carts(pid, port + number, size)
        results: dict[Target, list[Load]] = {target: [] for target in targets}
        # Each round continues where the last one ended: repeated carts would be answered from the cache.
        paths = [itertools.cycle(target.paths) for target in targets]
        for _ in range(rounds):
            for target, own in zip(targets, paths, strict=True):
                results[target].append(uvloop.run(load(target, own, connections, seconds)))
    _report(results, connections)


def _with_carts(pid: int, port: int, size: int) -> list[Target]:
    """Fill the carts and return the three kinds of load for a service with this catalogue size."""
    wait_for(f"http://127.0.0.1:{port}/readyz", timeout=600)
    rng = np.random.default_rng(1)
    new = [rng.integers(0, size // 2, CART) for _ in range(CARTS)]
    shares = np.cumsum(1 / np.arange(1, size + 1) ** 0.8)
    lengths = np.minimum(rng.geometric(1 / 3, CARTS), 20)
    shoppers = [np.searchsorted(shares, shares[-1] * rng.random(length)) for length in lengths]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        new_paths = [_fill(client, f"new-{size}-{number}", cart) for number, cart in enumerate(new)]
        shopper_paths = [_fill(client, f"shop-{size}-{number}", cart) for number, cart in enumerate(shoppers)]
    return [
        Target(f"M = {size:,}, new carts", pid, port, tuple(new_paths)),
        Target(f"M = {size:,}, shoppers", pid, port, tuple(_in_turns(shopper_paths, rng))),
        Target(f"M = {size:,}, the same cart", pid, port, tuple(new_paths[:1])),
    ]


def _fill(client: httpx.Client, cart_id: str, rows: NDArray[np.integer[Any]]) -> str:
    """Create a cart and return the path of its recommendations."""
    lines = [{"item_id": f"item-{row}"} for row in rows]
    client.post(f"/carts/{cart_id}/items", json={"items": lines}).raise_for_status()
    return f"/recommend?cart_id={cart_id}&k=10"


def _in_turns(paths: list[str], rng: np.random.Generator) -> list[str]:
    """Each path VIEWS times, shuffled with those of the other shoppers at the same time."""
    visits = [VIEWS * paths[start : start + SHOPPERS] for start in range(0, len(paths), SHOPPERS)]
    return [str(path) for together in visits for path in rng.permutation(together)]


def _report(results: dict[Target, list[Load]], connections: int) -> None:
    bare = next(iter(results.values()))
    figures = {target.name: _figures(loads, bare) for target, loads in results.items()}
    table = Table(title=f"GET /recommend?cart_id=…&k=10: {connections} connections, rank {RANK}")
    table.add_column("")
    for column in next(iter(figures.values())):
        table.add_column(column, justify="right")
    for name, row in figures.items():
        table.add_row(name, *(f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value in row.values()))
    Console().print(table)
    save_results(
        "http", {"connections": connections, "rank": RANK, "cart": CART, "views": VIEWS, "figures": figures}
    )


def _figures(loads: list[Load], bare: list[Load]) -> dict[str, float]:
    pairs = list(zip(loads, bare, strict=True))
    return {
        "requests/s": median(load.per_second for load in loads),
        "p50 ms": median(load.percentile(50) for load in loads),
        "p99 ms": median(load.percentile(99) for load in loads),
        "CPU ms": median(load.cpu_ms for load in loads),
        "of the bare route": median(load.per_second / beside.per_second for load, beside in pairs),
        "by CPU": median(beside.cpu_ms / load.cpu_ms for load, beside in pairs),
    }


if __name__ == "__main__":
    typer.run(main)
