"""Lift: how often two items are bought together, compared with chance.

    lift = together / by_chance,    by_chance = Σ_c n_ic n_jc / N_c

summed over classes c of baskets of similar size, because large baskets hold many unrelated items. Unrelated
items have lift 1. Counts of rare pairs are noisy, so the lift is a posterior mean. The prior is a mixture of
two gamma distributions (as in DuMouchel's shrinkage): most pairs are near m = exp(α + β log(lift of the
marginal kernel)), and a small share of them, the tail, is bought together far more often:

    lift ~ (1 − π) Gamma(s, s / m) + π Gamma(t, t / (m exp δ))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndpp.kernel import Indices, Kernel, Matrix, Vector
from ndpp.marginal_kernel import MarginalKernel
from ndpp.sparse import BoolVector, find

SIZE_CLASSES = (1, 2, 3, 5, 9, 17, 33)  # the smallest basket of each class
COMPLEMENT, SUBSTITUTE = 1, 2  # the relation of two items; 0 is neither
_Z95 = 1.959964  # 95 % of a normal distribution are within this many standard deviations
_LEAST_KERNEL_LIFT = 0.05  # keeps its logarithm finite
_UNKNOWN = -1


class Prior(NamedTuple):
    """The prior distribution of the lift of two items."""

    level: float  # α
    slope: float  # β
    weight: float  # s, in joint baskets
    tail_share: float = 0.0  # π
    tail_level: float = 0.0  # δ
    tail_weight: float = 1.0  # t

    def parts(self, kernel_lifts: Vector) -> list[tuple[float, float, Vector]]:
        """Share, weight and mean of each gamma distribution."""
        logs = np.log(np.maximum(kernel_lifts, _LEAST_KERNEL_LIFT))
        mean: Vector = np.exp(self.level + self.slope * logs)
        parts = [(1 - self.tail_share, self.weight, mean)]
        if self.tail_share > 0:
            parts.append((self.tail_share, self.tail_weight, mean * np.exp(self.tail_level)))
        return parts


@dataclass(frozen=True, eq=False)
class Lifts:
    """The stored counts of baskets and the prior; with a kernel, `RelatedItems` computes lifts from them.

    The stored partners of item i are `partners[offsets[i]:offsets[i + 1]]`, ascending: every item that is in
    at least `least` baskets with it, and every substitute. Each pair is stored in both directions.
    """

    class_counts: NDArray[np.int32]  # (M, 7): baskets with the item, by size class
    class_totals: NDArray[np.int64]  # (7,): baskets
    offsets: NDArray[np.int64]  # (M + 1,)
    partners: NDArray[np.int32]  # (entries,)
    together: NDArray[np.int32]  # (entries,): baskets that hold both
    relations: NDArray[np.uint8]  # (entries,): COMPLEMENT, SUBSTITUTE or 0
    least: int  # pairs that are not stored are in fewer baskets than this
    level: float  # the prior, see `Prior`
    slope: float
    weight: float
    tail_share: float = 0.0
    tail_level: float = 0.0
    tail_weight: float = 1.0

    @property
    def prior(self) -> Prior:
        """The prior of all lifts."""
        return Prior(*(getattr(self, name) for name in Prior._fields))

    def check(self, size: int) -> None:
        """ValueError unless the counts are for `size` items and the arrays fit together."""
        classes = len(SIZE_CLASSES)
        if self.class_counts.shape != (size, classes) or self.offsets.shape != (size + 1,):
            raise ValueError(f"the kernel has {size} items, the lifts {len(self.class_counts)}")
        entries = {int(self.offsets[-1]), len(self.partners), len(self.together), len(self.relations)}
        if self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any() or len(entries) > 1:
            raise ValueError("the offsets of the lifts do not fit their partners and counts")
        if self.class_totals.shape != (classes,) or (self.class_counts > self.class_totals).any():
            raise ValueError("the lifts count an item in more baskets than there are")
        if len(self.partners):
            if not 0 <= self.partners.min() <= self.partners.max() < size:
                raise ValueError("the lifts name a partner that is not an item")
            descents = np.flatnonzero(np.diff(self.partners) <= 0) + 1
            if not np.isin(descents, self.offsets).all():
                raise ValueError("the partners of an item are not in ascending order")
            if self.together.min() < 0 or self.relations.max() > SUBSTITUTE:
                raise ValueError("the lifts hold a negative count or an unknown relation")
        if self.class_counts.min() < 0 or self.least < 1:
            raise ValueError("the lifts hold a negative count")
        finite = np.isfinite(self.prior).all()
        if not finite or min(self.weight, self.tail_weight) <= 0 or not 0 <= self.tail_share < 1:
            raise ValueError(
                "the prior of the lifts needs finite numbers, weights above 0 and a share below 1"
            )


@dataclass(frozen=True, eq=False)
class PairLifts:
    """The lifts of some pairs, with 95 % intervals and the counts behind them."""

    lift: Vector
    low: Vector
    high: Vector
    together: NDArray[np.int32]  # baskets that hold both; −1 if the count is not stored
    by_chance: Vector  # expected baskets with both if the items were unrelated
    relation: NDArray[np.uint8]  # COMPLEMENT, SUBSTITUTE or 0

    def counted(self, pair: int) -> int | None:
        """`together` of one pair, None if the count is not stored."""
        count = int(self.together[pair])
        return None if count == _UNKNOWN else count

    def surest_first(self, relation: int) -> Indices:
        """The order of complements by the lower end of their interval, of substitutes by the upper end."""
        return np.argsort(-self.low if relation == COMPLEMENT else self.high, kind="stable")


@dataclass(frozen=True, eq=False)
class RelatedItems:
    """Lifts, complements and substitutes of the items of a kernel."""

    kernel: Kernel
    lifts: Lifts

    @cached_property
    def _marginal(self) -> MarginalKernel:
        return MarginalKernel(self.kernel)

    def between(self, first: ArrayLike, second: ArrayLike) -> PairLifts:
        """The lifts of pairs of different rows; fastest if equal first rows are next to each other."""
        one, other = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
        counts, totals = self.lifts.class_counts, self.lifts.class_totals
        rates = class_rates(counts[one], totals), class_rates(counts[other], totals)
        by_chance: Vector = np.einsum("ic,ic->i", *rates)
        prior, kernel_lifts = self.lifts.prior, self._marginal.lifts(one, other)
        together, relation = self._stored(one, other)
        usual = by_chance * prior.parts(kernel_lifts)[0][2]
        counted = np.where(together != _UNKNOWN, together, self._expected_uncounted(usual))
        lift, low, high = posterior(counted, by_chance, kernel_lifts, prior)
        if self.lifts.least == 1:
            together[together == _UNKNOWN] = 0
        return PairLifts(lift, low, high, together, by_chance, relation)

    def related(self, row: int, relation: int) -> Indices:
        """The complements or substitutes of an item, ascending."""
        span = self._span(row)
        partners: Indices = self.lifts.partners[span][self.lifts.relations[span] == relation].astype(np.intp)
        return partners

    def all_related(self, relation: int) -> tuple[Indices, Indices]:
        """All pairs of complements or substitutes, first < second."""
        return self.counted(relation)[:2]

    def counted(self, relation: int) -> tuple[Indices, Indices, NDArray[np.int32]]:
        """The same, and the training baskets with both."""
        first = np.repeat(np.arange(self.kernel.size), np.diff(self.lifts.offsets))
        chosen = (self.lifts.relations == relation) & (first < self.lifts.partners)
        return first[chosen], self.lifts.partners[chosen].astype(np.intp), self.lifts.together[chosen]

    def to_cart(self, rows: ArrayLike, cart: ArrayLike) -> NDArray[np.uint8]:
        """For each row SUBSTITUTE or COMPLEMENT if it is one of any cart item (the former first), else 0."""
        candidates = np.asarray(rows, dtype=np.intp)
        strongest = np.zeros(len(candidates), dtype=np.uint8)
        for item in np.asarray(cart, dtype=np.intp).tolist():
            places, found = self._find(item, candidates)
            if found.any():
                np.maximum(strongest, np.where(found, self.lifts.relations[places], 0), out=strongest)
        return strongest

    def _span(self, row: int) -> slice:
        return slice(int(self.lifts.offsets[row]), int(self.lifts.offsets[row + 1]))

    def _find(self, row: int, others: Indices) -> tuple[Indices, BoolVector]:
        """The positions of pairs with one row in the stored arrays, and whether they are stored."""
        span = self._span(row)
        places, found = find(others, self.lifts.partners[span])
        return places + span.start, found

    def _stored(self, first: Indices, second: Indices) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The stored count and relation of each pair."""
        together = np.full(len(first), _UNKNOWN, dtype=np.int32)
        relation = np.zeros(len(first), dtype=np.uint8)
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        for start, stop in pairwise([*starts.tolist(), len(first)]):
            places, found = self._find(int(first[start]), second[start:stop])
            together[start:stop][found] = self.lifts.together[places[found]]
            relation[start:stop][found] = self.lifts.relations[places[found]]
        return together, relation

    def _expected_uncounted(self, expected: Vector) -> Vector:
        """E[together | together < least] under the prior, for which `together` is negative binomial."""
        chance = np.ones_like(expected)  # P(count), up to a constant factor
        total, mean = np.zeros_like(expected), np.zeros_like(expected)
        ratio = expected / (expected + self.lifts.weight)
        for count in range(self.lifts.least):
            total += chance
            mean += count * chance
            chance = chance * (count + self.lifts.weight) / (count + 1) * ratio
        return mean / total


