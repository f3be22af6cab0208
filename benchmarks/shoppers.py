"""What a shopper costs: processor time of `GET /recommend?k=10` with and without `shopper_id`.

    python -m benchmarks.shoppers

The service is called directly as an ASGI application, on synthetic models, with a Valkey beside it; its own
time is not counted. Carts of five items come in turn, so that every answer is computed. Each shopper has a
profile of 50 baskets with ten items each. Both variants alternate in one run, and the fastest round of each
counts, because other load on the machine only adds time. Goal: a ratio of at most 1.3.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time, time
from typing import Any

import numpy as np
import uvloop
from fastapi import FastAPI

from app.main import create_app
from app.redis.embedded import EmbeddedValkey
from app.settings import Settings
from app.shoppers.store import BoughtBasket, ProfileChange, ProfileStore
from benchmarks.http_shop import CART, VIEWS
from benchmarks.machine import describe_machine, save_results
from benchmarks.random_model import MIXTURE, publish
from ndpp.mixture import Own

_SIZES = (1_000, 3_300, 10_000)
_CARTS, _ROUNDS = 1_200, 7
_BASKETS, _ITEMS = 50, 10
# What is asked: a stored cart, by a shopper who asks three times or by another one each time (more than the
# service keeps in memory), or a list of items, by another shopper each time.
KINDS = ("again", "new", "list")
_OWN = Own(
    cart=(0.5, 0.1),
    popularity=(0.3, 0.1),
    recent=(0.4, -0.1),
    often=(0.6, 0.1),
    votes=(0.3, 0.1),
    known=(-0.2, 0.1),
    related=(0.2, 0.0),
    first=(0.1, -0.05),
    weight=(-0.3, 0.2),
    baskets=(0.4, -0.1),
    repeats=(0.5, 0.2),
    days=30.0,
    gap_days=7.0,
    longest_gap=100.0,
)


async def _call(
    app: FastAPI, query: str, method: str = "GET", path: str = "/recommend", body: Any = None
) -> None:
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
    }
    statuses = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode() if body else b""}

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    await app(scope, receive, send)
    assert statuses[0] == 200, statuses


async def _fill(app: FastAPI, size: int) -> list[list[str]]:
    """Write the profiles and the carts; returns the items of these."""
    rng, now = np.random.default_rng(1), time()
    services = app.state.services
    profiles = ProfileStore(services.link, services.settings.shopper_ttl)
    ids = await services.shopper_hashes.ids()
    for number in range(_CARTS):
        change = ProfileChange()
        for basket in range(_BASKETS):
            items = [f"item-{row}" for row in rng.choice(size, _ITEMS, replace=False)]
            seconds = int(now - 7 * 86_400 * (_BASKETS - basket))
            change.add(BoughtBasket(f"order-{basket}", seconds, items, seconds * 1000))
        shopper = ids.hashed(f"shopper-{number}")
        await profiles.change(shopper, ids.mark(shopper), change)
    carts = [[f"item-{row}" for row in rng.choice(size, CART, replace=False)] for _ in range(_CARTS)]
    for number, items in enumerate(carts):
        lines = [{"item_id": item_id} for item_id in items]
        await _call(app, "", "POST", f"/carts/c{number}/items", {"items": lines})
    return carts


async def _measure(app: FastAPI, size: int) -> dict[str, tuple[float, float]]:
    """Microseconds of a request without and with a shopper, by kind: those of the fastest round."""
    taken: dict[str, tuple[list[float], list[float]]] = {kind: ([], []) for kind in KINDS}
    async with app.router.lifespan_context(app):
        carts = await _fill(app, size)
        await app.state.services.watchers.stop()
        for number in range(_ROUNDS):
            for kind, times in taken.items():
                # `exclude` names an unknown item, so that no response comes from the cache.
                queries = [f"items={','.join(cart)}&exclude=round-{number}" for cart in carts]
                if kind != "list":
                    queries = [f"cart_id=c{place}" for place in range(_CARTS)]
                for named in (False, True):
                    start = process_time()
                    for place, query in enumerate(queries):
                        shopper = place // VIEWS if kind == "again" else place
                        who = f"&shopper_id=shopper-{shopper}" if named else ""
                        await _call(app, f"{query}&k=10{who}")
                    times[named].append((process_time() - start) / _CARTS * 1e6)
    return {kind: (min(plain), min(personal)) for kind, (plain, personal) in taken.items()}


def main() -> None:
    """Print a table and save benchmarks/results/shoppers.json."""
    print(f"{describe_machine()}\n\n| items | request | without, µs | with, µs | ratio |")
    print("|---|---|---|---|---|")
    runs = []
    mixture = replace(MIXTURE, own=_OWN)
    for size in _SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            publish(folder / "store", size, mixture)
            with EmbeddedValkey(folder / "valkey") as valkey:
                settings = Settings(store=str(folder / "store"), redis_url=valkey.url, log_level="error")
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    found = runner.run(_measure(create_app(settings), size))
        for kind, (plain, personal) in found.items():
            ratio = f"{personal / plain:.2f}"
            print(f"| {size:,} | {kind} | {plain:.0f} | {personal:.0f} | {ratio} |", flush=True)
            runs.append({"items": size, "kind": kind, "plain": plain, "personal": personal})
    save_results("shoppers", {"runs": runs})


if __name__ == "__main__":
    main()
