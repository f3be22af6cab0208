"""What is counted beside the model: lifts of pairs, basket sizes, and how coherent real baskets are."""

from __future__ import annotations

from typing import NamedTuple

from ndpp import Kernel, Lifts
from ndpp.basket_sizes import BasketSizes
from ndpp.coherence import CoherenceScale
from ndpp.kernel import Indices, Vector
from ndpp.marginal import Marginal
from training.basket_sizes import learn_basket_sizes
from training.baskets import merge
from training.coherence import learn_coherence
from training.lifts import Counts, learn_lifts
from training.splitting import Split


class Statistics(NamedTuple):
    """Learned from training and validation baskets, never from those held out."""

    lifts: Lifts
    basket_sizes: BasketSizes
    coherence: CoherenceScale


def count(parts: Split, kernel: Kernel, seed: int) -> Statistics:
    """Count everything once."""
    lifts = learn_lifts(parts.train, kernel, seed, parts.validation)
    # A basket raises the lifts of its own pairs: the reference is validation baskets by training counts.
    counts, marginal = Counts(parts.train), Marginal.of(kernel)

    def lift(first: Indices, second: Indices) -> Vector:
        return counts.pairs(first, second, marginal).posterior(lifts.prior)[0]

    coherence = learn_coherence(lift, parts.validation)
    sizes = learn_basket_sizes(merge(parts.train, parts.validation), seed)
    return Statistics(lifts, sizes, coherence)
