"""Fit the weights of new arrivals: what an item's features say about who will buy it, and how often.

A tenth of the items at a time is hidden, as if they had just arrived, and each is made of similar items among
the others. The likelihood of what was really bought has two parts, for each hidden item:

- How often: its number of training baskets is Poisson, with the expected number times a factor that differs
  from item to item by a gamma distribution of mean 1.
- By whom: given that it was bought, P(i | cart) of the carts that it was added to in validation baskets,
  relative to its mean over all carts. Carts of the same item are not independent: n of them count as √n.

The model is not fitted again without the hidden items: they are left out of carts, and the probabilities of
the other items are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray

from model_store import Items
from ndpp import NextItem
from ndpp.arrivals import NEIGHBOURS, ArrivalWeights, Similarity
from ndpp.item_features import ItemFeatures
from training.baskets import Baskets
from training.evaluation.queries import random_prefixes

_FOLDS = 10
_MOST_HIDDEN = 300  # items in each fold
_MOST_CARTS = 3_000  # in all folds
_MOST_NUMBERS = 40_000_000  # probabilities for all carts: 160 MB in float32
_USUAL_CARTS = 500  # for the mean of P(i | cart)
_LEAST_CARTS, _LEAST_ITEMS = 50, 2 * _FOLDS  # with fewer, the default weights are used
_ROUNDS = 3
_ITERATIONS = 40
_SIMILARITIES = 6  # their weights stay above 0
# Variances of the prior: of the weights (before `softplus`), and of the logarithms of rate and shape.
_VARIANCES = (*[4.0] * _SIMILARITIES, 1.0, 1.0)
_LEAST = 1e-30  # probability or expected count, for logarithms

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class ArrivalsFit:
    """The weights, and the mean negative log-likelihood of a hidden item with these and with the defaults."""

    weights: ArrivalWeights
    items: int
    carts: int
    fitted: float
    with_defaults: float

    def as_dict(self) -> dict[str, float]:
        """For the manifest."""
        return {
            "items": self.items,
            "carts": self.carts,
            "negative_log_likelihood": round(self.fitted, 4),
            "with_default_weights": round(self.with_defaults, 4),
        }


def features_of(items: Items) -> ItemFeatures:
    """What a model's item table says about its items."""
    return ItemFeatures.of(items.names, items.categories, items.prices)


def fit_arrivals(
    model: NextItem, features: ItemFeatures, train: Baskets, validation: Baskets, seed: int = 0
) -> ArrivalsFit | None:
    """Fit by maximum likelihood; None without features or with too few items or purchases to learn from.

    The model has learned from `train` and not from `validation`.
    """
    known = np.isfinite(features.prices).any() or any(features.names) or any(features.categories)
    if not known or len(features) < _LEAST_ITEMS:
        return None
    rng = np.random.default_rng(seed)
    folds = _folds(model, validation, rng)
    if sum(len(fold.targets) for fold in folds) < _LEAST_CARTS:
        return None
    counts, usual = train.counts.astype(np.float64), _usual(model, validation, rng)
    similarity = Similarity.of(features, np.exp(model.log_usual), ArrivalWeights())

    def likelihood(weights: ArrivalWeights) -> _Likelihood:
        return _Likelihood(folds, replace(similarity, weights=weights), features, counts, usual)

    # Other weights find other neighbours, so neighbours and weights are found in turns.
    tried = [(likelihood(ArrivalWeights()), ArrivalWeights())]
    for _ in range(_ROUNDS):
        weights = tried[-1][0].fitted(tried[-1][1])
        tried.append((likelihood(weights), weights))
    best, weights = min(tried, key=lambda pair: pair[0].penalised_loss(pair[1]))
    items, carts = best.items, sum(len(fold.targets) for fold in folds)
    return ArrivalsFit(weights, items, carts, best.loss(weights), tried[0][0].loss(tried[0][1]))


@dataclass(frozen=True, eq=False)
class _Fold:
    """Hidden items, and carts that they were added to."""

    hidden: Rows
    targets: Rows  # (q,): places in `hidden`
    probabilities: NDArray[np.float32]  # (q, M): of the next item if it is not hidden; 0 for hidden items


