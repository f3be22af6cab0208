"""Items: search, related items, and changes of what the shop says about them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from time import thread_time

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json

from app.catalogue.filters import in_categories, selection
from app.catalogue.follower import CatalogueFollower
from app.catalogue.holder import SnapshotHolder
from app.catalogue.records import MISSING, Edit, Edited, RecordStore, deleted, merged_with, replaced_by
from app.catalogue.relations import CODES, lift_fields
from app.catalogue.schemas import (
    MOST_ITEMS,
    CategoriesAnswer,
    CategoryEntry,
    ChangesAnswer,
    FailedItem,
    ItemAnswer,
    ItemChange,
    ItemPatch,
    ItemsAnswer,
    ItemSearch,
    ItemWrite,
    RelatedAnswer,
    RelatedItem,
    RelatedQuery,
    described,
)
from app.catalogue.snapshot import Snapshot
from app.http.errors import BadRequest, Invalid, ItemNotFound
from app.http.lines import LINES_AT_ONCE, NumberedLine, batches_of_lines
from app.http.problems import InvalidPart, parts_of
from app.runtime.compute import Compute
from ndpp.kernel import Indices

_SEARCH_OPERATIONS = 60  # the cost of one row, in multiply-adds
_CATEGORIES_SHOWN = 50
_FAILURES_SHOWN = 100
_REST = 4.0  # after a batch of many changes, as a multiple of the time that it took of the event loop
_AT_ONCE = 500  # items that are exported before other requests get their turn


class ItemService:
    """Searches and changes items."""

    def __init__(
        self,
        snapshots: SnapshotHolder,
        store: RecordStore,
        follower: CatalogueFollower,
        compute: Compute,
        max_line_bytes: int,
    ) -> None:
        self._snapshots = snapshots
        self._store = store
        self._follower = follower
        self._compute = compute
        self._max_line_bytes = max_line_bytes

    async def put(self, item_id: str, item: ItemWrite) -> tuple[bool, ItemAnswer]:
        """Create or replace an item; returns whether it is new to the shop, and the item."""
        is_new = await self._edit_one(replaced_by(item_id, item.fields(), known=self._knows(item_id)))
        return is_new, self.get(item_id)

    async def patch(self, item_id: str, patch: ItemPatch) -> ItemAnswer:
        """Change fields of an item; other processes apply it at their next poll."""
        await self._edit_one(merged_with(item_id, patch.fields(), known=self._knows(item_id), creates=False))
        return self.get(item_id)

    async def delete(self, item_id: str) -> None:
        """Delete an item."""
        await self._edit_one(deleted(item_id, known=self._knows(item_id)))

    async def _edit_one(self, edit: Edit) -> bool:
        """Make an edit; returns whether the item is new to the shop."""
        done = await self._edit([edit])
        await self._follower.refresh()
        for field, message in done.refused.values():
            if (field, message) == MISSING:
                raise _not_found(edit.item_id)
            raise Invalid(("path.item_id" if field == "item_id" else f"body.{field}", message))
        return bool(done.new)

    async def _edit(self, edits: Sequence[Edit]) -> Edited:
        """Make edits. What was bought of an earlier item with the id of a new one does not count."""
        done = await self._store.edit(edits)
        await self._follower.purchases.forget([edits[position].item_id for position in done.new])
        return done

    def _knows(self, item_id: str) -> bool:
        return self._snapshots.current().row_of(item_id) is not None

    async def patch_json(self, body: bytes) -> ChangesAnswer:
        """Change the items of a JSON body; wrong ones are listed and do not stop the others."""
        try:
            document = from_json(body)
        except ValueError as error:
            raise BadRequest(f"The body is not valid JSON: {error}.") from None
        changes = document.get("items") if isinstance(document, dict) else None
        if not isinstance(changes, list) or len(document) > 1:
            raise Invalid(("body", 'it must be an object {"items": [{"item_id": …}, …]}'))
        if not 1 <= len(changes) <= MOST_ITEMS:
            raise Invalid(("body.items", f"a request changes 1 to {MOST_ITEMS:,} items: send more as NDJSON"))
        answer = ChangesAnswer(changed=0, failed_count=0, failed=[])
        for start in range(0, len(changes), LINES_AT_ONCE):
            await self._change(answer, list(enumerate(changes[start : start + LINES_AT_ONCE], start + 1)))
        await self._follower.refresh()
        return answer

    async def patch_lines(self, body: AsyncIterable[bytes]) -> ChangesAnswer:
        """Change the items of a body of one JSON object a line; wrong lines do not stop the others."""
        answer = ChangesAnswer(changed=0, failed_count=0, failed=[])
        async for batch in batches_of_lines(body, self._max_line_bytes):
            await self._change(answer, [(line.number, line) for line in batch])
        await self._follower.refresh()
        return answer

    async def _change(self, answer: ChangesAnswer, given: Sequence[tuple[int, object]]) -> None:
        """Make a batch of numbered changes. A full one is followed by a rest in which others go on."""
        start = thread_time()
        lines, edits, failed = list[int](), list[Edit](), list[FailedItem]()
        for line, value in given:
            try:
                change = self._parsed(value)
            except ValidationError as error:
                failed.append(FailedItem(line=line, errors=parts_of(error)))
            except Invalid as problem:
                failed.append(FailedItem(line=line, errors=problem.members["errors"]))
            else:
                item_id = change.item_id
                lines.append(line)
                edits.append(merged_with(item_id, change.fields(), known=self._knows(item_id), creates=True))
        refused = (await self._edit(edits)).refused
        for position, (field, message) in refused.items():
            failed.append(
                FailedItem(line=lines[position], errors=[InvalidPart(where=field, message=message)])
            )
        answer.changed += len(edits) - len(refused)
        answer.failed_count += len(failed)
        failed.sort(key=lambda each: each.line)
        answer.failed += failed[: _FAILURES_SHOWN - len(answer.failed)]
        if len(given) == LINES_AT_ONCE:
            await asyncio.sleep(_REST * (thread_time() - start))

    def _parsed(self, value: object) -> ItemChange:
        if not isinstance(value, NumberedLine):
            return ItemChange.model_validate(value)
        if value.text is None:
            raise Invalid(("line", f"it has more than {self._max_line_bytes} bytes"))
        return ItemChange.model_validate_json(value.text)

    async def export(self) -> AsyncIterator[bytes]:
        """All items of the shop, one JSON object a line, as `PATCH /items` accepts them."""
        snapshot = self._snapshots.current()
        for start in range(0, snapshot.size, _AT_ONCE):
            rows = range(start, min(start + _AT_ONCE, snapshot.size))
            lines = [
                json.dumps(described(snapshot, row), ensure_ascii=False)
                for row in rows
                if not snapshot.deleted[row]
            ]
            if lines:
                yield ("\n".join(lines) + "\n").encode()
            await asyncio.sleep(0)

    def get(self, item_id: str) -> ItemAnswer:
        """One item."""
        snapshot = self._snapshots.current()
        return ItemAnswer.of(snapshot, _row(snapshot, item_id))

    def categories(self) -> CategoriesAnswer:
        """All categories, ordered by their most popular items."""
        snapshot = self._snapshots.current()
        entries = [
            CategoryEntry(category=name, items=len(shown))
            for name, rows in snapshot.categories.groups()
            if len(shown := rows[~snapshot.deleted[rows]])
        ]
        return CategoriesAnswer(model_version=snapshot.model.version, categories=entries)

    async def search(self, search: ItemSearch) -> ItemsAnswer:
        """A page of the items that match."""
        snapshot = self._snapshots.current()
        operations = snapshot.size * _SEARCH_OPERATIONS
        return await self._compute.run(operations, lambda: _search(snapshot, search))

    async def related(self, item_id: str, query: RelatedQuery) -> RelatedAnswer:
        """Complements or substitutes of an item."""
        snapshot = self._snapshots.current()
        row = _row(snapshot, item_id)
        return await self._compute.run(snapshot.model.operations(1), lambda: _related(snapshot, row, query))


def _not_found(item_id: str) -> ItemNotFound:
    return ItemNotFound(f"The shop has no item {item_id!r}.")


def _row(snapshot: Snapshot, item_id: str) -> int:
    row = snapshot.listed_row(item_id)
    if row is None:
        raise _not_found(item_id)
    return row


def _search(snapshot: Snapshot, search: ItemSearch) -> ItemsAnswer:
    allowed = ~snapshot.deleted
    if search.in_stock:
        allowed &= snapshot.in_stock
    if search.filter is not None:
        allowed &= snapshot.mask(search.filter, search.place("filter"))
    rows = snapshot.search.matches(search.q, snapshot.listed_row(search.q.strip()))
    rows = rows[allowed[rows]]
    counts = _counted(snapshot, rows)
    if search.category is not None:
        rows = rows[in_categories(snapshot, [search.category], search.place("category"))[rows]]
    first = 0 if search.cursor is None else _place_after(snapshot, rows, search.cursor)
    page = rows[first : first + search.limit].tolist()
    more = first + search.limit < len(rows)
    return ItemsAnswer(
        model_version=snapshot.model.version,
        items=[ItemAnswer.of(snapshot, row) for row in page],
        total=len(rows),
        categories=counts,
        next_cursor=_cursor_after(snapshot.item_id(page[-1])) if more else None,
    )


def _counted(snapshot: Snapshot, rows: Indices) -> list[CategoryEntry]:
    """The categories with the most of the rows."""
    codes = snapshot.categories.codes[rows]
    counts = np.bincount(codes[codes >= 0], minlength=len(snapshot.categories.names))
    order = np.argsort(-counts, kind="stable")[:_CATEGORIES_SHOWN]
    return [
        CategoryEntry(category=snapshot.categories.names[code], items=int(counts[code]))
        for code in order.tolist()
        if counts[code]
    ]


def _cursor_after(item_id: str) -> str:
    """A cursor holds the last item's id rather than its place, so that it survives a change of the model."""
    return base64.urlsafe_b64encode(item_id.encode()).decode().rstrip("=")


def _place_after(snapshot: Snapshot, rows: Indices, cursor: str) -> int:
    try:
        item_id = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        item_id = ""
    row = snapshot.listed_row(item_id)
    places = np.flatnonzero(rows == row) if row is not None else np.empty(0, dtype=np.intp)
    if not len(places):
        raise Invalid(("query.cursor", "it is not a next_cursor of this list: start without one"))
    return int(places[0]) + 1


def _related(snapshot: Snapshot, row: int, query: RelatedQuery) -> RelatedAnswer:
    items: list[RelatedItem] = []
    allowed = selection(snapshot, query).factors > 0
    relations = snapshot.model.relations
    if relations is not None and not snapshot.is_cold(row):
        others = relations.related(row, CODES[query.relation])
        others = others[allowed[others]]
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
