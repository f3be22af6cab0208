"""Holds the snapshot in use."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from app.catalogue.changing import snapshot_of, with_records
from app.catalogue.mixtures import AT_ONCE, Step
from app.catalogue.records import Changes, Record
from app.catalogue.served_model import ServedModel
from app.catalogue.snapshot import Snapshot
from app.http.errors import ModelMissing
from app.rules.rule import Rule


class SnapshotHolder:
    """Holds the snapshot in use, and what it is made of, which comes from several threads."""

    def __init__(self, cache_bytes: int) -> None:
        self._cache_bytes = cache_bytes  # of answers
        self._lock = Lock()
        self._mixing = Lock()
        self._snapshot: Snapshot | None = None
        self._records: Mapping[str, Record] = {}
        self._rules: tuple[Rule, ...] = ()
        self._purchases: Mapping[str, tuple[int, int]] = {}
        self._changes, self._rule_changes, self._bought = 0, 0, 0  # their numbers

    @property
    def model(self) -> ServedModel | None:
        """The model in use, None before the first one is loaded."""
        return self._snapshot.model if self._snapshot else None

    def current(self) -> Snapshot:
        """The snapshot in use; raises ModelMissing before the first model is loaded."""
        if self._snapshot is None:
            raise ModelMissing(
                "No model is loaded: /readyz gives the reason. Publish a model if there is none."
            )
        return self._snapshot

    def use_model(self, model: ServedModel) -> None:
        """Replace the model. If arrivals are few, they have their mixtures at once."""
        with self._lock:
            snapshot = snapshot_of(model, self._records)
            if 0 < len(snapshot.mixtures.waiting) <= AT_ONCE:
                snapshot = Step.of(snapshot).applied(snapshot)
            self._use(snapshot)

    def use_changes(self, changes: Changes) -> None:
        """Apply changed records. Only their rows are touched."""
        parsed = dict(changes.parsed())
        with self._lock:
            records = {} if changes.are_all else dict(self._records)
            for item_id, record in parsed.items():
                if record is None:
                    records.pop(item_id, None)
                else:
                    records[item_id] = record
            changed = _different(self._records, records) if changes.are_all else parsed
            self._records, self._changes = records, changes.number
            if self._snapshot is not None:
                self._use(with_records(self._snapshot, records, changed))

    @property
    def mixtures_wait(self) -> bool:
        """Whether some arrivals wait for their mixtures."""
        return self._snapshot is not None and bool(self._snapshot.mixtures.state)

    @property
    def few_mixtures_wait(self) -> bool:
        """Whether some arrivals that are new or changed wait, and one step is enough for them."""
        return self._snapshot is not None and 0 < len(self._snapshot.mixtures.waiting) <= AT_ONCE

    def mix(self) -> None:
        """Compute the mixtures of some arrivals that wait, if any do. Changes are applied meanwhile."""
        with self._mixing:
            before = self._snapshot
            if before is None or not before.mixtures.state:
                return
            step = Step.of(before)
            with self._lock:
                if self.model is before.model:
                    self._use(step.applied(self.current()))

    def use_rules(self, rules: tuple[Rule, ...], number: int) -> None:
        """Replace the rules."""
        with self._lock:
            self._rules, self._rule_changes = rules, number
            if self._snapshot is not None:
                self._use(self._snapshot)

    def use_purchases(self, purchases: Mapping[str, tuple[int, int]], number: int) -> None:
        """Replace the numbers of purchases of arrivals."""
        with self._lock:
            self._purchases, self._bought = purchases, number
            if self._snapshot is not None:
                self._use(self._snapshot)

    def _use(self, snapshot: Snapshot) -> None:
        revision = f"{self._changes}-{self._rule_changes}-{self._bought}{snapshot.mixtures.state}"
        snapshot = snapshot.with_rest(self._rules, self._purchases, revision, self._cache_bytes)
        snapshot.prepare()
        self._snapshot = snapshot


def _different(old: Mapping[str, Record], new: Mapping[str, Record]) -> list[str]:
    """The items whose records differ."""
    # As text: the attributes 1 and True are equal.
    return [
        item_id for item_id in old.keys() | new.keys() if repr(old.get(item_id)) != repr(new.get(item_id))
    ]
