"""Fit the prior of the lifts: the distribution of a pair's lift before its joint baskets are counted."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from ndpp.kernel import Indices, Vector
from ndpp.lifts import Prior
from ndpp.marginal_kernel import MarginalKernel
from training.statistics.pair_counts import PairCounts, Pairs, at_random, joined

SAMPLED_PAIRS = 100_000  # enough for the six parameters of the prior
_ENOUGH_COUNTED = 100  # fewest joint validation baskets to fit to
_START = Prior(level=-0.1, slope=1.0, weight=4.0, tail_share=0.03, tail_level=np.log(8.0), tail_weight=0.7)
# Bounds of α, β, log s, logit π, δ, log t. A prior worth over 20 joint baskets would outweigh the counts.
_BOUNDS = [
    (-5.0, 5.0),
    (0.0, 5.0),
    (np.log(0.05), np.log(20.0)),
    (-9.0, 0.0),
    (np.log(2.0), np.log(200.0)),
    (np.log(0.1), np.log(5.0)),
]


def learn_prior(counts: PairCounts, validation: PairCounts, marginal: MarginalKernel, seed: int) -> Prior:
    """The prior with which the counts predict the validation baskets best.

    If the validation baskets hold too few pairs, the prior that maximises the likelihood of the counts.
    """
    sampled = counts.pairs(*_sample(marginal.kernel.size, seed), marginal)
    if int(validation.together.sum()) < _ENOUGH_COUNTED:
        return fit_prior(sampled)
    half = SAMPLED_PAIRS // 2
    first, second = counts.met()
    chosen = at_random(np.arange(len(first)), half, seed)  # before the kernel lifts, which take most time
    met = counts.pairs(first[chosen], second[chosen], marginal)
    return fit_prior(joined(met, sampled.some(sampled.together == 0, half, seed)), validation)


def fit_prior(pairs: Pairs, unseen: PairCounts | None = None) -> Prior:
    """Maximum likelihood of the pairs' counts, or, with `unseen`, of the unseen counts given these.

    The kernel has learned from the counted baskets. As independent evidence it would count them twice and
    repeat their chance fluctuations, so the prior is fitted to predict unseen baskets. With a
    Gamma(shape, rate) lift the number of joint baskets is negative binomial.
    """
    by_chance, together = pairs.by_chance, pairs.together.astype(np.float64)
    known = by_chance > 0
    exposure, found = np.zeros(len(known)), np.zeros(len(known))
    if unseen is not None:
        exposure = unseen.by_chance_of(pairs.first, pairs.second)
        found = unseen.together_of(pairs.first, pairs.second).astype(np.float64)
        known &= exposure > 0
    if not known.any():
        return _START
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
    """log P(count) up to a constant, for a Poisson mean of exposure times a Gamma(shape, rate)."""
    value: Vector = special.gammaln(count + shape) - special.gammaln(shape)
    value += shape * np.log(rate / (rate + exposure)) + count * np.log(exposure / (rate + exposure))
    return value


def _parameters_of(prior: Prior) -> Vector:
    level, slope, weight, share, tail_level, tail_weight = prior
    return np.array([level, slope, np.log(weight), special.logit(share), tail_level, np.log(tail_weight)])


def _prior_of(parameters: Vector) -> Prior:
    level, slope, weight, share, tail_level, tail_weight = parameters.tolist()
    weight, tail_weight = float(np.exp(weight)), float(np.exp(tail_weight))
    return Prior(level, slope, weight, float(special.expit(share)), tail_level, tail_weight)


def _sample(size: int, seed: int) -> tuple[Indices, Indices]:
    """A random sample of pairs of items, or all pairs if they are few, sorted by first row."""
    if size * (size - 1) // 2 <= SAMPLED_PAIRS:
        first, second = np.triu_indices(size, 1)
        return first, second
    drawn = np.random.default_rng(seed).integers(0, size, (2, 2 * SAMPLED_PAIRS))
    keys = np.unique(drawn[0] * size + drawn[1])
    first, second = np.divmod(keys, size)
    different = first < second
    return first[different], second[different]
