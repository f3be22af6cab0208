"""How changed records become a new snapshot. Only the rows of changed items are touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.catalogue.categories import is_same
from app.catalogue.records import NO_RECORD, Record
from app.catalogue.served_model import ServedModel
from app.catalogue.snapshot import Snapshot


def snapshot_of(model: ServedModel, records: Mapping[str, Record]) -> Snapshot:
    """The records applied to the items of a model, with rows for the items that it does not know."""
    size = model.kernel.size
    untouched = Snapshot(
        model=model,
        records={},
        arrivals=(),
        prices=model.prices,
        in_stock=model.in_stock,
        boosts=np.ones(size),
        deleted=np.zeros(size, dtype=np.bool_),
        categories=model.categories,
    )
    return with_records(untouched, records, records)


@dataclass(slots=True)
class _Changed:
    """The rows in which something changed that is not kept in an array of the snapshot."""

    categories: dict[int, str | None] = field(default_factory=dict)
    texts: set[int] = field(default_factory=set)
    attributes: set[int] = field(default_factory=set)
    cold_prices: set[int] = field(default_factory=set)
    listed: set[int] = field(default_factory=set)  # deleted, or no longer deleted
    parents: set[int] = field(default_factory=set)

    @property
    def features(self) -> set[int]:
        """The rows that resemble others more or less than before."""
        return self.texts | self.attributes | self.parents | self.cold_prices


def with_records(before: Snapshot, records: Mapping[str, Record], item_ids: Iterable[str]) -> Snapshot:
    """The snapshot with these records, in which those of `item_ids` are new, changed or removed.

    Its rules, purchases and caches are still those of the snapshot before: see `Snapshot.with_rest`.
    """
    model, known = before.model, before.model.kernel.size
    item_ids, rows = list(item_ids), dict(before.arrival_rows)
    for item_id in item_ids:
        if before.row_of(item_id) is not None:
            continue
        if _is_arrival(records.get(item_id, NO_RECORD)):
            rows.setdefault(item_id, known + len(rows))
    size, changed = known + len(rows), _Changed()
    prices, in_stock = _longer(before.prices, size), _longer(before.in_stock, size)
    boosts, deleted = _longer(before.boosts, size), _longer(before.deleted, size)
    for item_id in item_ids:
        known_row, record = before.row_of(item_id), records.get(item_id, NO_RECORD)
        row = rows.get(item_id) if known_row is None else known_row
        if row is None:
            continue
        price, stock = (np.nan, True) if known_row is None else (model.prices[row], model.in_stock[row])
        prices[row] = price if record.price is None else record.price
        in_stock[row] = stock if record.in_stock is None else record.in_stock
        boosts[row] = 1.0 if record.boost is None else record.boost
        # An arrival that is gone keeps its row until the next model.
        deleted[row] = record.deleted or (known_row is None and not _is_arrival(record))
        _note(changed, before, row, before.records.get(item_id, NO_RECORD), record)
    categories = before.categories
    if changed.categories or changed.listed:
        categories = categories.changed(changed.categories, deleted)
    features = changed.features
    mixtures = before.mixtures.changed(
        len(rows),
        [row - known for row in features if row >= known],
        known=any(row < known for row in features),
    )
    after = replace(
        before,
        records=records,
        arrivals=tuple(rows),
        prices=prices,
        in_stock=in_stock,
        boosts=boosts,
        deleted=deleted,
        categories=categories,
        mixtures=mixtures,
    )
    _carry_over(before, after, changed)
    return after


def _is_arrival(record: Record) -> bool:
    """Whether the record makes an item that the model does not know one of the shop's."""
    return not record.deleted and bool(record.name)


def _longer(values: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty(size, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


def _note(changed: _Changed, snapshot: Snapshot, row: int, old: Record, new: Record) -> None:
    """Note what a new record changes in a row."""
    is_new, category = row >= snapshot.size, new.category
    if category is None and not snapshot.is_cold(row):
        category = snapshot.model.stored.items.categories[row]
    if is_new or not is_same(category, snapshot.category(row)):
        changed.categories[row] = category
        changed.texts.add(row)
    if is_new or new.name != old.name:
        changed.texts.add(row)
    if snapshot.is_cold(row) and new.price != old.price:
        changed.cold_prices.add(row)
    # As text: 1 and True are equal.
    if is_new or repr(new.attributes) != repr(old.attributes):
        changed.attributes.add(row)
    if is_new or new.parent_id != old.parent_id:
        changed.parents.add(row)
    if new.deleted != old.deleted or bool(new.name) != bool(old.name):
        changed.listed.add(row)


def _carry_over(before: Snapshot, after: Snapshot, changed: _Changed) -> None:
    """Keep what was computed from parts of the snapshot that have not changed."""
    same_mixtures = after.mixtures.arrivals is before.mixtures.arrivals
    unchanged = {
        "attribute_columns": not changed.attributes and not changed.listed,
        "parents": not changed.parents and not changed.listed,
        "variants": not changed.parents and not changed.listed,
        "moved_mixtures": same_mixtures,
        "log_usual": same_mixtures,
    }
    for name, is_unchanged in unchanged.items():
        if is_unchanged and name in before.__dict__:
            after.__dict__[name] = before.__dict__[name]
    if "search" in before.__dict__:
        texts = {row: after.search_text(row) for row in changed.texts}
        after.__dict__["search"] = (
            before.search.changed(after.size, texts, after.search_texts) if texts else before.search
        )
