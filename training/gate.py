"""The gate: a new model goes live unless it is, beyond reasonable doubt, worse than the active one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model_store import StoredModel
from training.baskets import Baskets
from training.evaluation.metrics import Resampling, Vector, interval, mean_with_replicates, rank_metrics
from training.evaluation.queries import Protocol, Queries, hold_one_out, translate_queries
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel

METRIC = "ndcg@10"
CONFIDENCE = 0.9  # the share of resamples that must agree before a candidate is turned away
_MOST_QUERIES = 2000


@dataclass(frozen=True)
class Verdict:
    """Both models' figures on the same queries, in percent, and what follows from them."""

    metric: str
    candidate: float
    active: float
    difference: float
    interval: tuple[float, float]  # of the difference, 95 % by a paired bootstrap
    tolerance: float
    queries: int
    accepted: bool


def compare(
    candidate: StoredModel, active: StoredModel, aside: Baskets, *, tolerance: float, seed: int = 0
) -> Verdict | None:
    """Ask both for the held-out item of the newest baskets kept aside; None if there is nothing to ask.

    A target that a model does not know counts as its worst answer. The candidate is turned away if in nine of
    ten resamples of the queries it falls behind by more than the tolerance.
    """
    queries = hold_one_out(_newest(aside), Protocol.PAPER, np.random.default_rng(seed))
    if len(queries) == 0:
        return None
    new, old = (_marks(model, queries, aside.catalogue) for model in (candidate, active))
    difference, replicates = mean_with_replicates(new - old, Resampling.of(len(queries), seed))
    return Verdict(
        metric=METRIC,
        candidate=float(new.mean()),
        active=float(old.mean()),
        difference=difference,
        interval=interval(replicates),
        tolerance=tolerance,
        queries=len(queries),
        accepted=bool(np.mean(replicates < -tolerance) < CONFIDENCE),
    )


def _newest(aside: Baskets) -> Baskets:
    """Without times the last ones: the purchase log is read after the shop's own baskets."""
    useful = np.flatnonzero(aside.sizes >= 2)
    if aside.timestamps is not None:
        useful = useful[np.argsort(aside.timestamps[useful], kind="stable")]
    return aside.select(useful[-_MOST_QUERIES:])


def _marks(stored: StoredModel, queries: Queries, catalogue: tuple[str, ...]) -> Vector:
    model = TripodModel.of(stored.kernel, stored.relevance, stored.manifest.knobs)
    asked = translate_queries(queries, catalogue, stored.items.ids)
    return rank_metrics(rank_targets(model, asked))[METRIC]
