"""Tables 3 and 4 of the paper: error and time of MAP inference, Tripod's algorithms beside the paper's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ndpp import (
    Kernel,
    condition,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
    sample_k,
)

BUNDLE = 10  # the paper's k


@dataclass(frozen=True)
class Spread:
    """A mean with half of its 95 % interval."""

    value: float
    half_interval: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """From repeated measurements."""
        half = 1.96 * float(np.std(values, ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), float(half))


@dataclass(frozen=True)
class MapQuality:
    """An algorithm's row of Tables 3 and 4."""

    error: Spread
    milliseconds: float  # median


def paper_local_search(kernel: Kernel, k: int) -> float:
    """log det of the paper's greedy local search (Kathuria & Deshpande): the best swap, at most k² log(10k).

    As the paper describes it, each item in turn is left out and the gains of all others are computed.
    """
    items = map_greedy(kernel, k).items.tolist()
    for _ in range(int(k**2 * np.log(10 * k))):
        best, swap = 1 + 1e-9, None
        for place, item in enumerate(items):
            gains = condition(kernel, items[:place] + items[place + 1 :]).gains()
            row = int(np.argmax(gains))
            if gains[row] > best * gains[item]:
                best, swap = gains[row] / gains[item], (place, row)
        if swap is None:
            break
        items[swap[0]] = swap[1]
    return float(np.linalg.slogdet(kernel.submatrix(items))[1])


def _mcmc_sample(kernel: Kernel, k: int, rng: np.random.Generator) -> float:
    """log det of the last set of a chain of ⌊3M/K⌋ steps, as in the paper."""
    return sample_k(kernel, k, rng=rng, steps=3 * kernel.size // kernel.rank).log_det


# The paper's algorithms, then Tripod's own.
_ALGORITHMS: dict[str, Callable[[Kernel, np.random.Generator], float]] = {
    "local_search": lambda kernel, _: paper_local_search(kernel, BUNDLE),
    "greedy": lambda kernel, _: map_greedy(kernel, BUNDLE).log_det,
    "stochastic": lambda kernel, rng: map_stochastic_greedy(kernel, BUNDLE, rng=rng).log_det,
    "mcmc": lambda kernel, rng: _mcmc_sample(kernel, BUNDLE, rng),
    "tripod_local_search": lambda kernel, _: map_local_search(kernel, BUNDLE).log_det,
    "tripod_mcmc": lambda kernel, rng: map_mcmc(kernel, BUNDLE, rng=rng).log_det,
}
_RANDOM = ("stochastic", "mcmc", "tripod_mcmc")


def map_quality(kernels: list[Kernel], trials: int, seed: int) -> dict[str, MapQuality]:
    """Tables 3 and 4: error relative to the paper's greedy local search, and wall-clock time, for k = 10.

    The error is negative for a set that is better than that of greedy local search.
    """
    rng = np.random.default_rng(seed)
    errors: dict[str, list[float]] = {name: [] for name in _ALGORITHMS}
    times: dict[str, list[float]] = {name: [] for name in _ALGORITHMS}
    for kernel in kernels:
        reference = paper_local_search(kernel, BUNDLE)
        for name, algorithm in _ALGORITHMS.items():
            for _ in range(trials if name in _RANDOM else 1):
                start = time.perf_counter()
                log_det = algorithm(kernel, rng)
                times[name].append(time.perf_counter() - start)
                errors[name].append((reference - log_det) / abs(reference))
    return {
        name: MapQuality(Spread.of(errors[name]), 1000 * float(np.median(times[name])))
        for name in _ALGORITHMS
    }
