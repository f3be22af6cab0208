"""The current catalogue, and what can be asked of it and changed in it."""

from __future__ import annotations

import asyncio
import base64
import binascii
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np

from app.compute import Compute
from app.errors import Invalid, ItemNotFound, ModelMissing
from app.filters import allowed
from app.items.catalogue import Catalogue
from app.items.schemas import (
    CategoriesAnswer,
    CategoryEntry,
    ItemAnswer,
    ItemsAnswer,
    ItemSearch,
    RelatedAnswer,
    RelatedItem,
    RelatedQuery,
)
from app.items.store import Changes, Override, OverrideStore
from app.models.loaded import LoadedModel
from app.relations import CODES, lift_fields

_SEARCH_OPERATIONS = 100  # comparing a name is worth about this many multiply-adds


class Catalogues:
    """Holds the one catalogue in use. Replacing it is one assignment, so no request sees half of a change."""

    def __init__(self) -> None:
        self._writing = Lock()  # models and overrides come from different threads
        self._catalogue: Catalogue | None = None
        self._overrides: dict[str, Override] = {}
        self._revision = 0

    @property
    def model(self) -> LoadedModel | None:
        """The model in use, if any."""
        return self._catalogue.model if self._catalogue else None

    def current(self) -> Catalogue:
        """The catalogue in use, or ModelMissing."""
        if self._catalogue is None:
            raise ModelMissing("No model is loaded: see /readyz for the reason, and publish one if need be.")
        return self._catalogue

    def use_model(self, model: LoadedModel) -> None:
        """Swap the model."""
        with self._writing:
            self._catalogue = Catalogue.of(model, self._overrides, self._revision)

    def use_changes(self, changes: Changes) -> None:
        """Take up new overrides. Of a few only their rows are touched."""
        overrides = changes.overrides()
        with self._writing:
            self._revision = changes.number
            if changes.are_all:
                self._overrides = overrides
                if self._catalogue is not None:
                    self._catalogue = Catalogue.of(self._catalogue.model, overrides, changes.number)
            else:
                self._overrides.update(overrides)
                if self._catalogue is not None:
                    self._catalogue = self._catalogue.changed(overrides, changes.number)


class ItemService:
    """Searches, relates and changes items."""

    def __init__(
        self, catalogues: Catalogues, store: OverrideStore, compute: Compute, poll_seconds: float
    ) -> None:
        self._catalogues = catalogues
        self._store = store
        self._compute = compute
        self._poll_seconds = poll_seconds
        self._seen: int | None = None  # the number of the latest change that is in the catalogue
        self._refreshing = asyncio.Lock()

    async def look(self) -> None:
        """Take up changes of other processes; while Redis is unavailable the last ones stay in force."""
        if await self._store.latest() != self._seen:
            await self._refresh()

    async def pause(self) -> None:
        """Until the next look."""
        await asyncio.sleep(self._poll_seconds)

    async def _refresh(self) -> None:
        async with self._refreshing:  # or else the older of two answers could be taken up last
            changes = await self._store.since(self._seen)
            await asyncio.to_thread(self._catalogues.use_changes, changes)
            self._seen = changes.number

    async def patch(self, item_id: str, fields: dict[str, Any]) -> ItemAnswer:
        """Change what the shop says about an item; other processes follow at their next look."""
        _row(self._catalogues.current(), item_id)
        await self._store.patch(item_id, fields)
        await self._refresh()
        return self.get(item_id)

    def get(self, item_id: str) -> ItemAnswer:
        """One item."""
        catalogue = self._catalogues.current()
        return ItemAnswer.of(catalogue, _row(catalogue, item_id))

    def categories(self) -> CategoriesAnswer:
        """All categories, in the order of their most popular items."""
        model = self._catalogues.current().model
        entries = [CategoryEntry(category=name, items=len(rows)) for name, rows in model.categories.items()]
        return CategoriesAnswer(model_version=model.version, categories=entries)

    async def search(self, search: ItemSearch) -> ItemsAnswer:
        """A page of the items that match."""
        catalogue = self._catalogues.current()
        operations = catalogue.model.kernel.size * _SEARCH_OPERATIONS
        return await self._compute.run(operations, lambda: _search(catalogue, search))

    async def related(self, item_id: str, query: RelatedQuery) -> RelatedAnswer:
        """The surest complements or substitutes of an item."""
        catalogue = self._catalogues.current()
        row = _row(catalogue, item_id)
        return await self._compute.run(catalogue.model.operations(1), lambda: _related(catalogue, row, query))


def _row(catalogue: Catalogue, item_id: str) -> int:
    row = catalogue.row_of(item_id)
    if row is None:
        raise ItemNotFound(f"Model {catalogue.model.version} does not know item {item_id!r}.")
    return row


def _search(catalogue: Catalogue, search: ItemSearch) -> ItemsAnswer:
    model, words = catalogue.model, search.q.casefold().split()
    first = 0 if search.cursor is None else _row_after(catalogue, search.cursor)
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
        items=[ItemAnswer.of(catalogue, row) for row in page[: search.limit]],
        next_cursor=_cursor_after(catalogue.item_id(page[search.limit - 1])) if more else None,
    )


def _cursor_after(item_id: str) -> str:
    """A cursor names the last item seen rather than its row, so it outlives a change of the model."""
    return base64.urlsafe_b64encode(item_id.encode()).decode().rstrip("=")


def _row_after(catalogue: Catalogue, cursor: str) -> int:
    try:
        item_id = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        item_id = ""
    row = catalogue.row_of(item_id)
    if row is None:
        raise Invalid(
            ("query.cursor", "it is not the next_cursor of a page of this catalogue: start without one")
        )
    return row + 1


def _related(catalogue: Catalogue, row: int, query: RelatedQuery) -> RelatedAnswer:
    items: list[RelatedItem] = []
    if (relations := catalogue.model.relations) is not None:
        others = relations.stated(row, CODES[query.relation])
        others = others[allowed(catalogue, query, others)]
        found = relations.between(np.full(len(others), row), others)
        order = found.surest_first(CODES[query.relation])[: query.k]
        items = [
            RelatedItem(
                item_id=catalogue.item_id(other),
                name=catalogue.name(other),
                category=catalogue.category(other),
                price=catalogue.price(other),
                **lift_fields(found, pair),
            )
            for pair, other in zip(order.tolist(), others[order].tolist(), strict=True)
        ]
    return RelatedAnswer(
        model_version=catalogue.model.version,
        item_id=catalogue.item_id(row),
        relation=query.relation,
        items=items,
    )
