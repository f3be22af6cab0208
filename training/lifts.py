"""Counts pairs of items, fits the prior of their lifts, and states which are complements or substitutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from ndpp import Kernel, Lifts
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.lifts import COMPLEMENT, SIZE_CLASSES, SUBSTITUTE, Prior, class_rates, posterior
from ndpp.marginal import Marginal
from training.baskets import Baskets, merge
from training.incidence import incidence

ENTRIES = 8_000_000  # counted pairs kept, in both directions: 72 MB
SAMPLED_PAIRS = 100_000  # the prior has six numbers
LEAST_BY_CHANCE = (
    10.0  # two items that never meet are not substitutes unless chance would bring them together
)
LEAST_ALIKE = 0.25
_SUBSTITUTE_WEIGHT = 4.0  # most pairs are unrelated, but of two that are alike the counts decide sooner
_STRONGEST = 2.0  # log-lifts above this count as this, so that one partner cannot make two items alike
_ENOUGH_COUNTED = 100  # joint baskets
_START = Prior(level=-0.1, slope=1.0, weight=4.0, tail_share=0.03, tail_level=np.log(8.0), tail_weight=0.7)
# α, β, log s, logit π, δ, log t: a prior worth more than 20 joint baskets would leave no doubt to the counts.
_BOUNDS = [
    (-5.0, 5.0),
    (0.0, 5.0),
    (np.log(0.05), np.log(20.0)),
    (-9.0, 0.0),
    (np.log(2.0), np.log(200.0)),
    (np.log(0.1), np.log(5.0)),
]
_PAIRS_AT_ONCE = 20_000
_ROWS_AT_ONCE = 256


class Pairs(NamedTuple):
    """Some pairs of items, first < second, with the counts behind their lifts."""

    first: Indices
    second: Indices
    together: NDArray[np.int32]
    by_chance: Vector
    kernel_lift: Vector

    def posterior(self, prior: Prior) -> tuple[Vector, ...]:
        """Mean, low and high end of each pair's lift."""
        return posterior(self.together, self.by_chance, self.kernel_lift, prior)


class Counts:
    """Baskets by size class, alone and in pairs."""

    def __init__(self, baskets: Baskets) -> None:
        classes = np.searchsorted(SIZE_CLASSES, baskets.sizes, side="right") - 1
        of_items = np.repeat(classes, baskets.sizes) + len(SIZE_CLASSES) * baskets.items.astype(np.int64)
        size = len(baskets.catalogue)
        counts = np.bincount(of_items, minlength=size * len(SIZE_CLASSES)).reshape(size, -1)
        self.by_class = counts.astype(np.int32)  # (M, 7)
        self.totals = np.bincount(classes, minlength=len(SIZE_CLASSES)).astype(np.int64)  # (7,)
        self.rates = class_rates(self.by_class, self.totals)
        self._pairs = np.bincount(classes, baskets.sizes * (baskets.sizes - 1.0), len(SIZE_CLASSES))[1:]
        X = incidence(baskets).astype(np.int32)
        self.together = sparse.csr_array(sparse.triu(X.T @ X, 1))  # (M, M), above the diagonal

    def together_of(self, first: Indices, second: Indices) -> NDArray[np.int32]:
        """Baskets that hold both items of each pair."""
        swapped = first > second
        rows, columns = np.where(swapped, second, first), np.where(swapped, first, second)
        if not len(rows):
            return np.empty(0, dtype=np.int32)
        return np.asarray(self.together[rows, columns], dtype=np.int32).ravel()

    def by_chance_of(self, first: Indices, second: Indices) -> Vector:
        """Baskets that would hold both, were they unrelated."""
        return _products(self.rates, first, second)

    def usual_lifts(self, first: Indices, second: Indices) -> Vector:
        """The mean lift of unrelated items, at most 1, in baskets of the sizes that these are bought in.

        `by_chance` also counts an item with itself, which no basket holds: in small baskets the pairs of
        unrelated items are fewer than by chance.
        """
        sums = (self.rates.sum(axis=0) ** 2 - (self.rates**2).sum(axis=0)).clip(min=np.finfo(float).tiny)
        share = np.minimum(self._pairs / sums, 1.0)
        by_chance = self.by_chance_of(first, second)
        usual = _products(self.rates * np.sqrt(share), first, second)
        return np.divide(usual, by_chance, out=np.ones(len(first)), where=by_chance > 0)

    def pairs(self, first: Indices, second: Indices, marginal: Marginal) -> Pairs:
        """All that the lifts of these pairs are made of."""
        return Pairs(
            first,
            second,
            self.together_of(first, second),
            self.by_chance_of(first, second),
            marginal.lifts(first, second),
        )


