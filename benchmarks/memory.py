"""Memory of server processes: `python -m benchmarks.memory` on synthetic models, with one and two workers.

*Private* is the anonymous memory of one worker beyond that of a worker without a model, after the requests
of a few hundred carts; *mapped* are the pages of files that it has read, which all workers share. Both come
from `/proc/PID/smaps_rollup`. The time to be ready is that of the first worker's start, imports included.
"""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import httpx
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from app.redis.embedded import EmbeddedValkey
from benchmarks.http import CART, publish, running, wait_for
from benchmarks.machine import describe_machine, save_results

REQUESTS = 300
_MB = 1e6


def main(
    sizes: Annotated[list[int], typer.Option(help="Catalogue sizes.")] = [3_300, 400_000],  # noqa: B006
    workers: Annotated[list[int], typer.Option(help="Numbers of workers.")] = [1, 2],  # noqa: B006
    port: Annotated[int, typer.Option(help="First port to use.")] = 18500,
) -> None:
    """Measure, print a table and save the results."""
    table = Table("items", "workers", "private, MB", "mapped, MB", "ready, s", title=describe_machine())
    rows: list[dict[str, float]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis = stack.enter_context(EmbeddedValkey(folder / "valkey")).url
        for size in sizes:
            publish(folder / str(size), size)
        for count in workers:
            empty = measure(folder / "empty", 0, count, port, redis)
            for size in sizes:
                port += 1
                found = measure(folder / str(size), size, count, port, redis)
                found["private"] -= empty["private"]
                rows.append({"items": size, "workers": count, **found})
                figures = (f"{found[name]:.1f}" for name in ("private", "mapped", "ready"))
                table.add_row(f"{size:,}", str(count), *figures)
            port += 1
    Console().print(table)
    save_results("memory", {"rows": rows})


def measure(store: Path, size: int, workers: int, port: int, redis: str) -> dict[str, float]:
    """Anonymous and mapped megabytes of a worker, their mean, and the seconds until the service is ready."""
    serve = ["app", "serve", "--port", str(port), "--store", str(store), "--workers", str(workers)]
    url = f"http://127.0.0.1:{port}"
    started = time.monotonic()
    with running(serve, REDIS_URL=redis) as pid:
        wait_for(f"{url}/{'readyz' if size else 'healthz'}", timeout=300)
        ready = time.monotonic() - started
        servers = [pid] if workers == 1 else _children(pid)
        rng = np.random.default_rng(0)
        for number in range(REQUESTS * workers if size else 0):
            cart = rng.integers(0, size, CART if number % 2 else 1)
            items: Any = [f"item-{row}" for row in cart]
            httpx.get(f"{url}/recommend", params={"items": items}).raise_for_status()
        found = [_smaps(each) for each in servers]
    return {
        "private": mean(anonymous for anonymous, _ in found),
        "mapped": mean(mapped for _, mapped in found),
        "ready": ready,
    }


def _children(pid: int) -> list[int]:
    """The server processes that another one has started, without Python's resource tracker."""
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def _smaps(pid: int) -> tuple[float, float]:
    """Anonymous and file-backed megabytes of a process."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kilobytes = {name: int(number) for name, number in re.findall(r"(\w+): +(\d+) kB", text)}
    anonymous = kilobytes["Anonymous"]
    return anonymous * 1024 / _MB, (kilobytes["Rss"] - anonymous) * 1024 / _MB


if __name__ == "__main__":
    typer.run(main)
