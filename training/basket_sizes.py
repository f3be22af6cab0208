"""Fit the model of basket sizes on random prefixes of baskets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from ndpp.basket_sizes import BasketSizes, features
from training.baskets import Baskets

_SHRINKAGE = 5.0  # an item's mean log size counts as if it had this many baskets of the usual size more
_ROWS = 100_000  # carts to fit on: fewer baskets give several carts each
_DRAWS = 8  # but at most this many
_RIDGE = 1.0  # the penalty on each coefficient, beside the sum of log-likelihoods over the baskets
_RIDGE_CONSTANT = 1e-3  # the same for the constant

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Carts on their way: one of each basket, with the basket's items in random order."""

    items: NDArray[np.int32]  # the items of all carts
    offsets: NDArray[np.int64]  # (n + 1,): cart b is `items[offsets[b]:offsets[b + 1]]`
    further: NDArray[np.int64]  # (n,): how many items came after it
    places: NDArray[np.int64]  # of `items` in the baskets' flat array

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

    While fitting, the basket that a cart comes from has no part in the means of its items: a new cart's
    basket has none either.
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
    x = torch.from_numpy(features(np.concatenate([c.sizes for c in carts]), np.concatenate(excess)))
    further = torch.from_numpy(np.concatenate([c.further for c in carts])).double()
    complete, more = (further == 0).double(), further > 0
    count, growing = further[more], x[more]

    def completion(weights: Tensor) -> Tensor:
        return torch.nn.functional.binary_cross_entropy_with_logits(x @ weights, complete, reduction="sum")

    def growth(weights: Tensor) -> Tensor:
        return -truncated_log_mass(count, torch.exp(growing @ weights[:-1]), torch.exp(weights[-1])).sum()

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


def truncated_log_mass(count: Tensor, mean: Tensor, dispersion: Tensor) -> Tensor:
    """log P(count | count > 0) of a negative binomial with this mean and dispersion."""
    spread = torch.log1p(mean / dispersion)
    ways = torch.lgamma(count + dispersion) - torch.lgamma(dispersion) - torch.lgamma(count + 1)
    log_mass = ways - dispersion * spread - count * torch.log1p(dispersion / mean)
    return log_mass - torch.log(-torch.expm1(-dispersion * spread))


def _fit(loss: Callable[[Tensor], Tensor], size: int, draws: int) -> Vector:
    """The coefficients with the smallest loss per draw plus penalty; the first is the constant."""
    ridge = torch.full((size,), _RIDGE, dtype=torch.float64)
    ridge[0] = _RIDGE_CONSTANT

    def value_and_gradient(values: Vector) -> tuple[float, Vector]:
        weights = torch.tensor(values, requires_grad=True)
        value = loss(weights) / draws + (ridge * weights**2).sum() / 2
        (gradient,) = torch.autograd.grad(value, weights)
        return float(value.detach()), gradient.numpy()

    found: Vector = minimize(value_and_gradient, np.zeros(size), jac=True, method="L-BFGS-B").x
    return found
