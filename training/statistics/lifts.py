"""Learn the lifts of pairs of items from baskets, and which pairs are complements or substitutes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ndpp import Kernel, Lifts
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.lifts import COMPLEMENT, SUBSTITUTE, Prior
from ndpp.marginal_kernel import MarginalKernel
from training.baskets import Baskets, merge
from training.statistics.lift_prior import learn_prior
from training.statistics.pair_counts import PairCounts, Pairs, joined

ENTRIES = 8_000_000  # most counted pairs to keep, in both directions: 72 MB
LEAST_BY_CHANCE = 10.0  # fewest joint baskets by chance: otherwise a low count is no evidence of substitutes
LEAST_ALIKE = 0.25  # smallest cosine of substitutes
_SUBSTITUTE_WEIGHT = 4.0  # largest weight of the prior for substitutes: it describes mostly unrelated pairs,
# and for two similar items the counts should decide earlier
_STRONGEST = 2.0  # log lifts are capped here, so that one shared partner does not make two items similar
_PAIRS_AT_ONCE = 20_000
_ROWS_AT_ONCE = 256


def learn_lifts(train: Baskets, validation: Baskets, kernel: Kernel, seed: int = 0) -> Lifts:
    """Fit the prior to predict the validation baskets from the training baskets, then count both parts."""
    marginal = MarginalKernel(kernel)
    prior = learn_prior(PairCounts(train), PairCounts(validation), marginal, seed)
    counts = PairCounts(merge(train, validation))
    least = _least_count(counts.together)
    counted = counts.pairs(*counts.met(least), marginal)
    lift, low, _ = counted.posterior(prior)
    relations = np.where(low > 1, COMPLEMENT, 0).astype(np.uint8)
    cautious = prior._replace(weight=min(prior.weight, _SUBSTITUTE_WEIGHT))
    replaced = _substitutes(counts, marginal, cautious, _alike_rows(counted, lift, kernel.size))
    return _stored(counts, _each_once(counted, relations, replaced, kernel.size), least, prior)


def count_lifts(counts: PairCounts, kernel: Kernel, prior: Prior) -> Lifts:
    """Lifts by a known prior, without relations."""
    least = _least_count(counts.together)
    counted = counts.pairs(*counts.met(least), MarginalKernel(kernel))
    relations = np.zeros(len(counted.first), dtype=np.uint8)
    return _stored(counts, (counted.first, counted.second, counted.together, relations), least, prior)


Stored = tuple[Indices, Indices, NDArray[np.int32], NDArray[np.uint8]]  # first, second, together, relation


def _stored(counts: PairCounts, pairs: Stored, least: int, prior: Prior) -> Lifts:
    rows, partners, together, relations = _both_ways(*pairs)
    size = len(counts.by_class)
    return Lifts(
        class_counts=counts.by_class,
        class_totals=counts.totals,
        offsets=np.searchsorted(rows, np.arange(size + 1)).astype(np.int64),
        partners=partners.astype(np.int32),
        together=together,
        relations=relations,
        least=least,
        **prior._asdict(),
    )


def _each_once(counted: Pairs, relations: NDArray[np.uint8], replaced: Pairs, size: int) -> Stored:
    """The union of counted pairs and substitutes; a pair that is in both is a substitute."""
    first = np.concatenate([replaced.first, counted.first])
    second = np.concatenate([replaced.second, counted.second])
    _, chosen = np.unique(first * size + second, return_index=True)  # the first of two equal pairs
    together = np.concatenate([replaced.together, counted.together])
    stated = np.concatenate([np.full(len(replaced.first), SUBSTITUTE, dtype=np.uint8), relations])
    return first[chosen], second[chosen], together[chosen], stated[chosen]


def _both_ways(
    first: Indices, second: Indices, together: NDArray[np.int32], relations: NDArray[np.uint8]
) -> Stored:
    """Each pair in both directions, sorted by row and partner."""
    rows, partners = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((partners, rows))
    return rows[order], partners[order], np.tile(together, 2)[order], np.tile(relations, 2)[order]


def _least_count(together: sparse.csr_array) -> int:
    """The smallest count to keep, so that at most ENTRIES pairs are kept."""
    pairs_with = np.bincount(together.data)  # number of pairs with each count
    with_more = len(together.data) - np.cumsum(pairs_with)  # number of pairs with a higher count
    return max(int(np.argmax(2 * with_more <= ENTRIES)) + 1, 1) if 2 * len(together.data) > ENTRIES else 1


def _alike_rows(counted: Pairs, lift: Vector, size: int) -> sparse.csr_array:
    """The positive log lifts of each item's partners, as rows of length 1: their products are cosines."""
    strength = np.minimum(np.log(np.maximum(lift, 1.0)), _STRONGEST)
    some = strength > 0
    upper = sparse.coo_array(
        (strength[some], (counted.first[some], counted.second[some])), shape=(size, size)
    ).tocsr()
    rows = sparse.csr_array(upper + upper.T)
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    inverse = np.divide(1.0, lengths, out=np.zeros(size), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(inverse) @ rows)


def _substitutes(
    counts: PairCounts, marginal: MarginalKernel, prior: Prior, alike: sparse.csr_array
) -> Pairs:
    """Pairs rarely bought together with similar partners; a high cosine relaxes the bound of the lift."""
    found = []
    for first, second in _by_chance_together(counts.rates):
        pairs = counts.pairs(first, second, marginal)
        high = pairs.posterior(prior)[2] / counts.usual_lifts(first, second)
        rare = np.flatnonzero(high < _highest(1.0))
        cosines = np.zeros(len(rare))
        for start in range(0, len(rare), _PAIRS_AT_ONCE):
            part = rare[start : start + _PAIRS_AT_ONCE]
            products = alike[first[part]] * alike[second[part]]
            cosines[start : start + _PAIRS_AT_ONCE] = np.asarray(products.sum(axis=1)).ravel()
        stated = rare[(cosines > LEAST_ALIKE) & (high[rare] < _highest(cosines))]
        found.append(Pairs._make(values[stated] for values in pairs))
    if not found:
        nothing = np.empty(0, dtype=np.intp)
        return Pairs(nothing, nothing, nothing.astype(np.int32), np.empty(0), np.empty(0))
    return joined(*found)


def _highest(alike: Vector | float) -> Vector | float:
    """The bound for the upper end of the lift of substitutes, by the cosine of their partners."""
    return 0.5 + 0.5 * alike


def _by_chance_together(rates: Matrix) -> Iterator[tuple[Indices, Indices]]:
    """All pairs with enough joint baskets by chance, in blocks of rows."""
    most = rates @ rates.max(axis=0, initial=0.0)
    common = np.flatnonzero(most >= LEAST_BY_CHANCE)
    chosen = rates[common]
    for start in range(0, len(common), _ROWS_AT_ONCE):
        by_chance = chosen[start : start + _ROWS_AT_ONCE] @ chosen[start:].T
        first, second = np.nonzero(by_chance >= LEAST_BY_CHANCE)
        above = first < second
        if above.any():
            yield common[start + first[above]], common[start + second[above]]
