"""What `benchmarks.inference` measures: each case times two ways alternately, in one process."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.algorithm1 import full_scan, greedy_algorithm_1
from benchmarks.zipf import popular_carts, zipf_kernel
from ndpp import (
    Kernel,
    Ranking,
    Tilt,
    condition,
    condition_many,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
    top_k,
)
from ndpp.kernel import FloatArray, Indices

K = 10


@dataclass(frozen=True)
class Comparison:
    """Median seconds of a baseline and of ours, and the ratio that was asked for."""

    case: str
    baseline: float
    ours: float
    goal: str
    reached: bool | None  # None where nothing was asked for

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.baseline / self.ours


def alternate(ways: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Median processor seconds of each way, taken in turns so that a busy machine disturbs all alike."""
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(repeats):
        for way, times in zip(ways, seconds, strict=True):
            began = time.process_time()
            way()
            times.append(time.process_time() - began)
    return [float(np.median(times)) for times in seconds]


def warm(kernel: Kernel) -> Kernel:
    """Compute what a kernel keeps for its whole life, as a service does once at start."""
    top_k(condition(kernel, []), K)
    return kernel


def greedy_speed(items: int, rank: int, repeats: int) -> Comparison:
    """Greedy against Algorithm 1 transcribed; both must choose the same items."""
    kernel = warm(zipf_kernel(items, rank))
    F = kernel.factors.astype(np.float64)
    expected = greedy_algorithm_1(F, kernel.core, kernel.diagonal, K)
    if map_greedy(kernel, K).items.tolist() != expected:
        raise AssertionError("greedy and Algorithm 1 chose different items")
    baseline, ours = alternate(
        [
            lambda: greedy_algorithm_1(F, kernel.core, kernel.diagonal, K),
            lambda: map_greedy(kernel, K),
        ],
        repeats,
    )
    name = f"greedy k={K}, M={items:,}, R={rank}, against Algorithm 1 in float64"
    return Comparison(name, baseline, ours, "≥ 5×", baseline / ours >= 5)


def next_item_speed(kernel: Kernel, label: str, least: float | None, repeats: int) -> Comparison:
    """Bounded scan against one full float32 product, conditioning included in both."""
    carts = popular_carts(kernel.size, 5, repeats)
    weights = kernel.weights.astype(np.float32)
    seconds = []
    for cart in carts:
        whole = partial(_full_scan_of, kernel, weights, cart)
        bounded = partial(_bounded_scan_of, kernel, cart)
        if whole().tolist() != bounded().tolist():
            raise AssertionError("the bounded and the full scan answered differently")
        seconds.append(alternate([whole, bounded], 3))
    slow, fast = np.median(seconds, axis=0).tolist()
    name = f"next item, cart of 5, M={kernel.size:,}, R={kernel.rank}, {label}: bounded against full scan"
    goal = "none" if least is None else f"≥ {least:.2f}×"
    return Comparison(name, slow, fast, goal, None if least is None else slow / fast >= least)


def _full_scan_of(kernel: Kernel, weights: FloatArray, cart: list[int]) -> Indices:
    state = condition(kernel, cart)
    return full_scan(state, weights, np.hstack(state.form.sides), K)


def _bounded_scan_of(kernel: Kernel, cart: list[int]) -> Indices:
    return top_k(condition(kernel, cart), K).rows


def batch_speed(
    kernel: Kernel, label: str, least: float | None, repeats: int, *, evidence: int = 0
) -> Comparison:
    """64 carts in one batch against 64 single calls, with so many rows of evidence in each cart's tilt."""
    carts = popular_carts(kernel.size, 5, 64)
    tilts = evidence_tilts(kernel.size, evidence, len(carts))

    def one_by_one() -> list[Ranking]:
        return [top_k(condition(kernel, cart), K, tilt) for cart, tilt in zip(carts, tilts, strict=True)]

    def together() -> list[Ranking]:
        return condition_many(kernel, carts).top_k(K, tilts)

    if any(
        one.rows.tolist() != other.rows.tolist() for one, other in zip(one_by_one(), together(), strict=True)
    ):
        raise AssertionError("a batch and its single calls answered differently")
    singles, batch = alternate([one_by_one, together], repeats)
    name = f"64 carts of 5, M={kernel.size:,}, R={kernel.rank}, {label}: one batch against single calls"
    goal = "none" if least is None else f"≥ {least:.2f}×"
    return Comparison(name, singles, batch, goal, None if least is None else singles / batch >= least)


