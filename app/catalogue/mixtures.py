"""Arrivals as mixtures of known items, computed step by step while a snapshot is in use.

That takes long for many arrivals, and stock, deletions and rules must not wait for it. An arrival without a
mixture has the probability 0. One that waits for another mixture keeps the one that it has.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ndpp.arrivals import Arrivals, Similarity

if TYPE_CHECKING:
    from app.catalogue.snapshot import Snapshot

AT_ONCE = 500  # arrivals of one step


@dataclass(frozen=True, eq=False)
class Mixtures:
    """The mixtures so far, by the place of each arrival, and which of them wait."""

    arrivals: Arrivals = field(default_factory=Arrivals.none)
    waiting: frozenset[int] = frozenset()
    similarity: Similarity | None = None
    known_changes: int = 0  # of the features of known items
    seen_changes: int = 0  # those of them that are in `similarity`

    def changed(self, size: int, places: Collection[int], *, known: bool) -> Mixtures:
        """Those of `size` arrivals, of which some are new or have changed, or known items have."""
        if not places and not known:
            return self
        return replace(
            self,
            arrivals=self.arrivals.longer(size),
            waiting=self.waiting.union(places),
            known_changes=self.known_changes + known,
        )

    @property
    def is_outdated(self) -> bool:
        """Whether known items have changed since the mixtures were computed."""
        return self.similarity is not None and self.known_changes != self.seen_changes

    @property
    def state(self) -> str:
        """What waits; empty if nothing does."""
        return f"-{len(self.waiting)}{'+' * self.is_outdated}" if self.waiting or self.is_outdated else ""


@dataclass(frozen=True, eq=False)
class Step:
    """New mixtures of some arrivals of a snapshot."""

    snapshot: Snapshot
    similarity: Similarity
    is_new: bool  # all arrivals of the snapshot wait for this similarity
    places: list[int]
    rows: Arrivals

    @classmethod
    def of(cls, snapshot: Snapshot) -> Step:
        """Compute the latest of the arrivals that wait; all wait if known items have changed."""
        mixtures, known = snapshot.mixtures, snapshot.model.kernel.size
        similarity, waiting = mixtures.similarity, mixtures.waiting
        is_new = similarity is None or not waiting
        if similarity is None or is_new:
            usual = np.exp(snapshot.model.next_item.log_usual)
            weights = snapshot.model.stored.arrival_weights
            similarity = Similarity.of(snapshot.features(range(known)), usual, weights)
            waiting = frozenset(range(len(snapshot.arrivals)))
        places = sorted(waiting)[-AT_ONCE:]
        rows = similarity.arrivals(snapshot.features([known + place for place in places]))
        return cls(snapshot, similarity, is_new, places, rows)

    def applied(self, now: Snapshot) -> Snapshot:
        """The snapshot with them; it may be a later one of the same model."""
        before, mixtures = self.snapshot, now.mixtures
        waiting = mixtures.waiting.union(range(len(before.arrivals)) if self.is_new else ())
        known = now.model.kernel.size
        same = {place for place in self.places if now.record(known + place) is before.record(known + place)}
        return now.with_mixtures(
            replace(
                mixtures,
                arrivals=mixtures.arrivals.with_rows(np.array(self.places, dtype=np.intp), self.rows),
                waiting=waiting - same,
                similarity=self.similarity,
                seen_changes=before.mixtures.known_changes if self.is_new else mixtures.seen_changes,
            )
        )
