"""The swap chain over sets of k items: MAP by sampling, and k-NDPP sampling."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ndpp.bundles.greedy import greedy_items
from ndpp.bundles.problem import Bundle, Choice, Problem
from ndpp.kernel import Indices, Kernel
from ndpp.tilt import Tilt

_STARTS = 20  # random sets tried before the chain starts from greedy's set


def map_mcmc(
    kernel: Kernel,
    k: int,
    *,
    rng: np.random.Generator,
    cart: ArrayLike = (),
    tilt: Tilt | None = None,
    decoupling: float = 0.0,
) -> Bundle:
    """The most probable set the swap chain visits in ⌊3M/R⌋ steps, as in the paper."""
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    best, best_log_det = None, -np.inf
    for items, log_det in _chain(problem, rng, 3 * kernel.size // max(kernel.rank, 1)):
        if best is None or log_det > best_log_det:
            best, best_log_det = items.copy(), log_det
    return problem.bundle([] if best is None else best.tolist())


def sample_k(
    kernel: Kernel,
    k: int,
    *,
    rng: np.random.Generator,
    steps: int,
    cart: ArrayLike = (),
    tilt: Tilt | None = None,
    decoupling: float = 0.0,
) -> Indices:
    """A random set of k items with probability ∝ its determinant (approximately), ascending.

    For symmetric kernels M k log(10k) steps of the chain are enough (Li et al. 2016).
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    last = np.empty(0, dtype=np.intp)
    for items, _ in _chain(problem, rng, steps):
        last = items
    return np.sort(last)


def _chain(problem: Problem, rng: np.random.Generator, steps: int) -> Iterator[tuple[Indices, float]]:
    """The sets visited, each with its log-det relative to the first.

    A step picks i in the set and j anywhere, and swaps them with probability
    det(K_{S−i+j}) / (det(K_{S−i+j}) + det(K_S)).
    """
    choice, log_det = _start(problem, rng), 0.0
    items = choice.rows
    if not len(items):
        return
    tilt = problem.tilt.at(problem.candidates)
    yield items, log_det
    for position, drawn, chance in zip(
        rng.integers(0, len(items), steps),
        rng.integers(0, problem.available, steps),
        rng.random(steps),
        strict=True,
    ):
        row = int(problem.candidates[drawn])
        if row not in items:
            own = problem.tilt.at(items[position : position + 1])[0]
            ratio = _swap_ratio(problem, choice, int(position), row) * tilt[drawn] / own
            if ratio > 0 and chance < ratio / (1 + ratio):
                swapped = items.copy()
                swapped[position] = row
                solved = Choice.of(problem, swapped.tolist())
                if len(solved.rows) == len(items):
                    items, choice, log_det = swapped, solved, log_det + math.log(ratio)
        yield items, log_det


def _start(problem: Problem, rng: np.random.Generator) -> Choice:
    """A random set with a determinant, else greedy's."""
    size = min(problem.k, problem.available)
    for _ in range(_STARTS):
        choice = Choice.of(problem, rng.choice(problem.candidates, size, replace=False).tolist())
        if len(choice.rows) == size:
            return choice
    return Choice.of(problem, greedy_items(problem))


def _swap_ratio(problem: Problem, choice: Choice, position: int, row: int) -> float:
    """det(K_{S−i+j}) / det(K_S) for one swap; see `Swaps`."""
    kernel, state = problem.kernel, problem.state
    factor = kernel.factors[row].astype(np.float64)
    forward = factor @ choice.left  # K_jS G
    backward = choice.right @ factor  # K_Sj
    own = kernel.weights[row] - float((factor @ state.left) @ (state.right @ factor))
    gain = own - float(forward @ backward)
    return float(
        choice.inverse[position, position] * gain + forward[position] * (choice.inverse[position] @ backward)
    )
