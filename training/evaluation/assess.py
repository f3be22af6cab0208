"""A whole assessment: a model and the baselines on the same questions, and what a report shows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ndpp import Lifts, Relations
from training.baselines import fit_baselines
from training.baselines.base import Recommender
from training.baskets import Baskets, ItemRows
from training.errors import DataError
from training.evaluation.calibration import Calibration, CalibrationBin
from training.evaluation.queries import Protocol, Queries, hold_one_out, translate, translate_queries
from training.evaluation.relations import StrongestPairs, strongest_pairs
from training.evaluation.scoring import Evaluation, evaluate_models
from training.evaluation.tripod import TripodModel


@dataclass(frozen=True, eq=False)
class Questions:
    """What a model is asked, in its own rows: next items, and whole baskets to tell from random sets."""

    queries: Queries
    sets: Sequence[ItemRows]
    protocol: Protocol = Protocol.PAPER
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Assessment:
    """The figures of all models, and what else there is to see of Tripod's."""

    evaluation: Evaluation
    calibration: tuple[CalibrationBin, ...]
    relations: StrongestPairs | None


def questions_from(
    test: Baskets, catalogue: Sequence[str], protocol: Protocol = Protocol.PAPER, seed: int = 0
) -> Questions:
    """Hold one item out of each test basket and ask in the rows of the model's `catalogue`."""
    queries = hold_one_out(test, protocol, np.random.default_rng(seed))
    if not len(queries):
        raise DataError("no test basket has two items, so there is nothing to hold out", "the test baskets")
    sets = list(translate(test, catalogue))
    return Questions(translate_queries(queries, test.catalogue, catalogue), sets, protocol, seed)


def assess(
    model: TripodModel,
    names: Sequence[str],
    questions: Questions,
    train: Baskets | None,
    *,
    lifts: Lifts | None = None,
    baselines: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Assessment:
    """Ask the model, and the baselines fitted on `train` (in the model's rows) if wanted."""
    models: list[Recommender] = [model]
    skipped: dict[str, str] = {}
    if baselines and train is not None:
        progress("fitting the baselines")
        fitted, skipped = fit_baselines(train)
        models += fitted
    calibration = Calibration()
    evaluation = evaluate_models(
        models,
        questions.queries,
        questions.sets,
        model.kernel.size,
        protocol=questions.protocol,
        seed=questions.seed,
        skipped=skipped,
        inspect={model.name: calibration},
        progress=lambda name: progress(f"asking {name}"),
    )
    relations = None if lifts is None else strongest_pairs(Relations(model.kernel, lifts), names)
    return Assessment(evaluation, calibration.bins(), relations)
