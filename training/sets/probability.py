"""Fit the coefficients of P(S | Y) by maximum likelihood of sets in validation baskets.

A query is a cart drawn from a validation basket. For each candidate, and for sets S of two and three
candidates, the event is that the basket holds all of S. Of the sets the most promising are used, and a sample
of the others. They are chosen by the features of P alone, so P given the features is not biased.
"""

from __future__ import annotations

import numpy as np
import torch

from ndpp.sets.coefficients import Coefficients, SetModel
from ndpp.sets.prediction import RAREST
from ndpp.sets.probability import SetPredictor
from training.baskets import Baskets
from training.sets.correction import correct_best_sets
from training.sets.features import CountedQuery, ItemFeatures, SetFeatures, joined
from training.sets.queries import Query, draw_carts, draw_items, draw_purchases, predicted

_CART_SIZES = (1, 2, 3, 5, 8)
_SET_SIZES = (2, 3)
_QUERIES = 200  # of each cart size
_CORRECTED = 300  # of each cart size, for the correction of the best set
_SINGLE_QUERIES = 400  # of each kind
# Subtracted from log s of sets for carts of several items. The likelihood of all sets asks for more trust in
# the model than finding the one best set does: there the counts of a few very similar baskets decide earlier.
_COUNTS_FIRST = 1.0
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
    best_constant=0.0,
    best_by_size=0.0,
    best_slope=1.0,
    best_noise=0.0,
)


def learn_set_model(predictor: SetPredictor, validation: Baskets, *, seed: int = 0) -> SetModel:
    """Fit the coefficients; `predictor` must not have learned from the validation baskets."""
    rng = np.random.default_rng(seed)
    # Half of the single items are drawn from the catalogue: rare items need most help from the model.
    single = [
        *draw_purchases(validation, _SINGLE_QUERIES, rng),
        *draw_items(validation, _SINGLE_QUERIES, rng),
    ]
    carts = [query for size in _CART_SIZES for query in draw_carts(validation, size, _QUERIES, rng)]
    more = [query for size in _CART_SIZES for query in draw_carts(validation, size, _CORRECTED, rng)]
    return SetModel.of(
        _learn(predictor, single, single[::2], rng, counts_first=0.0),
        _learn(predictor, carts, more, rng, counts_first=_COUNTS_FIRST),
    )


def _learn(
    predictor: SetPredictor,
    queries: list[Query],
    corrected: list[Query],
    rng: np.random.Generator,
    *,
    counts_first: float,
) -> Coefficients:
    """Fit the coefficients to `queries`, and the correction of the best set to the queries `corrected`."""
    items: list[ItemFeatures] = []
    sets: dict[int, list[SetFeatures]] = {size: [] for size in _SET_SIZES}
    first = 0
    for query, prediction in predicted(predictor, queries, _MOST_BASKETS):
        counted = CountedQuery(prediction, query)
        items.append(counted.items())
        for size, found in sets.items():
            found.append(counted.sets(size, first, rng))
        first += len(counted.inside)
    if not first:  # no cart has a candidate
        return START
    fitted = _fit(joined(items), [joined(found) for found in sets.values()], len(items))
    fitted = fitted._replace(set_strength=fitted.set_strength - counts_first)
    return correct_best_sets(predictor, fitted, corrected, _SET_SIZES, _MOST_BASKETS)


def _fit(items: ItemFeatures, sets: list[SetFeatures], queries: int) -> Coefficients:
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


def _tensors(features: ItemFeatures | SetFeatures) -> dict[str, torch.Tensor]:
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
    return _with_counts(model, "set", sets, logs.clamp(-500, float(np.log(0.99))).exp())


def _with_counts(
    model: dict[str, torch.Tensor], kind: str, sets: dict[str, torch.Tensor], expected: torch.Tensor
) -> torch.Tensor:
    """(c + s · P_model) / (n + s)."""
    log_strength = model[f"{kind}_strength"] + model[f"{kind}_strength_by_size"] * sets["log_size"]
    power = model[f"{kind}_strength_power"].clamp(0.0, 1.0)
    strength = torch.exp(log_strength - power * torch.log(expected.clamp(min=RAREST)))
    by_size = model["missing_by_size"] * sets["log_size"]
    one, two = (model["one_missing"] + by_size).exp(), (model["two_missing"] + by_size).exp()
    levels = torch.stack([torch.ones_like(one), one, two], dim=1)  # (n, 3)
    counts, totals = (sets["counts"] * levels).sum(dim=1), (sets["totals"] * levels).sum(dim=1)
    return (counts + strength * expected) / (totals + strength)
