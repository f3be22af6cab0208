"""Fit the mixture of experts by maximum likelihood of the next item of validation baskets.

The queries are random prefixes of shuffled baskets, including the empty cart. To fit a few coefficients, a
softmax over the whole catalogue is not needed: likely items are scored exactly, and a random sample stands
for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ndpp.mixture import Habit, Line, Mixture, SimilarBaskets, Together
from ndpp.next_item import NO_VOTE, NextItem, Prediction
from ndpp.sparse import Sparse
from training.evaluation.queries import Queries
from training.next_item.target_share import target_log_share

LEAST_GAIN = 1e-4
_BY_RELEVANCE, _BY_VOTES, _BY_GAIN, _BY_POPULARITY, _AT_RANDOM = 80, 120, 40, 150, 300  # candidates
_SMALL = 1_000  # up to this catalogue size all items are candidates
_ITERATIONS = 60
_FEW_ITERATIONS = 12  # when starting from the coefficients of a similar model
_PRIOR_VARIANCE = 0.5  # of each coefficient around its start value; matters with few validation baskets

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Features:
    """The experts' features of each query's candidates (n, C) and target (n,)."""

    log_size: Array  # (n,): log(1 + |cart|)
    has_votes: NDArray[np.bool_]  # (n,)
    weights: Array  # (n,)
    rows: NDArray[np.int64]  # (n, C)
    log_count: Array  # (n, C): log of the number of items a candidate stands for; −∞ for padding
    gain: Array  # (n, C + 1): log Δ; the last column is the target's, here and below
    popularity: Array  # log L_ii
    relevance: Array  # log(r / floor)
    votes: Array  # log(votes + NO_VOTE)
    first: Array  # log f: log P(item | empty cart)

    def __len__(self) -> int:
        return len(self.log_size)


def gather(model: NextItem, queries: Queries, weights: Array, seed: int = 0) -> Features:
    """The features of weighted queries, computed by the same code as in serving."""
    rng, size = np.random.default_rng(seed), model.kernel.size
    relevance, votes = np.zeros(size), np.full(size, np.log(NO_VOTE))
    found: list[tuple[NDArray[np.int64], Array, Array]] = []
    has_votes = []
    for prediction, target in zip(model.given_each(queries.carts), queries.targets, strict=True):
        rows, log_count = _candidates(prediction, size, rng)
        relevance[prediction.relevance[0]] = prediction.relevance[1]
        votes[prediction.votes[0]] = np.log(prediction.votes[1] + NO_VOTE)
        every = np.append(rows, target)
        values = np.stack([prediction.log_gains[every], relevance[every], votes[every]])
        relevance[prediction.relevance[0]], votes[prediction.votes[0]] = 0.0, np.log(NO_VOTE)
        has_votes.append(len(prediction.votes[0]) > 0)
        found.append((rows, log_count, values))
    rows, log_count, values = _padded(found)
    every_row = np.column_stack([rows, queries.targets])
    log_first = np.zeros(size) if model.baskets is None else model.baskets.log_first.astype(np.float64)
    return Features(
        log_size=np.log1p([len(cart) for cart in queries.carts]),
        has_votes=np.array(has_votes),
        weights=weights / weights.sum(),
        rows=rows,
        log_count=log_count,
        gain=values[0],
        popularity=model.kernel.log_weights[every_row],
        relevance=values[1],
        votes=values[2],
        first=log_first[every_row],
    )


def _candidates(
    prediction: Prediction, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Likely rows and a random sample of the others, with the log of the number of rows each stands for."""
    outside = np.ones(size, dtype=np.bool_)
    outside[prediction.cart] = False
    if size <= _SMALL:
        rows = np.flatnonzero(outside)
        return rows, np.zeros(len(rows))
    gains = np.argpartition(-prediction.log_gains, _BY_GAIN)[:_BY_GAIN]
    chosen = np.unique(
        np.concatenate(
            [
                np.arange(_BY_POPULARITY),  # the catalogue is sorted by popularity
                gains,
                _highest(prediction.relevance, _BY_RELEVANCE),
                _highest(prediction.votes, _BY_VOTES),
            ]
        )
    )
    chosen = chosen[outside[chosen]]
    outside[chosen] = False
    others = np.flatnonzero(outside)
    drawn = rng.choice(others, min(_AT_RANDOM, len(others)), replace=False)
    counts = np.zeros(len(chosen) + len(drawn))
    counts[len(chosen) :] = np.log(max(len(others), 1) / max(len(drawn), 1))
    return np.concatenate([chosen, drawn]), counts


def _highest(values: Sparse, most: int) -> NDArray[np.int64]:
    rows, numbers = values
    return rows if len(rows) <= most else rows[np.argpartition(-numbers, most)[:most]]


