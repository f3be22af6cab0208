"""Fit the coefficients of P(S | Y) by maximum likelihood of sets in validation baskets.

A query is a cart drawn from a validation basket. For each candidate, and for sets S of two and three
candidates, the event is that the basket holds all of S. Of the sets the most promising are used, and a sample
of the others. They are chosen by the features of P alone, so P given the features is not biased.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ndpp.kernel import Indices, Vector
from ndpp.sets.coefficients import Coefficients, SetModel
from ndpp.sets.constraints import Constraints
from ndpp.sets.prediction import SetPrediction
from ndpp.sets.probability import MOST_MISSING, SetPredictor
from ndpp.sets.search import best_set
from training.baskets import Baskets
from training.sets.queries import Query, draw_items, draw_queries

_CART_SIZES = (2, 3, 5, 8)
_SET_SIZES = (2, 3)
_QUERIES = 250  # of each cart size
_SINGLE_QUERIES = 600  # of each kind
_PROMISING, _SAMPLED = 40, 20  # sets of each size per query
# Subtracted from log s of sets for carts of several items. The likelihood of all sets asks for more trust in
# the model than finding the one best set does: there the counts of a few very similar baskets decide earlier.
_COUNTS_FIRST = 1.0
_CORRECTED = 600  # queries for which the best sets are searched
_NOISE = (-4.0, 0.0)  # bounds of `best_noise`
_ITERATIONS = 120
_PRIOR_VARIANCE = 0.5  # of each coefficient around its start value; matters with few validation baskets
_PER_QUERY = 10.0  # independent observations that the sets of one query are worth: they share a basket

_MOST_BASKETS = 4_000  # counted for one cart; serving counts more, which takes longer

# Close to what was found on baskets of four shops.
START = Coefficients(
    item_constant=0.0,
    item_further=0.8,
    item_size=0.0,
    item_next=0.7,
    item_common=0.0,
    item_strength=2.5,
    item_strength_by_size=0.0,
    item_strength_power=0.4,
    set_items=1.0,
    set_constant=0.0,
    set_size=0.0,
    set_spread=0.5,
    set_lift=0.5,
    set_lift_by_size=0.0,
    set_strength=2.0,
    set_strength_by_size=0.0,
    set_strength_power=0.5,
    one_missing=-2.5,
    two_missing=-4.5,
    missing_by_size=0.0,
    best_noise=0.0,
)


@dataclass(frozen=True)
class _Sets:
    """n sets of one size, and the features of their queries."""

    places: Indices  # (n, m): the items' rows in the features of single items
    log_size: Vector  # (n,): log |Y|
    log_spread: Vector
    mean_lift: Vector  # mean log lift of the pairs
    counts: NDArray[np.float64]  # (n, 3): baskets that hold S, by missing items of the cart
    totals: NDArray[np.float64]  # (n, 3): all baskets
    held: Vector  # 1 if the basket holds S


@dataclass(frozen=True)
class _Items:
    """All candidates of all queries."""

    log_size: Vector
    log_further: Vector
    log_next: Vector
    log_common: Vector
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    held: Vector


def learn_set_model(predictor: SetPredictor, validation: Baskets, *, seed: int = 0) -> SetModel:
    """Fit the coefficients; `predictor` must not have learned from the validation baskets."""
    rng = np.random.default_rng(seed)
    # Half of the single items are drawn from the catalogue: rare items need most help from the model.
    single = [
        *draw_queries(validation, 1, _SINGLE_QUERIES, rng),
        *draw_items(validation, _SINGLE_QUERIES, rng),
    ]
    carts = [query for size in _CART_SIZES for query in draw_queries(validation, size, _QUERIES, rng)]
    return SetModel.of(
        _learn(predictor, single, rng, counts_first=0.0),
        _learn(predictor, carts, rng, counts_first=_COUNTS_FIRST),
    )


def _learn(
    predictor: SetPredictor, queries: list[Query], rng: np.random.Generator, *, counts_first: float
) -> Coefficients:
    items: list[_Items] = []
    sets: dict[int, list[_Sets]] = {size: [] for size in _SET_SIZES}
    first = 0
    for query in queries:
        counted = _Counted(predictor.given(query.cart, most=_MOST_BASKETS), query)
        items.append(counted.items())
        for size, found in sets.items():
            found.append(counted.sets(size, first, rng))
        first += len(counted.inside)
    if not first:  # no cart has a candidate
        return START
    fitted = _fit(_joined(items), [_joined(found) for found in sets.values()], len(items))
    fitted = fitted._replace(set_strength=fitted.set_strength - counts_first)
    return _corrected(replace(predictor, model=SetModel.of(fitted, fitted)), queries, fitted)


def _corrected(predictor: SetPredictor, queries: list[Query], fitted: Coefficients) -> Coefficients:
    """Correct the probability of the best set, which is too high where its count is noisy."""
    logits, noises, held = [], [], []
    everything = Constraints(np.ones(len(predictor.baskets.rarity)))
    for query in queries[:: max(1, len(queries) // _CORRECTED)]:
        prediction = predictor.given(query.cart, most=_MOST_BASKETS)
        inside = np.isin(prediction.candidates, query.basket)
        for size in _SET_SIZES:
            best = np.searchsorted(prediction.candidates, best_set(prediction, size, everything)).tolist()
            if len(best) == size:
                chance, noise = prediction.best_and_noise(best)
                logits.append(np.log(chance / (1 - chance)))
                noises.append(noise)
                held.append(bool(inside[best].all()))
    x, noise_of, y = np.array(logits), np.array(noises), np.array(held, dtype=np.float64)

    def loss(coefficient: float) -> float:
        z = x + coefficient * noise_of
        return float(np.logaddexp(0, z).sum() - z @ y + 0.5 / _PRIOR_VARIANCE * coefficient**2)

    found = minimize_scalar(loss, bounds=_NOISE, method="bounded").x if len(x) else 0.0
    return fitted._replace(best_noise=float(found))


Features = TypeVar("Features", _Items, _Sets)


def _joined(parts: list[Features]) -> Features:
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return type(parts[0])(*(np.concatenate(column) for column in columns))


class _Counted:
    """The candidates of a query, counted in baskets by the number of cart items that they miss."""

    def __init__(self, prediction: SetPrediction, query: Query) -> None:
        self.prediction = prediction
        self.inside = np.isin(prediction.candidates, query.basket)
        levels = prediction.model.levels(len(query.cart))
        self._by_level = np.zeros((len(prediction.missing), MOST_MISSING + 1))
        weights = prediction.weights / levels[prediction.missing]
        self._by_level[np.arange(len(weights)), prediction.missing] = weights
        self._totals = self._by_level.sum(axis=0) + np.array([prediction.alone, 0.0, 0.0])
        self._members = np.ascontiguousarray(prediction.members.T.astype(np.bool_))  # (C, baskets)
        self._pairs = (prediction.members * prediction.weights[:, None]).T @ prediction.members  # (C, C)
        self._log_size = float(np.log(len(query.cart)))

    def items(self) -> _Items:
        """All candidates."""
        prediction, n = self.prediction, len(self.inside)
        return _Items(
            log_size=np.full(n, self._log_size),
            log_further=np.full(n, prediction.log_further),
            log_next=prediction.log_next,
            log_common=prediction.log_common,
            counts=self._members.astype(np.float64) @ self._by_level,
            totals=np.tile(self._totals, (n, 1)),
            held=self.inside.astype(np.float64),
        )

    def sets(self, size: int, first: int, rng: np.random.Generator) -> _Sets:
        """Some sets of `size` candidates, whose features as single items begin at row `first`."""
        prediction, sets = self.prediction, _all_sets(len(self.inside), size)
        pairs = list(combinations(range(size), 2))
        lifts: Vector = np.mean([prediction.log_lifts[sets[:, a], sets[:, b]] for a, b in pairs], axis=0)
        together: Vector = np.sum([self._pairs[sets[:, a], sets[:, b]] for a, b in pairs], axis=0)
        likely = prediction.log_next[sets].sum(axis=1) + (size - 1) * lifts
        sets_chosen = _chosen(likely, together, rng)
        sets, n = sets[sets_chosen], len(sets_chosen)
        return _Sets(
            places=sets + first,
            log_size=np.full(n, self._log_size),
            log_spread=np.full(n, prediction.log_spread),
            mean_lift=lifts[sets_chosen],
            counts=self._members[sets].all(axis=1).astype(np.float64) @ self._by_level,
            totals=np.tile(self._totals, (n, 1)),
            held=np.asarray(self.inside[sets].all(axis=1), dtype=np.float64),
        )


def _chosen(likely: Vector, together: Vector, rng: np.random.Generator) -> Indices:
    """The sets that are most promising by the model and by the counts, and a sample of the others."""
    best = np.union1d(
        np.argsort(-likely, kind="stable")[:_PROMISING], np.argsort(-together, kind="stable")[:_PROMISING]
    )
    others = np.setdiff1d(np.arange(len(likely)), best)
    return np.concatenate([best, rng.choice(others, min(_SAMPLED, len(others)), replace=False)])


@lru_cache(maxsize=256)
def _all_sets(candidates: int, size: int) -> Indices:
    """All sets of `size` of the candidates, (sets, size)."""
    return np.array(list(combinations(range(candidates), size)), dtype=np.intp).reshape(-1, size)


def _fit(items: _Items, sets: list[_Sets], queries: int) -> Coefficients:
    names = START._fields
    start = torch.tensor(START, dtype=torch.float64)
    theta = start.clone().requires_grad_()
    singles, several = _tensors(items), [_tensors(each) for each in sets]
    tempered = _PER_QUERY / (len(items.held) + sum(len(each.held) for each in sets))
    optimiser = torch.optim.LBFGS(
        [theta], max_iter=_ITERATIONS, tolerance_change=1e-8, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        model = dict(zip(names, theta, strict=True))
        alone = _single_probability(model, singles)
        value = -_log_likelihood(alone, singles)
        for each in several:
            value = value - _log_likelihood(_set_probability(model, each, alone), each)
        value = tempered * value + 0.5 / _PRIOR_VARIANCE * ((theta - start) ** 2).sum() / queries
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    values = theta.detach()
    if not bool(torch.isfinite(values).all()):
        return START
    found = Coefficients(*values.tolist())
    return found._replace(
        item_strength_power=min(max(found.item_strength_power, 0.0), 1.0),
        set_strength_power=min(max(found.set_strength_power, 0.0), 1.0),
    )


def _tensors(features: _Items | _Sets) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(value) for name, value in vars(features).items()}


def _log_likelihood(probability: torch.Tensor, sets: dict[str, torch.Tensor]) -> torch.Tensor:
    chance = probability.clamp(1e-9, 1 - 1e-9)
    return (sets["held"] * chance.log() + (1 - sets["held"]) * torch.log1p(-chance)).sum()


def _single_probability(model: dict[str, torch.Tensor], items: dict[str, torch.Tensor]) -> torch.Tensor:
    """P(i | Y) as in `ndpp.sets.probability`, differentiable."""
    logits = (
        model["item_constant"]
        + model["item_further"] * items["log_further"]
        + model["item_size"] * items["log_size"]
        + model["item_next"] * items["log_next"]
        + model["item_common"] * items["log_common"]
    )
    return _with_counts(model, "item", items, torch.sigmoid(logits.clamp(-40, 40)))


def _set_probability(
    model: dict[str, torch.Tensor], sets: dict[str, torch.Tensor], alone: torch.Tensor
) -> torch.Tensor:
    """P(S | Y) of sets of one size, given the probabilities of their items."""
    size = sets["places"].shape[1]
    logs = model["set_items"] * alone.log()[sets["places"]].sum(dim=1) + (size - 1) * (
        model["set_constant"]
        + model["set_size"] * sets["log_size"]
        + model["set_spread"] * sets["log_spread"]
        + (model["set_lift"] + model["set_lift_by_size"] * sets["log_size"]) * sets["mean_lift"]
    )
    return _with_counts(model, "set", sets, logs.clamp(-60, float(np.log(0.99))).exp())


def _with_counts(
    model: dict[str, torch.Tensor], kind: str, sets: dict[str, torch.Tensor], expected: torch.Tensor
) -> torch.Tensor:
    """(c + s · P_model) / (n + s)."""
    log_strength = model[f"{kind}_strength"] + model[f"{kind}_strength_by_size"] * sets["log_size"]
    power = model[f"{kind}_strength_power"].clamp(0.0, 1.0)
    strength = torch.exp(log_strength - power * torch.log(expected))
    by_size = model["missing_by_size"] * sets["log_size"]
    one, two = (model["one_missing"] + by_size).exp(), (model["two_missing"] + by_size).exp()
    levels = torch.stack([torch.ones_like(one), one, two], dim=1)  # (n, 3)
    counts, totals = (sets["counts"] * levels).sum(dim=1), (sets["totals"] * levels).sum(dim=1)
    return (counts + strength * expected) / (totals + strength)
