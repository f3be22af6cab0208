"""A Markov chain over sets of k items, for MAP inference and for k-NDPP samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.bundles.greedy import greedy_items
from ndpp.bundles.problem import Bundle, ChosenItems, Problem
from ndpp.kernel import Indices, Kernel, Matrix, Vector
from ndpp.tilt import Tilt

MOST_STEPS = 50_000  # of the default, see `default_steps`
_COLDEST = 10.0  # the power of the determinant at the end of simulated annealing
_STARTS = 20  # random sets to try before the chain starts from greedy's set
_SMALLEST_BATCH, _LARGEST_BATCH = 8, 256


def default_steps(candidates: int, k: int) -> int:
    """2 N log(10k) steps, at most `MOST_STEPS`, if a set has N exchanges of one or two of its k items.

    For symmetric kernels and exchanges of one item, N log(10k) steps are enough (Li et al. 2016).
    """
    singles = k * max(candidates - k, 0)
    pairs = math.comb(k, 2) * math.comb(max(candidates - k, 0), 2)
    return min(MOST_STEPS, math.ceil(2 * (singles + pairs) * math.log(10 * k))) if k else 0


def map_mcmc(
    kernel: Kernel,
    k: int,
    *,
    rng: np.random.Generator,
    steps: int | None = None,
    cart: ArrayLike = (),
    tilt: Tilt | None = None,
    decoupling: float = 0.0,
) -> Bundle:
    """Simulated annealing: the best set that the chain visits in `steps` steps, or greedy's if it is better.

    The chain samples in proportion to the determinant raised to a power that increases from 1 to 10: at a
    power of 1 it spends nearly all of its time at sets far below the best one. The paper's chain makes
    ⌊3M/R⌋ steps at a power of 1, all of them exchanges of one item.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    best, best_log_det = np.empty(0, dtype=np.intp), -np.inf
    for items, log_det in _chain(problem, rng, steps, _COLDEST):
        if log_det > best_log_det:
            best, best_log_det = items, log_det
    found = problem.bundle(best), problem.bundle(np.array(greedy_items(problem), dtype=np.intp))
    return max(found, key=lambda bundle: (len(bundle.items), bundle.log_det))


def sample_k(
    kernel: Kernel,
    k: int,
    *,
    rng: np.random.Generator,
    steps: int | None = None,
    cart: ArrayLike = (),
    tilt: Tilt | None = None,
    decoupling: float = 0.0,
) -> Bundle:
    """A random set of k items, in ascending order, with a probability approximately ∝ its determinant.

    The set after `steps` steps of the chain, by default `default_steps`.
    """
    problem = Problem.of(kernel, k, cart, tilt, decoupling)
    last = np.empty(0, dtype=np.intp)
    for items, _ in _chain(problem, rng, steps, power=1.0):
        last = items
    return problem.bundle(np.sort(last))


