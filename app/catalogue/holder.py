"""Holds the snapshot in use."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from app.catalogue.changing import snapshot_of, with_records
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
        """Replace the model."""
        with self._lock:
            self._use(snapshot_of(model, self._records))

    def use_changes(self, changes: Changes) -> None:
        """Apply changed records. If they are few, only their rows are touched."""
        parsed = dict(changes.parsed())
        with self._lock:
            records = {} if changes.are_all else dict(self._records)
            for item_id, record in parsed.items():
                if record is None:
                    records.pop(item_id, None)
                else:
                    records[item_id] = record
            self._records, self._changes = records, changes.number
            if self._snapshot is not None and changes.are_all:
                self._use(snapshot_of(self._snapshot.model, records))
            elif self._snapshot is not None:
                self._use(with_records(self._snapshot, records, parsed))

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
        revision = f"{self._changes}-{self._rule_changes}-{self._bought}"
        snapshot = snapshot.with_rest(self._rules, self._purchases, revision, self._cache_bytes)
        snapshot.prepare()
        self._snapshot = snapshot