def class_rates(counts: NDArray[np.integer[Any]], totals: NDArray[np.integer[Any]]) -> Matrix:
    """n_ic / √N_c: the dot product of two rows is `by_chance`. Baskets of one item hold no pair."""
    rates: Matrix = counts[:, 1:] / np.sqrt(np.maximum(totals[1:], 1))
    return rates


def posterior(
    together: ArrayLike, by_chance: Vector, kernel_lifts: Vector, prior: Prior
) -> tuple[Vector, Vector, Vector]:
    """The posterior mean of the lift and the ends of its 95 % interval.

    A gamma prior with weight s and mean m has the posterior Gamma(together + s, by_chance + s / m); each part
    of the mixture is weighted by its likelihood of `together`. The interval is that of the gamma distribution
    with the mixture's mean and variance, by Wilson and Hilferty: its cube root is nearly normal.
    """
    counted = np.asarray(together, dtype=np.float64)
    chance = np.maximum(by_chance, np.finfo(np.float64).tiny)
    logs, means, variances = [], [], []
    for share, weight, mean in prior.parts(kernel_lifts):
        shape, rate = counted + weight, by_chance + weight / mean
        predicted = log_gamma(shape) - log_gamma(np.array(weight)) + weight * np.log(weight / mean / rate)
        logs.append(np.log(share) + predicted + counted * np.log(chance / rate))
        means.append(shape / rate)
        variances.append(shape / rate**2)
    shares = np.exp(np.array(logs) - np.max(logs, axis=0))
    shares /= shares.sum(axis=0)
    lift: Vector = (shares * means).sum(axis=0)
    variance = (shares * (np.array(variances) + np.square(means))).sum(axis=0) - lift**2
    shape = lift**2 / variance
    centre, spread = 1 - 1 / (9 * shape), _Z95 / (3 * np.sqrt(shape))
    low: Vector = lift * np.maximum(centre - spread, 0.0) ** 3
    return lift, low, lift * (centre + spread) ** 3


def log_gamma(x: Vector) -> Vector:
    """log Γ(x) for x > 0 by Stirling's series at x + 8, because NumPy has no such function."""
    shifted = x + 8
    series = (shifted - 0.5) * np.log(shifted) - shifted + 0.5 * np.log(2 * np.pi)
    series += 1 / (12 * shifted) - 1 / (360 * shifted**3) + 1 / (1260 * shifted**5)
    below = sum(np.log(x + step) for step in range(8))
    return np.asarray(series - below)
