"""A whole assessment: a model and the baselines on the same questions, and what a report shows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ndpp import Lifts, Relations
from ndpp.basket_sizes import BasketSizes
from training.baselines import BASELINES, Baseline, fit_baselines
from training.baskets import Baskets, ItemRows
from training.errors import DataError
from training.evaluation.basket_sizes import size_accuracy
from training.evaluation.calibration import calibration_of
from training.evaluation.queries import (
    Protocol,
    Queries,
    hold_one_out,
    random_prefixes,
    translate,
    translate_queries,
)
from training.evaluation.relations import StrongestPairs, check_lifts, strongest_pairs
from training.evaluation.scoring import Evaluation, evaluate_models
from training.evaluation.tripod import TripodModel
from training.evaluation.truth import Truth
from training.recommender import Recommender

_MOST_PREFIXES = 5_000


@dataclass(frozen=True, eq=False)
class Questions:
    """What a model is asked, in its own rows: next items, and whole baskets to tell from random sets."""

    queries: Queries
    sets: Sequence[ItemRows]
    protocol: Protocol = Protocol.PAPER
    seed: int = 0
    unseen: Baskets | None = None  # what no part of the model has learned from, to check its claims on


@dataclass(frozen=True, eq=False)
class Assessment:
    """The figures of all models, and what else there is to see of Tripod's."""

    evaluation: Evaluation
    truth: Truth
    relations: StrongestPairs | None


def questions_from(
    test: Baskets, catalogue: Sequence[str], protocol: Protocol = Protocol.PAPER, seed: int = 0
) -> Questions:
    """Hold one item out of each test basket and ask in the rows of the model's `catalogue`."""
    queries = hold_one_out(test, protocol, np.random.default_rng(seed))
    if not len(queries):
        raise DataError("no test basket has two items, so there is nothing to hold out", "the test baskets")
    known = translate(test, catalogue)
    asked = translate_queries(queries, test.catalogue, catalogue)
    return Questions(asked, list(known), protocol, seed, known)


def assess(
    model: TripodModel,
    names: Sequence[str],
    questions: Questions,
    train: Baskets | None,
    validation: Baskets | None = None,
    *,
    lifts: Lifts | None = None,
    basket_sizes: BasketSizes | None = None,
    peers: Sequence[type[Baseline]] = BASELINES,
    progress: Callable[[str], None] = lambda _: None,
) -> Assessment:
    """Ask the model, and the baselines fitted on `train` (in the model's rows) if wanted."""
    models: list[Recommender] = [model]
    skipped: dict[str, str] = {}
    if peers and train is not None:
        progress("fitting the baselines")
        fitted, skipped = fit_baselines(train, validation, peers)
        models += fitted
    evaluation = evaluate_models(
        models,
        questions.queries,
        questions.sets,
        model.kernel.size,
        protocol=questions.protocol,
        seed=questions.seed,
        skipped=skipped,
        progress=lambda name: progress(f"asking {name}"),
    )
    relations = None if lifts is None else Relations(model.kernel, lifts)
    truth = Truth()
    if questions.unseen is not None:
        progress("comparing claims with what came true")
        truth = _truth(model, relations, basket_sizes, questions.unseen, questions.seed)
    return Assessment(evaluation, truth, None if relations is None else strongest_pairs(relations, names))


def _truth(
    model: TripodModel,
    relations: Relations | None,
    basket_sizes: BasketSizes | None,
    unseen: Baskets,
    seed: int,
) -> Truth:
    prefixes, _ = random_prefixes(unseen, 1, np.random.default_rng(seed))
    return Truth(
        next_item=calibration_of(model.model, prefixes.first(_MOST_PREFIXES))
        if model.gives_probabilities
        else None,
        basket_size=None if basket_sizes is None else size_accuracy(basket_sizes, unseen, seed),
        lifts=None if relations is None else check_lifts(relations, unseen),
    )
