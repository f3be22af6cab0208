"""Evaluate a model and the baselines on the same queries, and check the model's probabilities and lifts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from model_store import Items
from ndpp import Lifts, RelatedItems
from ndpp.basket_sizes import BasketSizes
from ndpp.sets import SetPredictor
from training.baselines import BASELINES, Baseline, fit_baselines
from training.baskets import Baskets, ItemRows, translate
from training.errors import DataError
from training.evaluation.basket_size_accuracy import size_accuracy
from training.evaluation.bundle_accuracy import bundle_accuracies
from training.evaluation.calibration import Calibration
from training.evaluation.lifts import StrongestPairs, check_lifts, strongest_pairs
from training.evaluation.next_item_calibration import calibration_of
from training.evaluation.queries import Protocol, Queries, hold_one_out, random_prefixes, translate_queries
from training.evaluation.scoring import Evaluation, evaluate_models
from training.evaluation.tripod import TripodModel
from training.recommender import Recommender

_MOST_PREFIXES = 5_000


@dataclass(frozen=True, eq=False)
class Questions:
    """The test data in the rows of the model: next-item queries, and whole baskets for AUC and likelihood."""

    queries: Queries
    sets: Sequence[ItemRows]
    protocol: Protocol = Protocol.PAPER
    seed: int = 0
    unseen: Baskets | None = None  # baskets for calibration, which no part of the model has learned from


@dataclass(frozen=True, eq=False)
class Assessment:
    """The metrics of all models, and the calibration and strongest pairs of Tripod's model."""

    evaluation: Evaluation
    calibration: Calibration
    relations: StrongestPairs | None


def item_names(items: Items) -> list[str]:
    """The name of each item, or its id if it has none."""
    return [name or item_id for item_id, name in zip(items.ids, items.names, strict=True)]


def questions_from(
    test: Baskets, catalogue: Sequence[str], protocol: Protocol = Protocol.PAPER, seed: int = 0
) -> Questions:
    """Hold out one item of each test basket; rows are those of the model's `catalogue`."""
    queries = hold_one_out(test, protocol, np.random.default_rng(seed))
    if not len(queries):
        raise DataError("no basket has two items, so no item can be held out", "the test baskets")
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
    sets: SetPredictor | None = None,
    peers: Sequence[type[Baseline]] = BASELINES,
    progress: Callable[[str], None] = lambda _: None,
) -> Assessment:
    """Evaluate the model, and the `peers` fitted to `train` (in the model's rows)."""
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
        progress=lambda name: progress(f"evaluating {name}"),
    )
    relations = None if lifts is None else RelatedItems(model.kernel, lifts)
    calibration = Calibration()
    if questions.unseen is not None:
        progress("measuring calibration")
        calibration = _calibration(
            model, questions.unseen, questions.seed, relations=relations, basket_sizes=basket_sizes, sets=sets
        )
    return Assessment(
        evaluation, calibration, None if relations is None else strongest_pairs(relations, names)
    )


def _calibration(
    model: TripodModel,
    unseen: Baskets,
    seed: int,
    *,
    relations: RelatedItems | None,
    basket_sizes: BasketSizes | None,
    sets: SetPredictor | None,
) -> Calibration:
    prefixes, _ = random_prefixes(unseen, 1, np.random.default_rng(seed))
    return Calibration(
        next_item=calibration_of(model.model, prefixes.first(_MOST_PREFIXES))
        if model.gives_probabilities
        else None,
        basket_size=None if basket_sizes is None else size_accuracy(basket_sizes, unseen, seed),
        lifts=None if relations is None else check_lifts(relations, unseen),
        bundles=None if sets is None else bundle_accuracies(sets, unseen, seed),
    )
