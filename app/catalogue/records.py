"""Records: what the shop itself says about its items, kept in Redis as a hash and a log of changes.

Each change has a number, and its log entry has the number of the change before it. A process that has applied
one change reads the entries after it as long as they form a chain, and then the records of the items they
name. Otherwise it reads all records: when the log is too short, when Redis lost data, or after a change by
release 0.1, which writes no log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from app.redis.client import RedisLink

_RECORDS = "tripod:items"
CHANGES = "tripod:items:changes"  # the number of the latest change
_LOG = "tripod:items:log"
_LOG_LENGTH = 2_000
_AT_ONCE = 500  # records that one step changes, with one log entry
_READ_AT_ONCE = 2_000
_LARGEST = 1e15  # number of an attribute
_SCRIPT = Path(__file__).with_name("change_records.lua").read_text()

Attribute = str | float | bool | list[str]
Fields = dict[str, Any]  # a record as JSON
MOST_ATTRIBUTES = 50


class Refusal(NamedTuple):
    """Why an edit is refused, and because of which field."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the record of an item."""

    item_id: str
    known: bool  # whether the model knows the item
    change: Callable[[Fields], Fields | Refusal]  # from its fields, empty if there is no record


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of edits, by their positions."""

    refused: dict[int, Refusal] = field(default_factory=dict)
    new: set[int] = field(default_factory=set)  # edits of items that the shop did not have before


MISSING = Refusal("item_id", "the shop has no such item")
_UNNAMED = Refusal("item_id", f"{MISSING.message}: give it a name to create it")
_NAMELESS = Refusal("name", "the model does not know this item, so it needs a name")
_HIDDEN = Refusal("item_id", "another page has the address of this item: give it another id")
_TOO_MANY = Refusal("attributes", f"an item has at most {MOST_ATTRIBUTES}: remove some with null")


@dataclass(frozen=True, slots=True)
class Record:
    """What the shop says about an item; None: it says nothing, and the model's value holds."""

    name: str | None = None
    category: str | None = None
    price: float | None = None
    in_stock: bool | None = None
    boost: float | None = None
    image_url: str | None = None
    parent_id: str | None = None  # of a variant: items with the same one are variants of each other
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    deleted: bool = False  # an item that the shop no longer has

    @classmethod
    def parse(cls, text: bytes) -> Record:
        """Parse the JSON in Redis. What a newer release may have added is ignored."""
        try:
            fields = json.loads(text or b"{}")
        except ValueError:
            fields = {}
        if not isinstance(fields, dict):
            fields = {}
        return cls(
            name=_text(fields.get("name")),
            category=_text(fields.get("category")),
            price=_number(fields.get("price"), 1e9),
            in_stock=_boolean(fields.get("in_stock")),
            boost=_number(fields.get("boost"), 1000),
            image_url=_text(fields.get("image_url")),
            parent_id=_text(fields.get("parent_id")),
            attributes=_attributes(fields.get("attributes")),
            deleted=fields.get("deleted") is True,
        )


NO_RECORD = Record()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: Any, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None  # false for NaN


def _attributes(values: Any) -> dict[str, Attribute]:
    """The attributes of types that are known."""
    return {
        name: value
        for name, value in (values.items() if isinstance(values, dict) else ())
        if isinstance(value, str | bool)
        or (isinstance(value, int | float) and abs(value) <= _LARGEST)
        or (isinstance(value, list) and all(isinstance(text, str) for text in value))
    }


def replaced_by(item_id: str, fields: Fields, *, known: bool) -> Edit:
    """The edit that replaces a record, also that of a deleted item."""
    return Edit(item_id, known, lambda _: fields)


def merged_with(item_id: str, fields: Fields, *, known: bool, creates: bool) -> Edit:
    """The edit that changes some fields; None removes a field, or one of the attributes.

    It is refused if the shop has no such item, unless it `creates` the item and the fields name it; and if it
    takes the name from an item that only the shop knows.
    """

    def change(record: Fields) -> Fields | Refusal:
        if not is_listed(record, known=known):
            if not (creates and fields.get("name")):
                return _UNNAMED if creates else MISSING
            record = {}
        merged = record | fields
        if fields.get("attributes") is not None:
            merged["attributes"] = _without_none(record.get("attributes", {}) | fields["attributes"]) or None
        merged = _without_none(merged)
        if len(merged.get("attributes", ())) > MOST_ATTRIBUTES:
            return _TOO_MANY
        return merged if is_listed(merged, known=known) else _NAMELESS

    return Edit(item_id, known, change)


def deleted(item_id: str, *, known: bool) -> Edit:
    """The edit that deletes an item. A mark stays, because a model may know the item, now or later."""
    return Edit(
        item_id, known, lambda record: {"deleted": True} if is_listed(record, known=known) else MISSING
    )


