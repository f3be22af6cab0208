"""Evaluate a model and the baselines on the same queries, and check the model's probabilities and lifts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model_store import Items
from ndpp import Lifts, RelatedItems
from ndpp.basket_sizes import BasketSizes
from ndpp.sets import SetPredictor
from training.baselines import BASELINES, HISTORY_BASELINES, Baseline, fit_baselines
from training.baskets import UNKNOWN, Baskets, ItemRows, rows_in, translate
from training.errors import DataError
from training.evaluation.basket_size_accuracy import size_accuracy
from training.evaluation.bundle_accuracy import bundle_accuracies
from training.evaluation.calibration import Calibration
from training.evaluation.lifts import StrongestPairs, check_lifts, strongest_pairs
from training.evaluation.next_basket import NextBaskets, evaluate_next_baskets, next_baskets
from training.evaluation.next_item_calibration import calibration_of
from training.evaluation.queries import (
    Protocol,
    Queries,
    hold_one_out,
    random_prefixes,
    translate_histories,
    translate_queries,
)
from training.evaluation.scoring import Evaluation, evaluate_models
from training.evaluation.tripod import CartAlone, TripodModel
from training.recommender import Pasts, Recommender

_MOST_PREFIXES = 5_000


@dataclass(frozen=True, eq=False)
class Questions:
    """The test data in the rows of the model: next-item queries, and whole baskets for AUC and likelihood."""

    queries: Queries
    sets: Sequence[ItemRows]
    protocol: Protocol = Protocol.PAPER
    seed: int = 0
    unseen: Baskets | None = None  # baskets for calibration, which no part of the model has learned from
    histories: Pasts | None = None  # at the time of each basket of `unseen`
    next_baskets: NextBaskets | None = None  # whole baskets to predict from the history alone

    @property
    def usual_peers(self) -> tuple[type[Baseline], ...]:
        """The baselines to compare with: with histories, those that use them and the best of the others."""
        return BASELINES if self.queries.histories is None else HISTORY_BASELINES


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
    test: Baskets,
    catalogue: Sequence[str],
    protocol: Protocol = Protocol.PAPER,
    seed: int = 0,
    histories: Pasts | None = None,
) -> Questions:
    """Hold out one item of each test basket; rows are those of the model's `catalogue`.

    `histories` are those of the test baskets' shoppers at that time, in the rows of `test`.
    """
    queries = hold_one_out(test, protocol, np.random.default_rng(seed), histories)
    if not len(queries):
        raise DataError("no basket has two items, so no item can be held out", "the test baskets")
    known = translate(test, catalogue)
    asked = translate_queries(queries, test.catalogue, catalogue)
    if histories is None:
        return Questions(asked, list(known), protocol, seed, known)
    new_row = rows_in(catalogue, test.catalogue)
    kept = [number for number, basket in enumerate(test) if (new_row[basket] != UNKNOWN).any()]
    past = translate_histories([histories[number] for number in kept], new_row)
    whole = next_baskets(test, histories, catalogue) if protocol is Protocol.TEMPORAL else None
    return Questions(asked, list(known), protocol, seed, known, past, whole)


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
    peers: Sequence[type[Baseline]] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Assessment:
    """Evaluate the model, and the `peers` (the usual ones if None) fitted to `train` (in the model's rows).

    A model that uses histories is also evaluated without them.
    """
    models: list[Recommender] = [model]
    if questions.queries.histories is not None and model.uses_histories:
        models.append(CartAlone(model))
    skipped: dict[str, str] = {}
    if peers is None:
        peers = questions.usual_peers
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
    if questions.next_baskets is not None:
        whole = evaluate_next_baskets(
            models,
            questions.next_baskets,
            seed=questions.seed,
            progress=lambda name: progress(f"next baskets of {name}"),
        )
        evaluation = replace(evaluation, next_basket=whole)
    relations = None if lifts is None else RelatedItems(model.kernel, lifts)
    calibration = Calibration()
    if questions.unseen is not None:
        progress("measuring calibration")
        calibration = _calibration(
            model, questions, questions.unseen, relations=relations, basket_sizes=basket_sizes, sets=sets
        )
    return Assessment(
        evaluation, calibration, None if relations is None else strongest_pairs(relations, names)
    )


def _calibration(
    model: TripodModel,
    questions: Questions,
    unseen: Baskets,
    *,
    relations: RelatedItems | None,
    basket_sizes: BasketSizes | None,
    sets: SetPredictor | None,
) -> Calibration:
    seed, histories = questions.seed, questions.histories
    prefixes, owners = random_prefixes(unseen, 1, np.random.default_rng(seed))
    if histories is not None:
        prefixes = replace(prefixes, histories=[histories[owner] for owner in owners])
    return Calibration(
        next_item=calibration_of(model.model, prefixes.first(_MOST_PREFIXES))
        if model.gives_probabilities
        else None,
        basket_size=None if basket_sizes is None else size_accuracy(basket_sizes, unseen, seed),
        lifts=None if relations is None else check_lifts(relations, unseen),
        bundles=None if sets is None else bundle_accuracies(sets, unseen, seed),
    )
