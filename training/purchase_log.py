"""Drain the service's purchase log, a Redis stream, into Parquet files, exactly once.

A file is committed by renaming it. Entries are deleted from the stream only after that, and every drain
starts at the oldest entry and skips entries that are already in a file. So a crash before the renaming loses
nothing, and a crash after it repeats nothing.

Entry ids are timestamps: two Redis servers can produce the same ids, and a server whose clock was set back
can produce smaller ids than before. Each server therefore keeps a random name, its origin, which is part of
the file names and basket ids, so that entries of different servers are never confused.

Corrections and forgotten shoppers change earlier files and purchases that are still in the stream. An entry
is deleted after all earlier ones, so no purchase outlives its correction.

An entry that is none of these stays in the stream, with a warning: nothing is lost, and no job fails.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, Field, Json, ValidationError
from redis import Redis

from training.purchase_files import (
    Basket,
    CorrectedBasket,
    EntryId,
    PurchaseFiles,
    entry_order,
    purchases_folder,
)

__all__ = ["ENTRIES_AT_ONCE", "FOLLOWED", "ORIGIN", "drain", "forgets_shoppers", "purchases_folder"]

_log = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 20_000  # per file
ORIGIN = "tripod:origin"  # the key that holds a server's origin
FOLLOWED = "tripod:shoppers:position"  # the key of the last entry that the service has put into profiles

_NAMED = 5  # entry ids listed in a warning
_ENTRY_ID = re.compile(rb"\d+-\d+")

Line = tuple[Annotated[str, Field(min_length=1)], Annotated[int, Field(ge=-(2**63), lt=2**63)]]


class _Fields(BaseModel):
    """The fields of a purchase or a correction."""

    lines: Json[list[Line]]
    order_id: Annotated[str, Field(min_length=1)] | None = None
    shopper: str | None = None
    timestamp: Annotated[int, Field(ge=0, lt=2**53)] | None = None  # milliseconds
    corrects: Annotated[str, Field(pattern=r"^\d+-\d+$")] | None = None


class _Forget(BaseModel):
    forget: str


@dataclass
class _Changes:
    """Corrections and forgotten shoppers in the stream."""

    corrected: dict[str, CorrectedBasket] = field(
        default_factory=dict
    )  # the latest, by entry of the purchase
    forgotten: dict[str, EntryId] = field(default_factory=dict)  # the latest time, by shopper
    last: str | None = None  # entry of the stream

    def applied(self, basket: Basket) -> Basket | None:
        """A basket of the stream after the changes; None if nothing is left of it."""
        if basket.shopper is not None and entry_order(basket.entry) < self.forgotten.get(
            basket.shopper, (0, 0)
        ):
            return None
        if correction := self.corrected.get(basket.entry):
            basket = replace(basket, lines=correction.lines)
        return basket if basket.lines else None


def drain(client: Redis, stream: str, folder: str) -> int:
    """Move all purchases from the stream to files in the folder; returns the number of new purchases."""
    client.set(ORIGIN, secrets.token_hex(6), nx=True)
    kept: Any = client.get(ORIGIN)
    origin = kept.decode()
    files = PurchaseFiles(folder)
    files.remove_unfinished()
    followed, changes = _followed(client), _changes(client, stream, origin)
    files.change(origin, changes.corrected.values(), changes.forgotten)
    moved, unreadable = 0, list[str]()
    for entries in _batches(client, stream, changes.last):
        read = {entry.decode(): _read(entry, fields, origin) for entry, fields in entries}
        unreadable += [entry for entry, found in read.items() if found is None]
        moved += _move(
            files, [found for found in read.values() if isinstance(found, Basket)], origin, changes
        )
        done = [entry for entry, found in read.items() if found and _is_followed(entry, followed)]
        if done:
            client.xdel(stream, *done)
    if unreadable:
        _log.warning(
            "%d entries of the stream %s are not purchases and stay there (XRANGE shows them, XDEL removes "
            "them); the first ids: %s",
            len(unreadable),
            stream,
            ", ".join(unreadable[:_NAMED]),
        )
    return moved


def forgets_shoppers(client: Redis, stream: str) -> bool:
    """Whether the stream still has an entry that forgets a shopper."""
    return any(b"forget" in fields for entries in _batches(client, stream) for _, fields in entries)


def _batches(client: Redis, stream: str, last: str | None = None) -> Iterator[list[Any]]:
    """The entries up to the last one; those added in the meantime wait for the next drain."""
    first = "-"
    while True:
        entries: Any = client.xrange(stream, first, last or "+", count=ENTRIES_AT_ONCE)
        if entries:
            yield entries
        if len(entries) < ENTRIES_AT_ONCE:
            return
        first = f"({entries[-1][0].decode()}"


def _changes(client: Redis, stream: str, origin: str) -> _Changes:
    changes = _Changes()
    for entries in _batches(client, stream):
        for entry, fields in entries:
            found = _read(entry, fields, origin) if fields.keys() & {b"corrects", b"forget"} else None
            if isinstance(found, CorrectedBasket):
                changes.corrected[found.entry] = found
            elif isinstance(found, _Forget):
                changes.forgotten[found.forget] = entry_order(entry.decode())
            changes.last = entry.decode()
    return changes


def _read(entry: bytes, fields: dict[bytes, bytes], origin: str) -> Basket | CorrectedBasket | _Forget | None:
    """Parse an entry of the stream; None if it is not one of ours."""
    try:
        named = {name.decode(): value for name, value in fields.items()}
        if "forget" in named:
            return _Forget.model_validate(named)
        found = _Fields.model_validate(named)
    except (ValidationError, UnicodeDecodeError):
        return None
    purchase = found.corrects or entry.decode()
    # The prefix separates the ids of carts from those in the shop's own data.
    basket_id = found.order_id or f"purchase:{origin}:{purchase}"
    if found.corrects is not None:
        return CorrectedBasket(basket_id, purchase, found.lines)
    time = entry_order(purchase)[0] if found.timestamp is None else found.timestamp
    return Basket(basket_id, purchase, found.lines, time, found.shopper)


def _move(files: PurchaseFiles, purchases: list[Basket], origin: str, changes: _Changes) -> int:
    """Write purchases, in order, to one file; returns the number of new purchases."""
    if not purchases:
        return 0
    known = files.baskets(origin, entry_order(purchases[0].entry), entry_order(purchases[-1].entry))
    left = [changes.applied(basket) for basket in purchases if not _is_known(basket, known)]
    new = [basket for basket in left if basket is not None]
    if new:
        files.add(origin, new)
    return len(new)


def _is_known(basket: Basket, known: dict[str, set[str]]) -> bool:
    """Whether it is in a file; files of release 0.1 do not name the server, so the items must match too."""
    items = {item for item, _ in basket.lines}
    return basket.basket_id in known or known.get(f"purchase:{basket.entry}") == items


def _followed(client: Redis) -> EntryId | None:
    """The last entry that the service has put into the profiles of shoppers; None without profiles."""
    found: Any = client.get(FOLLOWED)
    return entry_order(found.decode()) if found and _ENTRY_ID.fullmatch(found) else None


def _is_followed(entry: str, followed: EntryId | None) -> bool:
    """Whether profiles no longer need the entry; if they do, the next drain finds it in a file."""
    return followed is None or entry_order(entry) <= followed
