"""The cost of each MAP method, known before it runs."""

from __future__ import annotations

import math
from typing import Literal

from ndpp.bundles.exact import MOST_SETS
from ndpp.bundles.exchanges import TILE
from ndpp.bundles.mcmc import default_steps
from ndpp.bundles.pool import pool_size
from ndpp.bundles.stochastic import sample_size

Method = Literal["greedy", "local_search", "stochastic", "mcmc", "sample", "exact"]

# Overheads, as the number of multiply-adds of a matrix product that take as long
_ITEM = 600_000  # choosing one item: a dozen NumPy calls
_PAIR = 15  # the ratio of one exchange of two items, one of many in a few NumPy calls
_TILE = 100_000  # those NumPy calls
_MCMC = 25_000  # a step of the annealed chain: few are accepted
_SAMPLE = 120_000  # a step of the chain for samples: up to a quarter is accepted


def operations(method: Method, size: int, rank: int, k: int, cart: int, *, steps: int | None = None) -> float:
    """Estimated multiply-adds of `method` for k of `size` items, given a cart of `cart` items.

    `steps` are those of the chain (mcmc and sample). One core does about three billion per second, and most
    estimates are within a factor of three of the time. Greedy and local search take less on large catalogues
    with a few popular items, where bounds exclude most rows, and more if nearly all gains are equal.
    """
    match method:
        case "greedy":
            return _greedy(size, rank, k, cart)
        case "local_search":
            return _greedy(size, rank, k, cart) + _local_search(size, rank, k, cart)
        case "stochastic":
            return _greedy(min(size, sample_size(size, k)) if k else 0, rank, k, cart)
        case "mcmc":
            return _steps(size, k, steps) * (_MCMC + 4.0 * rank * (k + cart))
        case "sample":
            return _steps(size, k, steps) * (_SAMPLE + 4.0 * rank * (k + cart))
        case "exact":
            return _exact(size, rank, k, cart)


def _pass(size: int, rank: int, given: int) -> float:
    """The gains of all items given this many."""
    return float(size) * rank * (1 + min(2 * given, rank))


def _greedy(size: int, rank: int, k: int, cart: int) -> float:
    return sum(_pass(size, rank, cart + chosen) + _ITEM for chosen in range(k))


def _local_search(size: int, rank: int, k: int, cart: int) -> float:
    """Greedy by pairs, and a typical number of exchanges from both starts."""
    pool = min(size, pool_size(k)) if k > 1 else 0
    pairs = pool**2 / 2 * _PAIR + math.ceil(pool / TILE) * _TILE
    start = float(pool) ** 2 * rank + k / 2 * (pairs + _ITEM)
    singles = (2 + k / 2) * (2 * _pass(size, rank, cart + k) + _ITEM)
    doubles = (2 + k / 4) * (math.comb(k, 2) * pairs + _ITEM)
    return start + singles + doubles


def _steps(size: int, k: int, steps: int | None) -> int:
    return default_steps(size, k) if steps is None else steps


def _exact(size: int, rank: int, k: int, cart: int) -> float:
    if k < 2:
        return _greedy(size, rank, k, cart)
    sets = min(math.comb(size, k), MOST_SETS)  # more are refused
    return sets * (500.0 + 150.0 * k**2) + float(size) ** 2 * rank