def evidence_tilts(items: int, rows: int, count: int) -> list[Tilt]:
    """Tilts as the service makes them: some rows raised by heavy-tailed factors, a few excluded."""
    rng = np.random.default_rng(2)
    if not rows:
        return [Tilt()] * count
    return [
        Tilt.boosting(popular_carts(items, rows, 1, seed=seed)[0], (1 + rng.pareto(1, rows)) ** 2)
        * Tilt.excluding(rng.integers(0, items, 10))
        for seed in range(count)
    ]


def local_search_speed(kernel: Kernel, label: str, repeats: int) -> Comparison:
    """Local search against greedy: a ratio below 1 is how much slower it is."""
    greedy, search = alternate([lambda: map_greedy(kernel, K), lambda: map_local_search(kernel, K)], repeats)
    name = f"local search k={K}, {label}, against greedy"
    return Comparison(name, greedy, search, "≥ 0.125× (within 8×)", search <= 8 * greedy)


def map_quality(kernel: Kernel, label: str, trials: int) -> dict[str, object]:
    """The paper's Tables 3 and 4: relative log-det error against local search, and time against greedy."""
    reference = map_local_search(kernel, K).log_det
    methods: dict[str, Callable[[int], float]] = {
        "local search": lambda _: map_local_search(kernel, K).log_det,
        "greedy": lambda _: map_greedy(kernel, K).log_det,
        "stochastic greedy": lambda s: map_stochastic_greedy(kernel, K, rng=np.random.default_rng(s)).log_det,
        "mcmc": lambda s: map_mcmc(kernel, K, rng=np.random.default_rng(s)).log_det,
    }
    table: dict[str, dict[str, float]] = {}
    for name, method in methods.items():
        errors, seconds = [], []
        for seed in range(trials if name in {"stochastic greedy", "mcmc"} else 3):
            began = time.process_time()
            log_det = method(seed)
            seconds.append(time.process_time() - began)
            errors.append(abs((reference - log_det) / reference))
        table[name] = {"relative_error": float(np.mean(errors)), "seconds": float(np.median(seconds))}
    return {"kernel": label, "items": kernel.size, "rank": kernel.rank, "k": K, "methods": table}


def growth(kernel: Kernel, sizes: Sequence[int], repeats: int) -> list[dict[str, float]]:
    """Time and extra memory of the next item and of greedy, for heads of one catalogue."""
    rows = []
    for size in sizes:
        part = warm(Kernel(kernel.factors[:size], kernel.core, kernel.diagonal[:size]))
        carts = popular_carts(size, 5, repeats)
        ways: dict[str, Callable[[], object]] = {
            "top_k": lambda part=part, carts=carts: [top_k(condition(part, cart), K) for cart in carts],  # type: ignore[misc]
            "gains": lambda part=part, carts=carts: condition(part, carts[0]).gains(),  # type: ignore[misc]
            "greedy": lambda part=part: map_greedy(part, K),  # type: ignore[misc]
        }
        row: dict[str, float] = {"items": size, "kernel_bytes": part.factors.nbytes}
        for name, way in ways.items():
            row[f"{name}_seconds"] = alternate([way], 3)[0] / (repeats if name == "top_k" else 1)
            tracemalloc.start()
            way()
            row[f"{name}_bytes"] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        rows.append(row)
    return rows


def precision_agreement(kernel: Kernel, carts: int) -> dict[str, object]:
    """How often float32 and float64 factors give the same top 10, for carts of up to 95 items."""
    double = Kernel(kernel.factors.astype(np.float64), kernel.core, kernel.diagonal)
    sizes = np.linspace(1, min(95, kernel.size // 2), carts).astype(int)
    same = 0
    for number, size in enumerate(sizes.tolist()):
        cart = popular_carts(kernel.size, size, 1, seed=number)[0]
        omega = 0.9 * (number % 2)
        first, second = (top_k(condition(k, cart, decoupling=omega), K) for k in (kernel, double))
        same += first.rows.tolist() == second.rows.tolist()
    return {"carts": carts, "same_top_10": same, "largest_cart": int(sizes.max())}
