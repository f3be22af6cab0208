"""The gate: a new version is accepted unless it is significantly worse than the versions active before it.

It is compared with the active version and with the best of those activated since a person last chose one,
including that one. Otherwise many retrains that each lose a little less than the tolerance would add up to a
bad model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from model_store import StoredModel
from training.baskets import Baskets
from training.errors import IncomparableError
from training.evaluation.metrics import Resampling, Vector, interval, mean_with_replicates, rank_metrics
from training.evaluation.next_item_calibration import NextItemCalibration, calibration_of
from training.evaluation.queries import Protocol, Queries, hold_one_out, random_prefixes, translate_queries
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.histories import Histories, has_histories
from training.recommender import Pasts
from training.splitting import held_out_below

CONFIDENCE = 0.9  # share of bootstrap resamples that must agree before a candidate is rejected
ACTIVATIONS_COMPARED = 10  # number of latest activations to compare with, including the active version
_MOST_QUERIES = 2000
CLEARLY_WORSE = 0.02  # increase of the calibration error that is reported
METRIC = "ndcg@10"


@dataclass(frozen=True)
class Verdict:
    """The comparison of the candidate with earlier versions on the same queries; figures in percent."""

    metric: str
    candidate: float
    active: float
    rival: str  # the version that decided: the active one, or a better earlier one
    rival_figure: float
    difference: float  # candidate minus rival
    interval: tuple[float, float]  # 95 % interval of the difference, by paired bootstrap
    tolerance: float
    queries: int
    accepted: bool
    worse_probabilities: str | None = None  # a sentence if the candidate's probabilities are less accurate


def compare(
    candidate: StoredModel,
    active: StoredModel,
    earlier: Sequence[StoredModel],
    held_out: Baskets,
    *,
    known: Baskets | None = None,
    tolerance: float,
    seed: int = 0,
) -> Verdict:
    """Compare the versions on held-out items of the newest baskets that none of them has learned from.

    Each query comes with what its shopper had bought before, as far as `known` baskets tell who and when.

    A target that is unknown to a version has the worst rank. The candidate is rejected if it is worse by more
    than the tolerance in nine of ten resamples of the queries. Earlier versions are included if they held out
    at least as much as the candidate and the active version.
    """
    bound = _bound(candidate, active)
    assert held_out.keys is not None
    asked = held_out.select(np.flatnonzero((held_out.keys < bound) & (held_out.sizes >= 2)))
    if len(asked) == 0:
        raise IncomparableError(
            f"it cannot be compared with the active version {active.version}, because no held-out basket has "
            "two items; activate the new version by hand if you trust it, or train with activate: always"
        )
    asked = _newest(asked)
    histories = Histories(known).before_each(asked) if known and has_histories(known) else None
    protocol = Protocol.PAPER if histories is None else Protocol.TEMPORAL
    queries = hold_one_out(asked, protocol, np.random.default_rng(seed), histories)
    rivals = [active, *(model for model in earlier if (held_out_below(model.manifest) or 0) >= bound)]
    marks = [_marks(model, queries, asked.catalogue) for model in rivals]
    best = max(range(len(rivals)), key=lambda number: float(marks[number].mean()))  # active version on ties
    new = _marks(candidate, queries, asked.catalogue)
    worse = _worse_probabilities(candidate, active, asked, histories, seed)

    def verdict(number: int) -> Verdict:
        difference, replicates = mean_with_replicates(new - marks[number], Resampling.of(len(queries), seed))
        return Verdict(
            metric=METRIC,
            candidate=float(new.mean()),
            active=float(marks[0].mean()),
            rival=rivals[number].version,
            rival_figure=float(marks[number].mean()),
            difference=difference,
            interval=interval(replicates),
            tolerance=tolerance,
            queries=len(queries),
            accepted=bool(np.mean(replicates < -tolerance) < CONFIDENCE),
            worse_probabilities=worse,
        )

    against_active = verdict(0)
    return against_active if best == 0 or not against_active.accepted else verdict(best)


def _bound(candidate: StoredModel, active: StoredModel) -> float:
    """The hold-out bound: neither version has learned from baskets with a smaller key."""
    own, theirs = held_out_below(candidate.manifest), held_out_below(active.manifest)
    if own and theirs:
        return min(own, theirs)
    unbounded = active if theirs is None else candidate
    way_out = (
        "check the report of the new version and activate it by hand once (or train with activate: "
        "always); later training jobs can compare again"
        if own
        else "the new version started from such a version, so it cannot be compared later either: train once "
        "with init: scaled and activate: always; later training jobs can compare again"
    )
    raise IncomparableError(
        f"it cannot be compared, because version {unbounded.version} does not say which baskets it held out "
        "(it was made by release 0.1, fitted with --holdout 0, or started from such a version); " + way_out
    )


def _newest(baskets: Baskets) -> Baskets:
    """The newest baskets; without timestamps the last ones, because the purchase log is read last."""
    order = np.arange(len(baskets))
    if baskets.timestamps is not None:
        order = np.argsort(baskets.timestamps, kind="stable")
    return baskets.select(order[-_MOST_QUERIES:])


def _marks(stored: StoredModel, queries: Queries, catalogue: tuple[str, ...]) -> Vector:
    model = TripodModel(stored.next_item)
    asked = translate_queries(queries, catalogue, stored.items.ids)
    return rank_metrics(rank_targets(model, asked))[METRIC]


def _worse_probabilities(
    candidate: StoredModel, active: StoredModel, asked: Baskets, histories: Pasts | None, seed: int
) -> str | None:
    """A sentence if the candidate's probabilities are clearly less accurate than the active version's."""
    prefixes, owners = random_prefixes(asked, 1, np.random.default_rng(seed))
    if histories is not None:
        prefixes = replace(prefixes, histories=[histories[owner] for owner in owners])
    found = [
        _calibration(model, translate_queries(prefixes, asked.catalogue, model.items.ids))
        for model in (candidate, active)
    ]
    new, old = found
    if old is None:
        return None
    if new is None:
        return (
            f"The new version gives no probabilities (it was fitted with tune: none); {active.version} does."
        )
    gap, before = abs(new.first.gap), abs(old.first.gap)
    if gap <= before + CLEARLY_WORSE and new.expected_error <= old.expected_error + CLEARLY_WORSE:
        return None
    return (
        f"The new version's probabilities are less accurate: on {new.queries:,} carts its first suggestion "
        f"has a mean probability of {100 * new.first.claimed:.1f} % and is right in "
        f"{100 * new.first.true:.1f} %; for {active.version} it is {100 * old.first.claimed:.1f} % and "
        f"{100 * old.first.true:.1f} %."
    )


def _calibration(stored: StoredModel, queries: Queries) -> NextItemCalibration | None:
    return None if stored.manifest.mixture is None else calibration_of(stored.next_item, queries)
