"""Speed of the service over HTTP, next to a bare route, ALS and EASE-R: `python -m benchmarks.http`.

For each catalogue size it starts a Valkey, a bare FastAPI application that makes one call to it, the service
and the peers. It loads them in turn and reports ratios, because a busy machine slows all of them alike. The
load generator works like wrk: keep-alive connections with one request at a time.

The models are copies of one that is trained first, see `benchmarks.large_model`; the carts are from copies of
baskets that it has not seen. The service caches its latest answers, so the result depends on the carts. There
are three loads: *new carts* (every answer is computed; the worst case), *shoppers* (carts of different sizes,
each requested three times before it changes: an assumption, not a measurement), and *the same cart*
repeatedly, which is always answered from the cache.

ALS needs the `als` extra. A million items need about 10 GB of memory, 15 GB of disk and ten minutes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from app.redis.embedded import EmbeddedValkey
from benchmarks.http_page import console_tables, write_page
from benchmarks.http_run import Plan, Run
from benchmarks.http_shop import CART, VIEWS, open_shop
from benchmarks.large_model import TRAINED, Copies
from benchmarks.machine import RESULTS, save_results
from benchmarks.trained_model import trained_model

SIZES = [3_300, 50_000, 400_000, 1_000_000]
WORKERS = [1, 2]


def main(  # noqa: PLR0917 - a command's options
    sizes: Annotated[list[int], typer.Option(help="Catalogue sizes.")] = SIZES,
    connections: Annotated[int, typer.Option(help="Concurrent connections.")] = 8,
    seconds: Annotated[float, typer.Option(help="Seconds per round.")] = 4.0,
    rounds: Annotated[int, typer.Option(help="Rounds; the medians are reported.")] = 3,
    port: Annotated[int, typer.Option(help="First port to use.")] = 18400,
    workers: Annotated[list[int], typer.Option(help="Numbers of server processes.")] = WORKERS,
    carts: Annotated[int, typer.Option(help="New carts: more than the service caches answers.")] = 20_000,
    checks: Annotated[int, typer.Option(help="Carts whose answers are compared with a full pass.")] = 1_000,
    model: Annotated[
        Path, typer.Option(help="Folder of the trained model; it is trained if there is none.")
    ] = TRAINED,
    page: Annotated[bool, typer.Option(help="Only write the page from the last results.")] = False,
) -> None:
    """Run the benchmark, print tables, save benchmarks/results/http.json and write docs/speed.md."""
    if not page:
        trained = trained_model(model)
        results: dict[str, Any] = {
            "connections": connections,
            "rank": trained.stored.kernel.rank,
            "cart": CART,
            "views": VIEWS,
            "seconds": seconds,
            "rounds": rounds,
            "figures": {},
            "runs": [],
        }
        plan = Plan(connections, seconds, rounds, port, checks)
        for size in sizes:
            with tempfile.TemporaryDirectory() as scratch, EmbeddedValkey(Path(scratch) / "valkey") as valkey:
                shop = open_shop(Copies(trained, size), Path(scratch), carts)
                for count in workers:
                    figures, run = Run(plan, shop, valkey.url, count, first=count == workers[0]).measure()
                    results["figures"] = figures | results["figures"]
                    results["runs"].append(run)
                    save_results("http", results)
    saved = json.loads((RESULTS / "http.json").read_text())
    for table in console_tables(saved):
        Console().print(table)
    write_page(saved)


if __name__ == "__main__":
    typer.run(main)
