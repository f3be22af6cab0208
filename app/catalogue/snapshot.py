"""The snapshot that a request works with: a model, the shop's records and its rules as one immutable value.

`SnapshotHolder.current()` gives the one in use. Every change makes a new snapshot, which replaces the old one
in a single assignment, so that no request sees half of a change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property, partial
from math import isnan

import numpy as np
from numpy.typing import NDArray

from app.catalogue.attributes import AttributeColumns, Columns
from app.catalogue.categories import Categories
from app.catalogue.conditions import Condition
from app.catalogue.matching import Misfit, compiled
from app.catalogue.mixtures import Mixtures
from app.catalogue.records import NO_RECORD, Record
from app.catalogue.search import SearchIndex
from app.catalogue.served_model import ServedModel
from app.catalogue.variants import Variants
from app.rules.rule import Rule
from app.runtime.caches import ByteCache
from model_store.columns import Column, Value_co
from ndpp.arrivals import Arrivals
from ndpp.item_features import ItemFeatures
from ndpp.kernel import Vector

_CACHE_BYTES = 8 << 20  # for answers, unless the settings say otherwise
_MASK_BYTES = 16 << 20
_POOL_BYTES = 64 << 20
_OF_MIXTURES = ("moved_mixtures", "log_usual")  # computed from mixtures and purchases
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The shop's catalogue: the items of a model, in its rows, and after them the items it does not know."""

    model: ServedModel
    records: Mapping[str, Record]  # by item id
    arrivals: tuple[str, ...]  # the ids of the rows after the model's: items that it does not know
    prices: Vector  # (size,), NaN where unknown
    in_stock: Flags  # (size,)
    boosts: Vector  # (size,), 1 unless the shop has set another
    deleted: Flags  # (size,)
    categories: Categories
    mixtures: Mixtures = field(default_factory=Mixtures)  # of the arrivals
    rules: tuple[Rule, ...] = ()
    purchases: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of arrivals: bought, baskets
    revision: str = "0"  # of the records, rules and purchases that are applied
    # All are empty in a new snapshot.
    cache: ByteCache = field(default_factory=partial(ByteCache, _CACHE_BYTES))  # answers
    masks: ByteCache = field(default_factory=partial(ByteCache, _MASK_BYTES))  # of conditions
    pools: ByteCache = field(default_factory=partial(ByteCache, _POOL_BYTES))  # of filters

    def with_rest(
        self,
        rules: tuple[Rule, ...],
        purchases: Mapping[str, tuple[int, int]],
        revision: str,
        cache_bytes: int = _CACHE_BYTES,
    ) -> Snapshot:
        """The snapshot with these rules and purchases of arrivals."""
        after = replace(
            self,
            rules=rules,
            purchases=purchases,
            revision=revision,
            cache=ByteCache(cache_bytes),
            masks=ByteCache(_MASK_BYTES),
            pools=ByteCache(_POOL_BYTES),
        )
        return after._computed_as_in(self, besides=() if purchases is self.purchases else _OF_MIXTURES)

    def with_mixtures(self, mixtures: Mixtures) -> Snapshot:
        """The snapshot with these mixtures."""
        return replace(self, mixtures=mixtures)._computed_as_in(self, besides=_OF_MIXTURES)

    def _computed_as_in(self, other: Snapshot, besides: Collection[str]) -> Snapshot:
        """Take over what the other has computed, besides some of it."""
        left_out = {*besides, *(each.name for each in dataclass_fields(self))}
        self.__dict__.update({n: value for n, value in other.__dict__.items() if n not in left_out})
        return self

    def prepare(self) -> None:
        """Compute what requests need, so that the first one does not wait for it."""
        for name in ("search", "variants", "log_usual"):
            getattr(self, name)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.prices)

    @property
    def known_prices(self) -> Vector:
        """The prices of the model's items."""
        return self.prices[: self.model.kernel.size]

    @cached_property
    def arrival_rows(self) -> dict[str, int]:
        """The row of each arrival by its id."""
        return {item_id: row for row, item_id in enumerate(self.arrivals, self.model.kernel.size)}

    @property
    def listed_arrivals(self) -> list[str]:
        """The arrivals that the shop has not deleted."""
        return [item_id for item_id, row in self.arrival_rows.items() if not self.deleted[row]]

    def row_of(self, item_id: str) -> int | None:
        """The row of an item that the model knows, None for others."""
        return self.model.stored.items.row_of(item_id)

    def listed_row(self, item_id: str) -> int | None:
        """The row of an item of the shop, None if it was deleted or never listed."""
        row = self.row_of(item_id)
        if row is None:
            row = self.arrival_rows.get(item_id)
        return None if row is None or self.deleted[row] else row

    def rows_of(self, item_ids: Iterable[str]) -> list[int]:
        """The rows of the items that the model knows."""
        return [row for item_id in item_ids if (row := self.row_of(item_id)) is not None]

    def listed_rows(self, item_ids: Iterable[str]) -> list[int]:
        """The rows of the items that the shop has."""
        return [row for item_id in item_ids if (row := self.listed_row(item_id)) is not None]

    def is_shown(self, row: int) -> bool:
        """Whether the shop has the item and does not hide it with a boost of 0."""
        return not self.deleted[row] and self.boosts[row] > 0

    def is_cold(self, row: int) -> bool:
        """Whether the model does not know the item."""
        return row >= self.model.kernel.size

    def item_id(self, row: int) -> str:
        """The id of a row's item."""
        known = self.model.kernel.size
        return self.model.stored.items.ids[row] if row < known else self.arrivals[row - known]

    def name(self, row: int) -> str | None:
        """The name of a row's item."""
        name = self.record(row).name
        return self.model.stored.items.names[row] if name is None and not self.is_cold(row) else name

    def category(self, row: int) -> str | None:
        """The category of a row's item."""
        code = int(self.categories.codes[row])
        return None if code < 0 else self.categories.names[code]

    def price(self, row: int) -> float | None:
        """The price of a row's item, None if unknown."""
        price = float(self.prices[row])
        return None if isnan(price) else price

    def image_url(self, row: int) -> str | None:
        """The address of a picture of a row's item."""
        return self.record(row).image_url

    def mask(self, condition: Condition, where: str) -> Flags:
        """Which rows fulfil a condition; Invalid, with the place `where`, if it names what does not exist."""
        try:
            return self._mask(condition, where)
        except Misfit as misfit:
            raise misfit.problem() from None

    def accepts(self, condition: Condition) -> bool:
        """Whether all that a condition names exists."""
        try:
            self._mask(condition, "")
        except Misfit:
            return False
        return True

    def _mask(self, condition: Condition, where: str) -> Flags:
        key = condition.cache_key()
        found: Flags | None = self.masks.get(key)
        if found is None:
            found = compiled(condition, self._columns, where)
            self.masks.put(key, found, found.nbytes)
        return found

    def record(self, row: int) -> Record:
        """What the shop says about a row's item; an empty record if that is nothing."""
        return self.records.get(self.item_id(row), NO_RECORD) if self.records else NO_RECORD

    @cached_property
    def _described_rows(self) -> list[tuple[int, Record]]:
        """The rows with a record, and the records."""
        found = ((self.listed_row(item_id), record) for item_id, record in self.records.items())
        return [(row, record) for row, record in found if row is not None]

    @cached_property
    def attribute_columns(self) -> AttributeColumns:
        """The attributes of all rows."""
        rows = {row: record.attributes for row, record in self._described_rows if record.attributes}
        return AttributeColumns.of(self.size, rows)

    @cached_property
    def parents(self) -> dict[int, str]:
        """The parents of the rows that are variants."""
        return {row: record.parent_id for row, record in self._described_rows if record.parent_id is not None}

    @cached_property
    def _columns(self) -> Columns:
        return Columns(
            ids=_OfRows(self.size, self.item_id),
            names=_OfRows(self.size, self.name),
            categories=self.categories,
            prices=self.prices,
            in_stock=self.in_stock,
            parents=_OfRows(self.size, self.parents.get),
            attributes=self.attribute_columns,
        )

    @cached_property
    def variants(self) -> Variants:
        """Which rows are variants of each other."""
        return Variants.of(self.size, self.parents, self.listed_row)

    @cached_property
    def search(self) -> SearchIndex:
        """The index of names, ids and categories."""
        texts = {
            row: self.search_text(row)
            for row, record in self._described_rows
            if record.name is not None or record.category is not None
        }
        index = SearchIndex(self.model.words.size, self.model.words)
        return index.changed(self.size, texts, self.search_texts) if texts else index

    def search_text(self, row: int) -> str:
        """What a search for a row's item may name."""
        parts = self.name(row), self.item_id(row), self.category(row)
        return " ".join(part for part in parts if part)

    def search_texts(self) -> Iterator[str]:
        """The same for all rows."""
        return map(self.search_text, range(self.size))

    @cached_property
    def moved_mixtures(self) -> Arrivals | None:
        """Each arrival as a mixture of known items, after its first purchases; None without arrivals."""
        if not self.arrivals:
            return None
        if not self.purchases:
            return self.mixtures.arrivals
        counts = [self.purchases.get(item_id, (0, 0)) for item_id in self.arrivals]
        bought, baskets = np.array(counts, dtype=np.float64).T
        return self.mixtures.arrivals.moved_by(bought, baskets, self.model.basket_shares)

    @cached_property
    def log_usual(self) -> Vector:
        """log P(i | empty cart) of all rows."""
        usual = self.model.next_item.log_usual
        if self.moved_mixtures is None:
            return usual
        with np.errstate(divide="ignore"):
            return np.concatenate([usual, np.log(self.moved_mixtures.probabilities(np.exp(usual)))])

    def most_similar(self, row: int, besides: Collection[int] = ()) -> int | None:
        """The known item, besides these, that is most similar to an arrival, None if there is none."""
        neighbours = self.mixtures.arrivals.neighbours_of(row - self.model.kernel.size)
        return next((other for other in neighbours if other not in besides), None)

    def features(self, rows: Sequence[int]) -> ItemFeatures:
        """What is known of some rows apart from purchases."""
        # Known items are compared at the prices of the training, so that a new price changes few arrivals.
        prices = np.concatenate([self.model.prices, self.prices[self.model.kernel.size :]])
        return ItemFeatures(
            names=[self.name(row) for row in rows],
            categories=[self.category(row) for row in rows],
            prices=prices[np.asarray(rows, dtype=np.intp)],
            parents=[self.parents.get(row) for row in rows],
            attributes=[self.record(row).attributes for row in rows],
        )


class _OfRows(Column[Value_co]):
    """A value of every row, computed when it is asked for."""

    def __init__(self, size: int, value: Callable[[int], Value_co]) -> None:
        self._size, self._of = size, value

    def __len__(self) -> int:
        return self._size

    def _value(self, row: int) -> Value_co:
        return self._of(row)