def _folds(model: NextItem, validation: Baskets, rng: np.random.Generator) -> list[_Fold]:
    size = model.kernel.size
    each = min(_MOST_HIDDEN, -(-size // _FOLDS))
    order = rng.permutation(size)
    parts = [np.sort(order[start : start + each]) for start in range(0, min(size, _FOLDS * each), each)]
    most = min(_MOST_CARTS, _MOST_NUMBERS // size) // len(parts)
    return [_fold(model, validation, hidden, most, rng) for hidden in parts]


def _fold(model: NextItem, validation: Baskets, hidden: Rows, most: int, rng: np.random.Generator) -> _Fold:
    """At most `most` carts, each a random part of a validation basket with a hidden item."""
    place = np.full(model.kernel.size, -1, dtype=np.int64)
    place[hidden] = np.arange(len(hidden))
    drawn = _balanced(place[validation.items], most, rng)
    owners = np.repeat(np.arange(len(validation)), validation.sizes)[drawn]
    carts = []
    for number, target in zip(owners.tolist(), validation.items[drawn].tolist(), strict=True):
        basket = validation[number]
        others = rng.permutation(basket[basket != target])[: int(rng.integers(len(basket)))]
        carts.append(others[place[others] < 0])
    probabilities = np.empty((len(carts), model.kernel.size), dtype=np.float32)
    for row, prediction in zip(probabilities, model.given_each(carts), strict=True):
        left = prediction.probabilities.copy()
        left[hidden] = 0
        row[:] = left / max(float(left.sum()), _LEAST)
    return _Fold(hidden, place[validation.items[drawn]], probabilities)


def _balanced(places: Rows, most: int, rng: np.random.Generator) -> Rows:
    """Positions of purchases of hidden items: one of each item, then a second one, until there are `most`."""
    bought = rng.permutation(np.flatnonzero(places >= 0))
    order = np.argsort(places[bought], kind="stable")
    starts = np.searchsorted(places[bought][order], places[bought][order])
    turns = np.arange(len(bought)) - starts
    return np.sort(bought[order][np.argsort(turns, kind="stable")][:most])


def _usual(model: NextItem, validation: Baskets, rng: np.random.Generator) -> Array:
    """The mean of P(i | cart) over carts that are random parts of validation baskets, (M,)."""
    queries, _ = random_prefixes(validation, 1, rng)
    total, carts = np.zeros(model.kernel.size), queries.carts[:_USUAL_CARTS]
    for prediction in model.given_each(carts):
        total += prediction.probabilities
    return total / len(carts)


class _Likelihood:
    """The negative log-likelihood of the hidden items, as a function of the parameters (8,)."""

    def __init__(
        self,
        folds: Sequence[_Fold],
        similarity: Similarity,
        features: ItemFeatures,
        counts: Array,
        usual: Array,
    ) -> None:
        self._folds, self._counts, self._usual = folds, counts, usual
        self.items = sum(len(fold.hidden) for fold in folds)
        self._rows: list[Rows] = []  # (h, n) of each fold
        self._tables: list[torch.Tensor] = []  # (h, n, 6)
        self._beyond: list[torch.Tensor] = []  # (h, n): −∞ beyond the last neighbour, else 0
        for fold in folds:
            allowed = np.ones(len(similarity.usual), dtype=np.bool_)
            allowed[fold.hidden] = False
            new = features.select(fold.hidden)
            rows = np.zeros((len(new), NEIGHBOURS), dtype=np.int64)
            tables, beyond = np.zeros((len(new), NEIGHBOURS, _SIMILARITIES)), np.full(rows.shape, -np.inf)
            for place in range(len(new)):
                table = similarity.alike.table(new, place)
                found = similarity.neighbours(table, NEIGHBOURS, allowed)
                count = len(found)
                rows[place, :count], tables[place, :count], beyond[place, :count] = (
                    found,
                    table[:, found].T,
                    0,
                )
            self._rows.append(rows)
            self._tables.append(torch.from_numpy(tables))
            self._beyond.append(torch.from_numpy(beyond))

    def __call__(self, theta: torch.Tensor) -> torch.Tensor:
        """The sum over the hidden items."""
        total = torch.zeros((), dtype=torch.float64)
        for fold, rows, tables, beyond in zip(
            self._folds, self._rows, self._tables, self._beyond, strict=True
        ):
            shares = torch.softmax(tables @ theta[:-2] + beyond, dim=1)  # (h, n)
            expected = torch.exp(theta[-2]) * (shares * torch.from_numpy(self._counts[rows])).sum(dim=1)
            total = total + _count_loss(
                torch.from_numpy(self._counts[fold.hidden]), expected.clamp(min=_LEAST), torch.exp(theta[-1])
            )
            own, near = shares[fold.targets], rows[fold.targets]  # (q, n)
            known = np.take_along_axis(fold.probabilities, near, axis=1).astype(np.float64)
            given = (own * torch.from_numpy(known)).sum(dim=1).clamp(min=_LEAST)
            always = (own * torch.from_numpy(self._usual[near])).sum(dim=1).clamp(min=_LEAST)
            weights = 1 / np.sqrt(np.bincount(fold.targets, minlength=1)[fold.targets])
            total = total - (torch.from_numpy(weights) * torch.log(given / always)).sum()
        return total

    def loss(self, weights: ArrivalWeights) -> float:
        """The mean over the hidden items, without the prior."""
        with torch.no_grad():
            return float(self(_bound(_free(weights)))) / self.items

    def penalised_loss(self, weights: ArrivalWeights) -> float:
        """The sum over the hidden items, with the prior."""
        with torch.no_grad():
            return float(self._penalised(_free(weights)))

    def _penalised(self, free: torch.Tensor) -> torch.Tensor:
        away = (free - _free(ArrivalWeights())) ** 2
        return self(_bound(free)) + 0.5 * (away / torch.tensor(_VARIANCES, dtype=torch.float64)).sum()

    def fitted(self, start: ArrivalWeights) -> ArrivalWeights:
        """The weights of the highest likelihood under the prior, for these neighbours."""
        begin = _free(start)
        free = begin.clone().requires_grad_()
        optimiser = torch.optim.LBFGS(
            [free], max_iter=_ITERATIONS, tolerance_change=1e-4, line_search_fn="strong_wolfe"
        )

        def loss() -> torch.Tensor:
            optimiser.zero_grad()
            value = self._penalised(free)
            value.backward()  # type: ignore[no-untyped-call]
            return value

        optimiser.step(loss)  # type: ignore[no-untyped-call]
        found = _bound(free.detach() if bool(torch.isfinite(free).all()) else begin)
        values = [*found[:-2].tolist(), *torch.exp(found[-2:]).tolist()]
        return ArrivalWeights(**dict(zip((part.name for part in fields(start)), values, strict=True)))


def _count_loss(counts: torch.Tensor, expected: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    """−log of the negative binomial probabilities of the counts."""
    logs = torch.lgamma(shape + counts) - torch.lgamma(shape)
    logs = logs + shape * torch.log(shape / (shape + expected))
    return -(logs + counts * torch.log(expected / (shape + expected)) - torch.lgamma(counts + 1)).sum()


def _free(weights: ArrivalWeights) -> torch.Tensor:
    """Parameters without bounds: of similarities, `softplus` of which are the weights, and others, (8,)."""
    similarities = torch.tensor(weights.of_similarities).clamp(min=1e-6)
    others = [np.log(weights.rate), np.log(weights.shape)]
    return torch.cat([similarities + torch.log(-torch.expm1(-similarities)), torch.tensor(others).double()])


def _bound(free: torch.Tensor) -> torch.Tensor:
    """The weights of similarities, and the logarithms of rate and shape, (8,)."""
    return torch.cat([torch.nn.functional.softplus(free[:_SIMILARITIES]), free[_SIMILARITIES:]])