def _padded(
    found: Sequence[tuple[NDArray[np.int64], Array, Array]],
) -> tuple[NDArray[np.int64], Array, Array]:
    """Rows and log counts (n, C) and values (3, n, C + 1), padded to one width; padding has log count −∞."""
    n, width = len(found), max(len(rows) for rows, *_ in found)
    all_rows, all_counts = np.zeros((n, width), dtype=np.int64), np.full((n, width), -np.inf)
    all_values = np.zeros((3, n, width + 1))
    for number, (rows, counts, values) in enumerate(found):
        all_rows[number, : len(rows)], all_counts[number, : len(rows)] = rows, counts
        all_values[:, number, : len(rows)], all_values[:, number, -1] = values[:, :-1], values[:, -1]
    return all_rows, all_counts, all_values


# The coefficients in the order of the fitted vector, with their start values (constant and slope).
_START: dict[str, Line] = {
    "together.gain": (0.4, 0.0),
    "together.relevance": (0.9, 0.0),
    "together.popularity": (0.0, 0.0),
    "baskets.power": (0.8, 0.0),
    "baskets.weight": (-1.0, 0.0),
    "habit.gain": (0.5, 0.0),
    "habit.popularity": (0.2, 0.0),
    "habit.first": (0.2, 0.0),
    "habit.weight": (-1.0, 0.0),
}
_GAINS = ("together.gain", "habit.gain")


@dataclass(frozen=True)
class Fitted:
    """Coefficients by name, and the mean negative log-likelihood of the queries."""

    lines: dict[str, Line]
    loss: float

    def mixture(self, decoupling: float) -> Mixture:
        """The coefficients as a `Mixture`."""

        def part(name: str) -> dict[str, Line]:
            return {key.split(".")[1]: line for key, line in self.lines.items() if key.startswith(name)}

        return Mixture(
            decoupling,
            Together(**part("together")),
            SimilarBaskets(**part("baskets")),
            Habit(**part("habit")),
            LEAST_GAIN,
        )


START = Fitted(_START, np.inf)


def fit_mixture(
    features: Features, start: Fitted = START, *, quick: bool = False, determinant: bool = True
) -> Fitted:
    """Maximum likelihood by L-BFGS; without `determinant` the exponents of the gains are fixed at 0.

    `quick` takes few iterations, for a start that is already close.
    """
    began = np.array(list(start.lines.values()))
    fixed = torch.tensor([name in _GAINS and not determinant for name in _START])[:, None]
    begin = torch.tensor(began).masked_fill(fixed, 0.0)
    theta = begin.clone().requires_grad_()
    likelihood = _Likelihood(features)
    centre = torch.tensor(list(_START.values()), dtype=torch.float64).masked_fill(fixed, 0.0)
    strength = 0.5 / (_PRIOR_VARIANCE * len(features))
    optimiser = torch.optim.LBFGS(
        [theta],
        max_iter=_FEW_ITERATIONS if quick else _ITERATIONS,
        tolerance_change=1e-6,
        line_search_fn="strong_wolfe",
    )

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        chosen = theta.masked_fill(fixed, 0.0)
        value = likelihood(chosen) + strength * ((chosen - centre) ** 2).sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    found = theta.detach().masked_fill(fixed, 0.0)
    if not bool(torch.isfinite(found).all()):
        found = begin
    with torch.no_grad():
        final = float(likelihood(found))
    values = [(float(constant), float(slope)) for constant, slope in found]
    return Fitted(dict(zip(_START, values, strict=True)), final)


class _Likelihood:
    """−log P(target) averaged over the queries, as a function of the coefficients (9, 2)."""

    def __init__(self, features: Features) -> None:
        self.line = torch.tensor(np.column_stack([np.ones(len(features)), features.log_size]))  # (n, 2)
        self.without_votes = torch.tensor(~features.has_votes)
        self.weights = torch.tensor(features.weights)
        # The last column is the target's: it is not part of the normaliser.
        counts = np.column_stack([features.log_count, np.full(len(features), -np.inf)])
        self.log_count = torch.tensor(counts)
        self.experts = [
            torch.tensor(np.stack(columns, axis=-1))  # (n, C + 1, exponents of the expert)
            for columns in (
                (features.gain, features.relevance, features.popularity),
                (features.votes,),
                (features.gain, features.popularity, features.first),
            )
        ]

    def __call__(self, theta: torch.Tensor) -> torch.Tensor:
        together, power, w_baskets, habit, w_habit = torch.split(self.line @ theta.T, [3, 1, 1, 3, 1], dim=1)
        logs = torch.stack(
            [
                target_log_share(exponents, features, self.log_count)
                for exponents, features in zip((together, power, habit), self.experts, strict=True)
            ]
        )
        shares = torch.stack(
            [
                torch.zeros(len(self.line), dtype=torch.float64),
                w_baskets[:, 0].masked_fill(self.without_votes, -torch.inf),
                w_habit[:, 0],
            ]
        )
        mixed = torch.logsumexp(logs + torch.log_softmax(shares, dim=0), dim=0)
        return -(self.weights * mixed).sum()
