"""Fit the expert `own`: what a shopper is about to buy, given the cart and what they bought before.

The other experts stay as they are, so that carts without a history get the same probabilities as before. The
queries are random prefixes of validation baskets, each with the shopper's history at the time of the basket.
Empty carts have coefficients of their own: there only the history speaks. As they are few among the prefixes,
each basket is asked about several of its items, with the weight 1/|b| that an empty prefix has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
import torch
from numpy.typing import NDArray

from ndpp import History, NextItem, Prediction
from ndpp.mixture import Line, Own, repeat_logit
from training.baskets import Baskets
from training.evaluation.queries import Queries, random_prefixes
from training.next_item.target_share import target_log_share

_DAYS = (10.0, 30.0, 90.0)  # scales of the recency weights that are tried
_PREFIXES = 4  # per validation basket
_FIRST_ITEMS = 3  # per validation basket, for an empty cart
_MOST_QUERIES = 4_000
_QUERIES_OF_SCALE = 1_000  # that choose among the scales
_LEAST_QUERIES = 50  # with fewer, histories are not used
_LIKELY, _AT_RANDOM = 300, 300  # candidates beside the items of the history
_SMALL = 1_000  # up to this catalogue size all items are candidates
_ITERATIONS = 80
_LEAST = 1e-300  # probability, for logarithms
_PRIOR_VARIANCE = 0.5  # of each coefficient around its start value
_LONGEST_GAP = 0.98  # quantile of the days since the last basket

Array = NDArray[np.float64]

_START: dict[str, Line] = {
    "cart": (0.5, 0.0),
    "popularity": (0.1, 0.0),
    "first": (0.1, 0.0),
    "related": (0.1, 0.0),
    "recent": (0.3, 0.0),
    "often": (0.3, 0.0),
    "votes": (0.1, 0.0),
    "known": (0.0, 0.0),
    "weight": (0.0, 0.0),
    "baskets": (0.3, 0.0),
    "repeats": (0.3, 0.0),
}
_SCORED = 8  # the first coefficients are exponents of features of candidates
_RECENT = list(_START).index("recent")


@dataclass(frozen=True)
class OwnFit:
    """The coefficients, and the mean negative log-likelihood with and without histories."""

    own: Own
    own_first: Own
    queries: int
    with_history: float
    without_history: float

    def as_dict(self) -> dict[str, float]:
        """For the manifest."""
        return {
            "queries": self.queries,
            "negative_log_likelihood": round(self.with_history, 4),
            "without_history": round(self.without_history, 4),
        }


def fit_own(
    model: NextItem, validation: Baskets, histories: Sequence[History | None], gap_days: float, seed: int = 0
) -> OwnFit | None:
    """Fit by maximum likelihood; None if too few validation baskets have a history."""
    known = np.flatnonzero([history is not None for history in histories])
    past, asked = [history for history in histories if history is not None], validation.select(known)
    rng = np.random.default_rng(seed)
    queries, owners = random_prefixes(asked, _PREFIXES, rng)
    if len(queries) < _LEAST_QUERIES or model.baskets is None:
        return None
    queries, owners = queries.first(_MOST_QUERIES), owners[:_MOST_QUERIES]
    longest_gap = float(np.quantile([history.ages.min() for history in past], _LONGEST_GAP))
    first, first_owners = _first_items(asked, rng)
    known_past = [past[number] for number in owners]
    likelihood = _Likelihood(
        model.given_each(queries.carts),
        queries,
        known_past,
        (queries.cart_sizes > 0).astype(np.float64),
        seed,
    )
    without_history = -float(likelihood.cart.mean())
    own = likelihood.fitted(gap_days, longest_gap)
    del likelihood  # before the second one needs as much memory
    nothing = model.given([])
    first_own = _Likelihood(
        repeat(nothing, len(first)),
        first,
        [past[number] for number in first_owners],
        1 / asked.sizes[first_owners],
        seed,
    ).fitted(gap_days, longest_gap)
    changed = replace(model, mixture=replace(model.mixture, own=own, own_first=first_own))
    return OwnFit(own, first_own, len(queries), _loss(changed, queries, known_past), without_history)


def _first_items(asked: Baskets, rng: np.random.Generator) -> tuple[Queries, NDArray[np.int64]]:
    """Empty carts with a random item of their basket as the target, and the index of each query's basket."""
    drawn = [(n, row) for n, basket in enumerate(asked) for row in rng.permutation(basket)[:_FIRST_ITEMS]]
    owners, targets = rng.permutation(np.array(drawn, dtype=np.int64))[:_MOST_QUERIES].T
    empty = [np.empty(0, dtype=np.int32)] * len(owners)
    return Queries(empty, targets, np.zeros(len(owners), dtype=np.int64)), owners