def _chain(
    problem: Problem, rng: np.random.Generator, steps: int | None, power: float
) -> Iterator[tuple[Indices, float]]:
    """The first set and each set after an accepted exchange, with its log-determinant relative to the first.

    A step draws one or two items A of the set S and as many candidates B outside of it, all uniformly, and
    exchanges them with probability r / (1 + r), r = det(K_{S−A+B}) / det(K_S) to the current power. Draws are
    symmetric, so detailed balance holds. With exchanges of two items the chain reaches every set that has a
    determinant (Alimohammadi et al. 2021); with single ones it cannot replace a pair of complements that have
    no gain alone.

    Most exchanges are rejected, so the steps up to the next accepted one are evaluated in batches.
    """
    chosen, log_det = _start(problem, rng), 0.0
    if not len(chosen.rows):
        return
    yield chosen.rows, log_det
    outside = problem.candidates[~np.isin(problem.candidates, chosen.rows)]
    if not len(outside):
        return
    if steps is None:
        steps = default_steps(len(problem.candidates), len(chosen.rows))
    draws = _Draws.of(rng, steps, len(chosen.rows), len(outside))
    powers = np.linspace(1.0, power, steps)
    done, batch = 0, _SMALLEST_BATCH
    while done < steps:
        now = slice(done, done + batch)
        ratios = draws.ratios(problem, chosen, outside, now)
        raised = ratios ** powers[now]
        accepted = np.flatnonzero(draws.chances[now] < raised / (1 + raised))
        if not len(accepted):
            done, batch = done + batch, min(2 * batch, _LARGEST_BATCH)
            continue
        step = done + int(accepted[0])
        done, batch = step + 1, max(batch // 2, _SMALLEST_BATCH)
        leaving, entering = draws.leaving[step], draws.entering[step]
        if draws.single[step]:
            leaving, entering = leaving[:1], entering[:1]
        items = chosen.rows.copy()
        items[leaving] = outside[entering]
        after = ChosenItems.of(problem.conditional, items.tolist())
        if len(after.rows) == len(items):
            outside[entering] = chosen.rows[leaving]
            chosen, log_det = after, log_det + math.log(ratios[accepted[0]])
            yield items, log_det


def _start(problem: Problem, rng: np.random.Generator) -> ChosenItems:
    """A random set with a nonzero determinant, else greedy's set."""
    size = min(problem.k, len(problem.candidates))
    for _ in range(_STARTS):
        drawn = rng.choice(problem.candidates, size, replace=False)
        chosen = ChosenItems.of(problem.conditional, drawn.tolist())
        if len(chosen.rows) == size:
            return chosen
    return ChosenItems.of(problem.conditional, greedy_items(problem))


@dataclass(frozen=True, eq=False)
class _Draws:
    """The random numbers of all steps."""

    single: NDArray[np.bool_]  # whether one item is exchanged, else two
    leaving: Indices  # positions in S (steps, 2); a single exchange uses the first
    entering: Indices  # positions outside of S (steps, 2)
    chances: Vector

    @classmethod
    def of(cls, rng: np.random.Generator, steps: int, chosen: int, outside: int) -> _Draws:
        single = rng.random(steps) < (0.5 if min(chosen, outside) > 1 else 1.0)
        leaving, entering = _two_of(rng, steps, chosen), _two_of(rng, steps, outside)
        return cls(single, leaving, entering, rng.random(steps))

    def ratios(self, problem: Problem, chosen: ChosenItems, outside: Indices, steps: slice) -> Vector:
        """det(K_{S−A+B}) / det(K_S) of these steps."""
        single, leaving, entering = self.single[steps], self.leaving[steps], outside[self.entering[steps]]
        ratios = np.empty(len(single))
        ratios[single] = exchange_ratios(problem, chosen, leaving[single, :1], entering[single, :1])
        ratios[~single] = exchange_ratios(problem, chosen, leaving[~single], entering[~single])
        return np.maximum(ratios, 0.0)


def _two_of(rng: np.random.Generator, steps: int, count: int) -> Indices:
    """Two different numbers below `count` for each step; equal ones if `count` is 1."""
    first = rng.integers(0, count, steps)
    return np.stack([first, (first + 1 + rng.integers(0, max(count - 1, 1), steps)) % count], axis=1)


def exchange_ratios(problem: Problem, chosen: ChosenItems, leaving: Indices, entering: Indices) -> Vector:
    """det(K_{S−A+B}) / det(K_S) for a stack of positions A in S and of rows B outside of it, both (b, r).

    It is det [[G_AA, P_AB], [−Q_BA, R_BB]], see `Exchanges`.
    """
    given, r = problem.conditional, leaving.shape[1]
    factors = problem.kernel.rows(entering)  # F_B (b, r, R)
    columns = chosen.right @ factors.swapaxes(1, 2)  # K_SB (b, m, r)
    forward, backward = chosen.inverse @ columns, factors @ chosen.left  # P (b, m, r), Q (b, r, m)
    images = problem.kernel.times_core(factors) - (factors @ given.left) @ given.right  # F_B W
    bordered: Matrix = np.empty((len(leaving), 2 * r, 2 * r))
    bordered[:, :r, :r] = chosen.inverse[leaving[:, :, None], leaving[:, None, :]]
    bordered[:, :r, r:] = np.take_along_axis(forward, leaving[:, :, None], axis=1)
    bordered[:, r:, :r] = -np.take_along_axis(backward, leaving[:, None, :], axis=2)
    bordered[:, r:, r:] = images @ factors.swapaxes(1, 2) - backward @ columns
    place = np.arange(r, 2 * r)
    bordered[:, place, place] += problem.kernel.diagonal[entering]
    tilt = problem.tilt.at(entering.ravel()).reshape(entering.shape).prod(axis=1)
    tilt /= problem.tilt.at(chosen.rows)[leaving].prod(axis=1)
    ratios: Vector = np.linalg.det(bordered) * tilt
    return ratios
