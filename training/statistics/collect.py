"""All statistics of a version: lifts of pairs, basket sizes, coherence of baskets."""

from __future__ import annotations

from typing import NamedTuple

from ndpp import Kernel, Lifts
from ndpp.basket_sizes import BasketSizes
from ndpp.coherence import CoherenceScale
from ndpp.kernel import Indices, Vector
from ndpp.marginal_kernel import MarginalKernel
from training.baskets import merge
from training.splitting import Split
from training.statistics.basket_sizes import learn_basket_sizes
from training.statistics.coherence import learn_coherence
from training.statistics.lifts import learn_lifts
from training.statistics.pair_counts import PairCounts


class Statistics(NamedTuple):
    """Statistics of training and validation baskets, never of held-out ones."""

    lifts: Lifts
    basket_sizes: BasketSizes
    coherence: CoherenceScale


def collect_statistics(parts: Split, kernel: Kernel, seed: int) -> Statistics:
    """Learn all statistics."""
    lifts = learn_lifts(parts.train, parts.validation, kernel, seed)
    # A basket raises the lifts of its own pairs, so validation baskets are scored with training counts.
    counts, marginal = PairCounts(parts.train), MarginalKernel(kernel)

    def lift(first: Indices, second: Indices) -> Vector:
        return counts.pairs(first, second, marginal).posterior(lifts.prior)[0]

    coherence = learn_coherence(lift, parts.validation)
    sizes = learn_basket_sizes(merge(parts.train, parts.validation), seed)
    return Statistics(lifts, sizes, coherence)
