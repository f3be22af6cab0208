"""One run of `benchmarks.http`: a catalogue served by a number of processes, beside its peers."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import uvloop

from benchmarks.http_load import Load, Target, load
from benchmarks.http_servers import Server, running, wait_for_workers
from benchmarks.http_shop import Shop
from benchmarks.http_tails import ADMIN_KEY, measure_tails
from benchmarks.http_truth import measure_truth

BARE = "bare route, one Redis call"
PEERS = {"als": "ALS", "ease": "EASE-R"}

Paths = dict[str, Iterator[str]]  # of each target, without end


@dataclass(frozen=True)
class Plan:
    """What is measured, and how long."""

    connections: int
    seconds: float
    rounds: int
    port: int
    checks: int


@dataclass(frozen=True)
class Run:
    """A catalogue served by `workers` processes."""

    plan: Plan
    shop: Shop
    redis: str
    workers: int
    first: bool  # whether the carts have to be filled and the answers checked

    def measure(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The figures of each load by its name, and start, memory, tails and truth of the service."""
        plan, shop, empty = self.plan, self.shop, self._memory_without_model()
        with ExitStack() as stack:
            service = stack.enter_context(self._service(shop.store, "/readyz"))
            wait_for_workers(service.port, "/readyz")
            if self.first:
                shop.fill(service.port, self.redis, plan.connections)
            others = [("bare", "/bare"), *((name, "/readyz") for name in shop.peers)]
            peers = {
                name: stack.enter_context(self._peer(name, plan.port + number, path))
                for number, (name, path) in enumerate(others, 1)
            }
            targets = self._targets(service, peers)
            # A round continues where the last one ended: repeated carts would be answered from the cache.
            paths: Paths = {target.name: itertools.cycle(target.paths) for target in targets}
            loads, reused = self._load_in_turn(targets, paths)
            bare, new = targets[0].name, targets[1]
            figures = {name: _figures(each, loads[bare]) for name, each in loads.items()}
            highest = figures[new.name]["requests/s"]
            found: dict[str, Any] = {
                "items": shop.size,
                "workers": self.workers,
                "loads": {target.what: target.name for target in targets[1:]},
                "bare": figures[bare],
                "new carts from the cache": reused,
                "ready seconds": service.ready_seconds,
                "memory": {
                    "Tripod": service.memory(),
                    "Tripod without a model": empty,
                    **{PEERS.get(name, BARE): peer.memory() for name, peer in peers.items()},
                },
                "tails": uvloop.run(
                    measure_tails(new, paths[new.name], highest, plan.seconds, shop.versions)
                ),
            }
            if self.first and plan.checks:
                some = slice(0, plan.checks)
                found["truth"] = measure_truth(shop.stored, service.port, shop.new[some], new.paths[some])
        return figures, found

    def _memory_without_model(self) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as nothing, self._service(Path(nothing), "/healthz") as server:
            wait_for_workers(server.port, "/healthz")
            return server.memory()

    def _service(self, store: Path, path: str) -> AbstractContextManager[Server]:
        serve = ["app", "serve", "--store", str(store), "--workers", str(self.workers)]
        return running(serve, self.plan.port, path, REDIS_URL=self.redis, TRIPOD_ADMIN_KEY=ADMIN_KEY)

    def _peer(self, name: str, port: int, path: str) -> AbstractContextManager[Server]:
        command = ["uvicorn", f"benchmarks.http_peers:{name}_app", "--factory", "--no-access-log"]
        command += ["--log-level", "warning", "--workers", str(self.workers)]
        return running(command, port, path, REDIS_URL=self.redis, **self.shop.peer_environment)

    def _targets(self, service: Server, peers: dict[str, Server]) -> list[Target]:
        shop, new = self.shop, tuple(self.shop.new_paths())
        end = f", {self.workers} workers" if self.workers > 1 else ""

        def target(what: str, server: Server, paths: tuple[str, ...]) -> Target:
            return Target(f"M = {shop.size:,}, {what}{end}", what, server, paths)

        return [
            Target(BARE + end, BARE, peers["bare"], ("/bare",)),
            target("new carts", service, new),
            target("shoppers", service, tuple(shop.shopper_paths())),
            target("the same cart", service, new[:1]),
            *(target(f"{PEERS[name]}, new carts", peers[name], new) for name in shop.peers),
        ]

    def _load_in_turn(self, targets: list[Target], paths: Paths) -> tuple[dict[str, list[Load]], float]:
        """The loads of all rounds, and the share of answers to new carts that came from the cache."""
        results: dict[str, list[Load]] = {target.name: [] for target in targets}
        new, reused = targets[1], 0.0
        for _ in range(self.plan.rounds):
            for target in targets:
                before = _reused(new.server)
                done = uvloop.run(load(target, paths[target.name], self.plan.connections, self.plan.seconds))
                results[target.name].append(done)
                reused += _reused(new.server) - before if target is new else 0.0
        return results, reused / sum(len(each.latencies) for each in results[new.name])


def _reused(server: Server) -> float:
    """How many answers came from the cache so far."""
    lines = httpx.get(f"http://127.0.0.1:{server.port}/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("tripod_answers_reused_total"))


def _figures(loads: list[Load], bare: list[Load]) -> dict[str, float]:
    pairs = list(zip(loads, bare, strict=True))
    return {
        "requests/s": median(load.per_second for load in loads),
        "p50 ms": median(load.percentile(50) for load in loads),
        "p95 ms": median(load.percentile(95) for load in loads),
        "p99 ms": median(load.percentile(99) for load in loads),
        "CPU ms": median(load.cpu_ms for load in loads),
        "of the bare route": median(load.per_second / beside.per_second for load, beside in pairs),
        "by CPU": median(beside.cpu_ms / load.cpu_ms for load, beside in pairs),
    }