def _loss(model: NextItem, queries: Queries, histories: Sequence[History]) -> float:
    predictions = model.given_each(queries.carts, histories)
    found = [p.probabilities[target] for p, target in zip(predictions, queries.targets, strict=True)]
    return float(-np.log(np.maximum(found, _LEAST)).mean())


@dataclass(frozen=True)
class _Candidates:
    """Rows whose scores make up the normaliser, the target last, with their features."""

    log_count: Array  # (C,): log of the number of rows each stands for; −∞ for the target
    features: Array  # (C, _SCORED): in the order of _START; `recent` is set for one scale at a time
    recent: Array  # (C, len(_DAYS))


class _Likelihood:
    """−log P(target) averaged over the queries, as a function of the coefficients (11, 2)."""

    def __init__(
        self,
        predictions: Iterable[Prediction],
        queries: Queries,
        histories: Sequence[History],
        weights: Array,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        found, cart, sizes = [], [], []
        for prediction, history, target in zip(predictions, histories, queries.targets, strict=True):
            found.append(_candidates(prediction, history, int(target), rng))
            cart.append(np.log(max(prediction.probabilities[target], _LEAST)))
            size, repeats = len(prediction.cart), history.holds(prediction.cart)
            sizes.append((np.log1p(size), np.log(history.baskets), repeat_logit(size, repeats)))
        log_size, self.log_baskets, self.repeats = (torch.tensor(column) for column in np.array(sizes).T)
        self.line = torch.stack([torch.ones_like(log_size), log_size], dim=1)  # (n, 2)
        self.cart = torch.tensor(np.array(cart))
        self.weights = torch.tensor(weights)
        self.log_count = _padded([each.log_count for each in found], -np.inf)
        self.features = _padded([each.features for each in found], 0.0)  # (n, C, _SCORED)
        self.recent = _padded([each.recent for each in found], 0.0)  # (n, C, len(_DAYS))

    def use(self, days: int) -> None:
        """Take the recency weights of one of the scales."""
        self.features[:, :, _RECENT] = self.recent[:, :, days]

    def __call__(self, theta: torch.Tensor, queries: int) -> torch.Tensor:
        """The mean over the first `queries`."""
        exponents = self.line[:queries] @ theta.T  # (n, 11)
        own = target_log_share(exponents[:, :_SCORED], self.features[:queries], self.log_count[:queries])
        weight, baskets, repeats = exponents[:, _SCORED:].T
        logit = weight + baskets * self.log_baskets[:queries] + repeats * self.repeats[:queries]
        mixed = torch.logaddexp(
            torch.nn.functional.logsigmoid(logit) + own,
            torch.nn.functional.logsigmoid(-logit) + self.cart[:queries],
        )
        return -(self.weights[:queries] * mixed).sum() / self.weights[:queries].sum()

    def fitted(self, gap_days: float, longest_gap: float) -> Own:
        """The coefficients with the best scale of the recency weights, chosen by a part of the queries."""
        few = min(len(self.cart), _QUERIES_OF_SCALE)
        start = torch.tensor(list(_START.values()), dtype=torch.float64)
        found = [self._fitted(place, few, start) for place in range(len(_DAYS))]
        best = int(np.argmin([loss for _, loss in found]))
        theta, _ = self._fitted(best, len(self.cart), found[best][0])
        lines: list[Line] = [(float(constant), float(slope)) for constant, slope in theta]
        return Own(
            **dict(zip(_START, lines, strict=True)),
            days=_DAYS[best],
            gap_days=gap_days,
            longest_gap=longest_gap,
        )

    def _fitted(self, days: int, queries: int, theta: torch.Tensor) -> tuple[torch.Tensor, float]:
        """The coefficients for one scale of the recency weights, and their loss."""
        self.use(days)
        middle = torch.tensor(list(_START.values()), dtype=torch.float64)
        start, theta = theta, theta.clone().requires_grad_()
        strength = 0.5 / (_PRIOR_VARIANCE * queries)
        optimiser = torch.optim.LBFGS(
            [theta], max_iter=_ITERATIONS, tolerance_change=1e-5, line_search_fn="strong_wolfe"
        )

        def loss() -> torch.Tensor:
            optimiser.zero_grad()
            value = self(theta, queries) + strength * ((theta - middle) ** 2).sum()
            value.backward()  # type: ignore[no-untyped-call]
            return value

        optimiser.step(loss)  # type: ignore[no-untyped-call]
        found = theta.detach() if bool(torch.isfinite(theta).all()) else start
        with torch.no_grad():
            return found, float(self(found, queries))


def _candidates(
    prediction: Prediction, history: History, target: int, rng: np.random.Generator
) -> _Candidates:
    """The history's items, the likely ones and a random sample of the others, and then the target."""
    model, size = prediction.model, prediction.model.kernel.size
    outside = np.ones(size, dtype=np.bool_)
    outside[prediction.cart] = False
    chosen = np.flatnonzero(outside)
    if size > _SMALL:
        likely = np.argpartition(-prediction.probabilities, _LIKELY)[:_LIKELY]
        chosen = np.union1d(history.items, likely)
        chosen = chosen[outside[chosen]]
    outside[chosen] = False
    others = np.flatnonzero(outside)
    drawn = rng.choice(others, min(_AT_RANDOM, len(others)), replace=False)
    rows = np.concatenate([chosen, drawn, [target]]).astype(np.intp)
    log_count = np.zeros(len(rows))
    log_count[len(chosen) : -1] = np.log(max(len(others), 1) / max(len(drawn), 1))
    log_count[-1] = -np.inf
    features, recent = np.zeros((size, _SCORED)), np.zeros((size, len(_DAYS)))
    feature = dict(zip(_START, features.T, strict=False))
    assert model.baskets is not None
    feature["cart"][:] = np.log(np.maximum(prediction.probabilities, _LEAST))
    feature["popularity"][:], feature["first"][:] = model.kernel.log_weights, model.baskets.log_first
    places, logs = model.log_relevance(history.main_items)
    feature["related"][places] = logs
    for place, days in enumerate(_DAYS):
        recent[history.items, place], feature["often"][history.items] = model.own_counts(history, days)
    feature["votes"][history.items] = np.log1p(history.votes(prediction.cart, model.baskets.rarity))
    feature["known"][history.items] = model.kernel.log_weights[history.items]
    return _Candidates(log_count, features[rows], recent[rows])


def _padded(arrays: Sequence[Array], fill: float) -> torch.Tensor:
    """Arrays (C, …) of different lengths as one (n, C, …) in float32; the target stays last."""
    length = max(len(array) for array in arrays)
    padded = np.full((len(arrays), length, *arrays[0].shape[1:]), fill, dtype=np.float32)
    for number, array in enumerate(arrays):
        padded[number, : len(array) - 1], padded[number, -1] = array[:-1], array[-1]
    return torch.from_numpy(padded)