def _products(rows: Matrix, first: Indices, second: Indices) -> Vector:
    products = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        products[part] = np.einsum("ic,ic->i", rows[first[part]], rows[second[part]])
    return products


def learn_lifts(baskets: Baskets, kernel: Kernel, seed: int = 0, validation: Baskets | None = None) -> Lifts:
    """Count the baskets and fit the prior; the kernel may have learned from the same baskets.

    With `validation` baskets the prior is the one that predicts them best; then they are counted too.
    """
    counts, marginal = Counts(baskets), Marginal.of(kernel)
    sampled, met = counts.pairs(*_sample(kernel.size, seed), marginal), _met(counts, marginal, 1)
    if validation is None:
        prior = fit_prior(_some(sampled, sampled.by_chance > 0, seed))
    else:
        some = _joined(_some(met, met.together > 0, seed), _some(sampled, sampled.together == 0, seed))
        prior = fit_prior(some, Counts(validation))
        counts = Counts(merge(baskets, validation))
    least = _least_count(counts.together)
    counted = _met(counts, marginal, least)
    lift, low, _ = counted.posterior(prior)
    relations = np.where(low > 1, COMPLEMENT, 0).astype(np.uint8)
    cautious = prior._replace(weight=min(prior.weight, _SUBSTITUTE_WEIGHT))
    replaced = _substitutes(counts, marginal, cautious, _alike_rows(counted, lift, kernel.size))
    stored = _each_once(counted, relations, replaced, kernel.size)
    rows, partners, together, relations = _both_ways(*stored)
    return Lifts(
        class_counts=counts.by_class,
        class_totals=counts.totals,
        offsets=np.searchsorted(rows, np.arange(kernel.size + 1)).astype(np.int64),
        partners=partners.astype(np.int32),
        together=together,
        relations=relations,
        least=least,
        **prior._asdict(),
    )


def _met(counts: Counts, marginal: Marginal, least: int) -> Pairs:
    """The pairs that so many baskets hold."""
    met = counts.together.tocoo()
    kept = met.data >= least
    return counts.pairs(met.row[kept].astype(np.intp), met.col[kept].astype(np.intp), marginal)


def _joined(*parts: Pairs) -> Pairs:
    columns: Iterator[tuple[NDArray[Any], ...]] = zip(*parts, strict=True)
    return Pairs._make(np.concatenate(column) for column in columns)


