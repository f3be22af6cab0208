"""The gate: a new model goes live unless it is, beyond reasonable doubt, worse than what was live before.

It is compared with the active version and with the best of those that the gate has let go live since a person
last chose a version, that one included. Without the latter, many retrains that each lose a little less than
is tolerated would add up to a bad model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model_store import StoredModel
from training.baskets import Baskets
from training.errors import IncomparableError
from training.evaluation.calibration import NextItemCalibration, calibration_of
from training.evaluation.metrics import Resampling, Vector, interval, mean_with_replicates, rank_metrics
from training.evaluation.queries import Protocol, Queries, hold_one_out, random_prefixes, translate_queries
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.splitting import held_out_below

METRIC = "ndcg@10"
CONFIDENCE = 0.9  # the share of resamples that must agree before a candidate is turned away
LOOKED_BACK = 10  # so many of the versions activated last, the active one among them
_MOST_QUERIES = 2000
CLEARLY_WORSE = 0.02  # claimed against true, as a share


@dataclass(frozen=True)
class Verdict:
    """The models' figures on the same queries, in percent, and what follows from them."""

    metric: str
    candidate: float
    active: float
    rival: str  # the version that decided: the active one, or an earlier one that is better
    rival_figure: float
    difference: float  # of the candidate and the rival
    interval: tuple[float, float]  # of the difference, 95 % by a paired bootstrap
    tolerance: float
    queries: int
    accepted: bool
    worse_probabilities: str | None = None  # said when the candidate's probabilities are clearly less true


def compare(
    candidate: StoredModel,
    active: StoredModel,
    earlier: Sequence[StoredModel],
    held_out: Baskets,
    *,
    tolerance: float,
    seed: int = 0,
) -> Verdict:
    """Ask all for the held-out item of the newest baskets that none of them has learned from.

    A target that a model does not know counts as its worst answer. The candidate is turned away if in nine of
    ten resamples of the queries it falls behind by more than the tolerance. Of the earlier versions those
    take part that held out as much as the candidate and the active one did.
    """
    bound = _bound(candidate, active)
    assert held_out.keys is not None
    asked = held_out.select(np.flatnonzero((held_out.keys < bound) & (held_out.sizes >= 2)))
    if len(asked) == 0:
        raise IncomparableError(
            f"no held-out basket has two items to compare it with the active version {active.version} on; "
            "activate it by hand if you trust it, or train with activate: always"
        )
    queries = hold_one_out(_newest(asked), Protocol.PAPER, np.random.default_rng(seed))
    rivals = [active, *(model for model in earlier if (held_out_below(model.manifest) or 0) >= bound)]
    marks = [_marks(model, queries, asked.catalogue) for model in rivals]
    best = max(range(len(rivals)), key=lambda number: float(marks[number].mean()))  # the active one if equal
    new = _marks(candidate, queries, asked.catalogue)
    worse = _worse_probabilities(candidate, active, _newest(asked), seed)

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
    """Neither has learned from baskets with a smaller key."""
    own, theirs = held_out_below(candidate.manifest), held_out_below(active.manifest)
    if own and theirs:
        return min(own, theirs)
    silent = active if theirs is None else candidate
    way_out = (
        "look at the report of the new one and activate it by hand this once (or train with activate: "
        "always); later training jobs compare by themselves"
        if own
        else "the new one began at such a version, so it cannot be compared later either: train with init: "
        "scaled and activate: always this once, later training jobs compare by themselves"
    )
    raise IncomparableError(
        f"it cannot be compared, because version {silent.version} does not say which baskets it held out "
        "(release 0.1 made it, it was fitted with --holdout 0, or it began at such a version); " + way_out
    )


def _newest(baskets: Baskets) -> Baskets:
    """Without times the last ones: the purchase log is read after the shop's own baskets."""
    order = np.arange(len(baskets))
    if baskets.timestamps is not None:
        order = np.argsort(baskets.timestamps, kind="stable")
    return baskets.select(order[-_MOST_QUERIES:])


def _marks(stored: StoredModel, queries: Queries, catalogue: tuple[str, ...]) -> Vector:
    model = TripodModel(stored.next_item)
    asked = translate_queries(queries, catalogue, stored.items.ids)
    return rank_metrics(rank_targets(model, asked))[METRIC]


def _worse_probabilities(
    candidate: StoredModel, active: StoredModel, asked: Baskets, seed: int
) -> str | None:
    """A sentence if the candidate's claims are clearly further from the truth than the active version's."""
    prefixes, _ = random_prefixes(asked, 1, np.random.default_rng(seed))
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
        f"The new version's probabilities are less true: its first suggestion claims "
        f"{100 * new.first.claimed:.1f} % and is right in {100 * new.first.true:.1f} % of {new.queries:,} "
        f"carts; that of {active.version} claims {100 * old.first.claimed:.1f} % and is right in "
        f"{100 * old.first.true:.1f} %."
    )


def _calibration(stored: StoredModel, queries: Queries) -> NextItemCalibration | None:
    return None if stored.manifest.mixture is None else calibration_of(stored.next_item, queries)