def is_listed(record: Fields, *, known: bool) -> bool:
    """Whether the shop has the item: the model knows it, or its record names it."""
    return not record.get("deleted") and (known or bool(record.get("name")))


def _without_none(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Changes:
    """The records that have changed, or all of them."""

    number: int  # of the latest change
    texts: dict[bytes, bytes]  # by item id; empty if the record was removed
    are_all: bool

    def parsed(self) -> Iterator[tuple[str, Record | None]]:
        """The records by item id, None if removed."""
        for item_id, text in self.texts.items():
            yield item_id.decode(errors="replace"), Record.parse(text) if text else None


class RecordStore:
    """Reads and changes records."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._script = link.client.register_script(_SCRIPT)

    async def edit(self, edits: Sequence[Edit]) -> Edited:
        """Make edits of items, in order. A record that changes in between is read and edited again."""
        done = Edited()
        for start in range(0, len(edits), _AT_ONCE):
            pending = list(range(start, min(start + _AT_ONCE, len(edits))))
            while pending:
                ids = {position: edits[position].item_id.encode() for position in pending}
                before = await self._texts(list(dict.fromkeys(ids.values())))
                after = dict(before)
                for position, item_id in ids.items():
                    done.refused.pop(position, None)
                    done.new.discard(position)
                    text, is_new = _edited(after[item_id], edits[position])
                    if isinstance(text, Refusal):
                        done.refused[position] = text
                        continue
                    after[item_id] = text
                    if is_new:
                        done.new.add(position)
                arguments = [
                    part for item_id, text in after.items() for part in (item_id, before[item_id], text)
                ]
                with self._link.call(writes=True):
                    conflicts = await self._script(
                        keys=[_RECORDS, CHANGES, _LOG], args=[_LOG_LENGTH, *arguments]
                    )
                pending = [position for position in pending if ids[position] in conflicts]
        return done

    async def since(self, number: int | None) -> Changes:
        """The changes after a number; all records if it is None or the log does not reach back to it."""
        if number is not None:
            with self._link.call() as redis:
                both = redis.pipeline(transaction=True)
                both.get(CHANGES)
                both.xrange(_LOG, f"{number}-1", "+")
                latest, entries = await both.execute()
            if _is_chain(number, int(latest or 0), entries):
                ids = dict.fromkeys(
                    item_id.encode() for _, fields in entries for item_id in json.loads(fields[b"items"])
                )
                # The records may be newer than the number: then they are read once more with the next one.
                return Changes(int(latest or 0), await self._texts(list(ids)), are_all=False)
        before = int(await self._link.read("GET", CHANGES) or 0)
        return Changes(before, await self._all(), are_all=True)

    async def _texts(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        texts: dict[bytes, bytes] = {}
        for start in range(0, len(ids), _READ_AT_ONCE):
            part = ids[start : start + _READ_AT_ONCE]
            with self._link.call() as redis:
                found: list[Any] = await redis.hmget(_RECORDS, part)
            texts |= {item_id: text or b"" for item_id, text in zip(part, found, strict=True)}
        return texts

    async def _all(self) -> dict[bytes, bytes]:
        texts: dict[bytes, bytes] = {}
        cursor, found = 0, dict[Any, Any]()
        while True:  # in parts: Redis would serve nobody else while it sends half a million records
            with self._link.call() as redis:
                cursor, found = await redis.hscan(_RECORDS, cursor, count=_READ_AT_ONCE)  # type: ignore[assignment]
            texts |= found
            if cursor == 0:
                return texts


def _edited(text: bytes, edit: Edit) -> tuple[bytes | Refusal, bool]:
    """The new text of a record, and whether the item is new to the shop."""
    try:
        fields = from_json(text) if text else {}
    except ValueError:  # not ours
        fields = {}
    if not isinstance(fields, dict):
        fields = {}
    changed = edit.change(fields)
    if isinstance(changed, Refusal):
        return changed, False
    is_new = not is_listed(fields, known=edit.known) and is_listed(changed, known=edit.known)
    if is_new and not edit.known and _is_hidden(edit.item_id):
        return _HIDDEN, False
    return to_json(changed) if changed else b"", is_new


def _is_hidden(item_id: str) -> bool:
    """Whether `GET /items/{item_id}` is not the item but the export, or the related items of another one."""
    return item_id == "export" or item_id.endswith("/related")


def _is_chain(number: int, latest: int, entries: Iterable[tuple[bytes, dict[bytes, bytes]]]) -> bool:
    """Whether the log entries lead from one change to the other without a gap."""
    for entry_id, fields in entries:
        if int(fields[b"after"]) != number or b"items" not in fields:
            return False
        number = int(entry_id.split(b"-")[0])
    return number == latest