def _some(pairs: Pairs, chosen: NDArray[np.bool_], seed: int) -> Pairs:
    """At most half as many of the chosen pairs as the prior is fitted to."""
    places = np.flatnonzero(chosen)
    if len(places) > SAMPLED_PAIRS // 2:
        places = np.sort(np.random.default_rng(seed).choice(places, SAMPLED_PAIRS // 2, replace=False))
    return Pairs._make(values[places] for values in pairs)


Stored = tuple[Indices, Indices, NDArray[np.int32], NDArray[np.uint8]]  # first, second, together, relation


def _each_once(counted: Pairs, relations: NDArray[np.uint8], replaced: Pairs, size: int) -> Stored:
    """Counted pairs and substitutes, which may be counted pairs as well: each pair once."""
    first = np.concatenate([replaced.first, counted.first])
    second = np.concatenate([replaced.second, counted.second])
    _, chosen = np.unique(first * size + second, return_index=True)  # of two the earlier, the substitute
    together = np.concatenate([replaced.together, counted.together])
    stated = np.concatenate([np.full(len(replaced.first), SUBSTITUTE, dtype=np.uint8), relations])
    return first[chosen], second[chosen], together[chosen], stated[chosen]


def _both_ways(
    first: Indices, second: Indices, together: NDArray[np.int32], relations: NDArray[np.uint8]
) -> Stored:
    """Each pair from either side, by row and partner."""
    rows, partners = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((partners, rows))
    return rows[order], partners[order], np.tile(together, 2)[order], np.tile(relations, 2)[order]


def fit_prior(pairs: Pairs, unseen: Counts | None = None) -> Prior:
    """Maximum likelihood of the pairs' counts, or, better, of what they leave to expect of unseen baskets.

    The kernel has learned from the counted baskets: taken as independent evidence it would count them twice,
    and what was partly luck would be claimed again. Given a lift that is Gamma(shape, rate), the number of
    joint baskets is negative binomial.
    """
    by_chance, together = pairs.by_chance, pairs.together.astype(np.float64)
    known = by_chance > 0
    exposure, found = np.zeros(len(known)), np.zeros(len(known))
    if unseen is not None:
        exposure = unseen.by_chance_of(pairs.first, pairs.second)
        found = unseen.together_of(pairs.first, pairs.second).astype(np.float64)
        known &= exposure > 0
    if (together if unseen is None else found)[known].sum() < _ENOUGH_COUNTED:
        return _START if unseen is None else fit_prior(pairs)
    by_chance, together, exposure, found = (v[known] for v in (by_chance, together, exposure, found))
    kernel_lift = pairs.kernel_lift[known]

    def loss(parameters: Vector) -> float:
        seen, further = [], []
        for share, weight, mean in _prior_of(parameters).parts(kernel_lift):
            rate = weight / mean
            seen.append(np.log(share) + _log_chance(together, np.array(weight), rate, by_chance))
            if unseen is not None:
                further.append(seen[-1] + _log_chance(found, together + weight, rate + by_chance, exposure))
        value = np.logaddexp(*seen) if unseen is None else np.logaddexp(*further) - np.logaddexp(*seen)
        return -1000 * float(value.mean())

    solved = optimize.minimize(loss, _parameters_of(_START), method="L-BFGS-B", bounds=_BOUNDS)
    return _prior_of(solved.x)


def _log_chance(count: Vector, shape: Vector, rate: Vector, exposure: Vector) -> Vector:
    """log P(count) up to a constant, if the mean is exposure times a Gamma(shape, rate)."""
    value: Vector = special.gammaln(count + shape) - special.gammaln(shape)
    value += shape * np.log(rate / (rate + exposure)) + count * np.log(exposure / (rate + exposure))
    return value


def _parameters_of(prior: Prior) -> Vector:
    return np.array(
        [
            prior.level,
            prior.slope,
            np.log(prior.weight),
            special.logit(prior.tail_share),
            prior.tail_level,
            np.log(prior.tail_weight),
        ]
    )


def _prior_of(parameters: Vector) -> Prior:
    level, slope, weight, share, tail_level, tail_weight = parameters.tolist()
    return Prior(
        level,
        slope,
        float(np.exp(weight)),
        float(special.expit(share)),
        tail_level,
        float(np.exp(tail_weight)),
    )


def _sample(size: int, seed: int) -> tuple[Indices, Indices]:
    """Different pairs of items, all of them if they are few, by their first row."""
    if size * (size - 1) // 2 <= SAMPLED_PAIRS:
        first, second = np.triu_indices(size, 1)
        return first, second
    drawn = np.random.default_rng(seed).integers(0, size, (2, 2 * SAMPLED_PAIRS))
    keys = np.unique(drawn[0] * size + drawn[1])
    first, second = np.divmod(keys, size)
    different = first < second
    return first[different], second[different]


def _least_count(together: sparse.csr_array) -> int:
    """The smallest count to keep, so that the pairs fit."""
    pairs_with = np.bincount(together.data)  # how many pairs have each count
    with_more = len(together.data) - np.cumsum(pairs_with)  # … and how many have a higher one
    return max(int(np.argmax(2 * with_more <= ENTRIES)) + 1, 1) if 2 * len(together.data) > ENTRIES else 1


def _alike_rows(counted: Pairs, lift: Vector, size: int) -> sparse.csr_array:
    """What each item is bought with: the positive log-lifts of its partners, as rows of length 1."""
    strength = np.minimum(np.log(np.maximum(lift, 1.0)), _STRONGEST)
    some = strength > 0
    upper = sparse.coo_array(
        (strength[some], (counted.first[some], counted.second[some])), shape=(size, size)
    ).tocsr()
    rows = sparse.csr_array(upper + upper.T)
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    inverse = np.divide(1.0, lengths, out=np.zeros(size), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(inverse) @ rows)


def _substitutes(counts: Counts, marginal: Marginal, prior: Prior, alike: sparse.csr_array) -> Pairs:
    """Pairs that are rarely together and alike: the more alike they are, the less the counts must prove."""
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
    return _joined(*found)


def _highest(alike: Vector | float) -> Vector | float:
    """Below which the upper end of the lift of substitutes must be, by the cosine of what they go with."""
    return 0.5 + 0.5 * alike


def _by_chance_together(rates: Matrix) -> Iterator[tuple[Indices, Indices]]:
    """All pairs that chance would bring together often enough, some rows at a time."""
    most = rates @ rates.max(axis=0, initial=0.0)
    common = np.flatnonzero(most >= LEAST_BY_CHANCE)
    chosen = rates[common]
    for start in range(0, len(common), _ROWS_AT_ONCE):
        by_chance = chosen[start : start + _ROWS_AT_ONCE] @ chosen[start:].T
        first, second = np.nonzero(by_chance >= LEAST_BY_CHANCE)
        above = first < second
        if above.any():
            yield common[start + first[above]], common[start + second[above]]
