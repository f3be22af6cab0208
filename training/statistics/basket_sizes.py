"""Fit the model of basket sizes to random prefixes of baskets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln

from ndpp.basket_sizes import BasketSizes, features
from training.baskets import Baskets

_SHRINKAGE = 5.0  # baskets of the mean size that are added to those of each item
_ROWS = 100_000  # carts to fit to: with fewer baskets, several prefixes are drawn from each
_DRAWS = 8  # at most this many
_RIDGE = 1.0  # L2 penalty on each coefficient, next to the sum of log-likelihoods over the baskets
_RIDGE_CONSTANT = 1e-3  # L2 penalty on the constant

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """One prefix of each basket, with the basket's items in random order."""

    items: NDArray[np.int32]  # the items of all carts
    offsets: NDArray[np.int64]  # (n + 1,): cart b is `items[offsets[b]:offsets[b + 1]]`
    further: NDArray[np.int64]  # (n,): number of items after the prefix
    places: NDArray[np.int64]  # positions of `items` in the baskets' flat array

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items in each cart."""
        return np.diff(self.offsets)


def random_prefixes(baskets: Baskets, rng: np.random.Generator) -> Prefixes:
    """One prefix of each basket; all lengths from 1 to the basket's size are equally likely."""
    sizes = baskets.sizes
    owners = np.repeat(np.arange(len(sizes)), sizes)
    places = np.lexsort((rng.random(len(owners)), owners))  # each basket shuffled
    lengths = rng.integers(sizes, size=len(sizes)) + 1
    within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = places[within < lengths[owners]]
    return Prefixes(
        items=baskets.items[places],
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        further=sizes - lengths,
        places=places,
    )


def learn_basket_sizes(baskets: Baskets, seed: int = 0) -> BasketSizes:
    """Fit both regressions by penalised maximum likelihood.

    The item means that describe a cart leave out the cart's own basket, because the basket of a new cart is
    not in the means either.
    """
    rng = np.random.default_rng(seed)
    log_sizes = _log_sizes(baskets)
    counts = baskets.counts
    totals = np.bincount(baskets.items, log_sizes, minlength=len(counts))
    usual = float(log_sizes.mean())

    asked = baskets if len(baskets) <= _ROWS else baskets.select(rng.permutation(len(baskets))[:_ROWS])
    others = counts[asked.items] - 1
    left_out = (totals[asked.items] - _log_sizes(asked) + _SHRINKAGE * usual) / (others + _SHRINKAGE)
    draws = int(np.clip(_ROWS // len(asked), 1, _DRAWS))
    carts = [random_prefixes(asked, rng) for _ in range(draws)]
    excess = [np.add.reduceat(left_out[c.places], c.offsets[:-1]) / c.sizes - usual for c in carts]
    x = features(np.concatenate([c.sizes for c in carts]), np.concatenate(excess))
    further = np.concatenate([c.further for c in carts]).astype(np.float64)
    complete, more = further == 0, further > 0
    count, growing = further[more], x[more]

    def completion(weights: Vector) -> tuple[float, Vector]:
        logits = x @ weights
        loss = np.logaddexp(0, logits).sum() - logits[complete].sum()
        return float(loss), x.T @ (expit(logits) - complete)

    def growth(weights: Vector) -> tuple[float, Vector]:
        mass, by_mean, by_dispersion = truncated_log_mass(
            count, np.exp(growing @ weights[:-1]), float(np.exp(weights[-1]))
        )
        return -float(mass.sum()), -np.append(growing.T @ by_mean, by_dispersion.sum())

    grown = _fit(growth, x.shape[1] + 1, draws)
    return BasketSizes(
        item_log_sizes=((totals + _SHRINKAGE * usual) / (counts + _SHRINKAGE)).astype(np.float32),
        usual_log_size=usual,
        complete=_fit(completion, x.shape[1], draws),
        further=grown[:-1],
        dispersion=float(np.exp(grown[-1])),
        counts=np.bincount(baskets.sizes),
    )


def _log_sizes(baskets: Baskets) -> Vector:
    """The log size of the basket that each entry of `items` belongs to."""
    return np.repeat(np.log(baskets.sizes), baskets.sizes)


def truncated_log_mass(count: Vector, mean: Vector, dispersion: float) -> tuple[Vector, Vector, Vector]:
    """log P(count | count > 0) of a negative binomial, and its derivatives by log mean and log dispersion."""
    r, share = dispersion, mean / (mean + dispersion)
    no_items = r * np.log1p(mean / r)  # −log P(0)
    ways = gammaln(count + r) - gammaln(r) - gammaln(count + 1)
    log_mass = ways - no_items - count * np.log1p(r / mean) - np.log(-np.expm1(-no_items))
    scale = 1 / -np.expm1(-no_items)  # 1 / P(count > 0)
    by_mean = count * (1 - share) - scale * r * share
    by_dispersion = (
        r * (digamma(count + r) - digamma(r)) - scale * (no_items - r * share) - count * (1 - share)
    )
    return log_mass, by_mean, by_dispersion


def _fit(loss: Callable[[Vector], tuple[float, Vector]], size: int, draws: int) -> Vector:
    """The coefficients that minimise the loss per draw plus the penalty; the first is the constant."""
    ridge = np.full(size, _RIDGE)
    ridge[0] = _RIDGE_CONSTANT

    def value_and_gradient(weights: Vector) -> tuple[float, Vector]:
        value, gradient = loss(weights)
        return value / draws + float(ridge @ weights**2) / 2, gradient / draws + ridge * weights

    found: Vector = minimize(value_and_gradient, np.zeros(size), jac=True, method="L-BFGS-B").x
    return found
