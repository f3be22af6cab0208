"""Items: search, related items, and changes of overrides."""

from __future__ import annotations

import asyncio
import base64
import binascii
from itertools import islice
from typing import Any

import numpy as np

from app.catalogue.overrides import OverrideStore
from app.catalogue.relations import CODES, lift_fields
from app.catalogue.schemas import (
    CategoriesAnswer,
    CategoryEntry,
    ItemAnswer,
    ItemsAnswer,
    ItemSearch,
    RelatedAnswer,
    RelatedItem,
    RelatedQuery,
)
from app.catalogue.snapshot import Snapshot, SnapshotHolder
from app.http.errors import Invalid, ItemNotFound
from app.runtime.compute import Compute

_SEARCH_OPERATIONS = 100  # the cost of comparing one name, in multiply-adds


class ItemService:
    """Searches and changes items."""

    def __init__(
        self, snapshots: SnapshotHolder, store: OverrideStore, compute: Compute, poll_seconds: float
    ) -> None:
        self._snapshots = snapshots
        self._store = store
        self._compute = compute
        self._poll_seconds = poll_seconds
        self._seen: int | None = None  # the number of the latest change that is applied
        self._refreshing = asyncio.Lock()

    async def poll(self) -> None:
        """Apply the changes of other processes. While Redis is unavailable, the last known overrides stay."""
        if await self._store.latest() != self._seen:
            await self._refresh()

    async def pause(self) -> None:
        """Wait until the next poll."""
        await asyncio.sleep(self._poll_seconds)

    async def _refresh(self) -> None:
        async with self._refreshing:  # or the older of two responses could be applied last
            changes = await self._store.since(self._seen)
            await asyncio.to_thread(self._snapshots.use_changes, changes)
            self._seen = changes.number

    async def patch(self, item_id: str, fields: dict[str, Any]) -> ItemAnswer:
        """Change an item's override; other processes apply it at their next poll."""
        _row(self._snapshots.current(), item_id)
        await self._store.patch(item_id, fields)
        await self._refresh()
        return self.get(item_id)

    def get(self, item_id: str) -> ItemAnswer:
        """One item."""
        snapshot = self._snapshots.current()
        return ItemAnswer.of(snapshot, _row(snapshot, item_id))

    def categories(self) -> CategoriesAnswer:
        """All categories, ordered by their most popular items."""
        model = self._snapshots.current().model
        entries = [CategoryEntry(category=name, items=len(rows)) for name, rows in model.categories.items()]
        return CategoriesAnswer(model_version=model.version, categories=entries)

    async def search(self, search: ItemSearch) -> ItemsAnswer:
        """A page of the items that match."""
        snapshot = self._snapshots.current()
        operations = snapshot.model.kernel.size * _SEARCH_OPERATIONS
        return await self._compute.run(operations, lambda: _search(snapshot, search))

    async def related(self, item_id: str, query: RelatedQuery) -> RelatedAnswer:
        """Complements or substitutes of an item."""
        snapshot = self._snapshots.current()
        row = _row(snapshot, item_id)
        return await self._compute.run(snapshot.model.operations(1), lambda: _related(snapshot, row, query))


def _row(snapshot: Snapshot, item_id: str) -> int:
    row = snapshot.row_of(item_id)
    if row is None:
        raise ItemNotFound(f"Model {snapshot.model.version} does not know item {item_id!r}.")
    return row


def _search(snapshot: Snapshot, search: ItemSearch) -> ItemsAnswer:
    model, words = snapshot.model, search.q.casefold().split()
    first = 0 if search.cursor is None else _row_after(snapshot, search.cursor)
    if search.category is None:
        rows = iter(range(first, model.kernel.size))
    else:
        members = model.categories.get(search.category, np.empty(0, dtype=np.intp))
        rows = iter(members[members >= first].tolist())
    matching = (row for row in rows if all(word in model.search_names[row] for word in words))
    page = list(islice(matching, search.limit + 1))
    more = len(page) > search.limit
    return ItemsAnswer(
        model_version=model.version,
        items=[ItemAnswer.of(snapshot, row) for row in page[: search.limit]],
        next_cursor=_cursor_after(snapshot.item_id(page[search.limit - 1])) if more else None,
    )


def _cursor_after(item_id: str) -> str:
    """A cursor holds the last item's id rather than its row, so that it survives a change of the model."""
    return base64.urlsafe_b64encode(item_id.encode()).decode().rstrip("=")


def _row_after(snapshot: Snapshot, cursor: str) -> int:
    try:
        item_id = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        item_id = ""
    row = snapshot.row_of(item_id)
    if row is None:
        raise Invalid(("query.cursor", "it is not a next_cursor of this catalogue: start without one"))
    return row + 1


def _related(snapshot: Snapshot, row: int, query: RelatedQuery) -> RelatedAnswer:
    items: list[RelatedItem] = []
    if (relations := snapshot.model.relations) is not None:
        others = relations.related(row, CODES[query.relation])
        others = others[snapshot.factors(query)[others] > 0]
        found = relations.between(np.full(len(others), row), others)
        order = found.surest_first(CODES[query.relation])[: query.k]
        items = [
            RelatedItem(
                item_id=snapshot.item_id(other),
                name=snapshot.name(other),
                category=snapshot.category(other),
                price=snapshot.price(other),
                **lift_fields(found, pair),
            )
            for pair, other in zip(order.tolist(), others[order].tolist(), strict=True)
        ]
    return RelatedAnswer(
        model_version=snapshot.model.version,
        item_id=snapshot.item_id(row),
        relation=query.relation,
        items=items,
    )
