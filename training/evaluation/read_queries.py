"""Queries from a file of JSON lines, with a history or the id of a shopper."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ndpp import History
from training.baskets import NOBODY, UNKNOWN, Baskets
from training.errors import DataError
from training.evaluation.queries import Queries
from training.histories import Histories

USUAL_GAP = 7.0  # days between two baskets of a history without dates
_EXPECTED = '{"cart": [ids], "target": id}, if known with "history": [[ids], …] or "shopper_id": id'

# What the shopper with this id bought before a moment, or until the end of the data if that is None.
HistoryOf = Callable[[str, np.datetime64 | None], History | None]


class _Line(NamedTuple):
    cart: list[str]
    target: str
    history: list[list[str]] | None
    shopper_id: str | None
    time: np.datetime64 | None


def read_queries(
    path: Path,
    rows: Mapping[str, int],
    *,
    gap_days: float = USUAL_GAP,
    history_of: HistoryOf | None = None,
    notes: list[str] | None = None,
) -> Queries:
    """Read `{"cart": [ids], "target": id}` lines, if known with `history` (oldest first) or `shopper_id`.

    Unknown items of carts and histories are dropped; a query with an unknown target is kept and gets the
    worst rank. The baskets of a `history` are taken to be `gap_days` apart. `history_of` finds the baskets of
    a `shopper_id`: those before `timestamp` (ISO 8601, UTC without an offset), or all without one. A note
    says if it finds none.
    """
    carts, targets, sizes, histories, unknown = [], [], [], [], 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            query = _parse(line)
            if query.shopper_id is not None and history_of is None:
                raise ValueError("'shopper_id' needs --baskets with shoppers and timestamps")
        except ValueError as error:
            raise DataError(f"{error}: expected {_EXPECTED}", str(path), number) from None
        carts.append(np.array([rows[item] for item in query.cart if item in rows], dtype=np.int32))
        targets.append(rows.get(query.target, UNKNOWN))
        sizes.append(len(query.cart))
        if query.shopper_id is not None and history_of is not None:
            histories.append(history_of(query.shopper_id, query.time))
            unknown += histories[-1] is None
        elif query.history is not None:
            baskets = [[rows[item] for item in basket if item in rows] for basket in query.history]
            histories.append(History.in_order(baskets, gap_days))
        else:
            histories.append(None)
    if not targets:
        raise DataError(f"there are no queries: expected lines {_EXPECTED}", str(path))
    if unknown and notes is not None:
        notes.append(f"{unknown} queries name a shopper_id without an earlier basket in --baskets")
    known = histories if any(history is not None for history in histories) else None
    return Queries(carts, np.array(targets, dtype=np.int64), np.array(sizes, dtype=np.int64), known)


def histories_in(baskets: Baskets, shoppers: Mapping[str, int], hashed: Callable[[str], str]) -> HistoryOf:
    """Looks up shoppers in baskets with shoppers and timestamps; `shoppers` are their numbers by hash."""
    assert baskets.timestamps is not None
    known, end = Histories(baskets), baskets.timestamps.max() + np.timedelta64(1, "s")

    def history_of(shopper_id: str, time: np.datetime64 | None) -> History | None:
        number = shoppers.get(hashed(shopper_id), NOBODY)
        return known.before(number, end if time is None else time)

    return history_of


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"the file cannot be read ({error.strerror})", str(path)) from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DataError(
            "this is not UTF-8 text; expected one JSON object per line", str(path), line
        ) from error


def _parse(line: str) -> _Line:
    try:
        query = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("this is not valid JSON") from None
    if not isinstance(query, dict) or "cart" not in query or "target" not in query:
        raise ValueError("this has no 'cart' or no 'target'")
    if not isinstance(query["cart"], list) or not all(map(_is_id, [*query["cart"], query["target"]])):
        raise ValueError("an id is neither text nor a whole number")
    cart, target = list(dict.fromkeys(map(str, query["cart"]))), str(query["target"])
    if target in cart:
        raise ValueError(f"the target {target!r} is in the cart")
    history, shopper = query.get("history"), query.get("shopper_id")
    if history is not None and shopper is not None:
        raise ValueError("this has both 'history' and 'shopper_id'")
    if shopper is not None and not _is_id(shopper):
        raise ValueError("'shopper_id' is neither text nor a whole number")
    return _Line(
        cart,
        target,
        None if history is None else _baskets(history),
        None if shopper is None else str(shopper),
        _time(query.get("timestamp")),
    )


def _baskets(history: object) -> list[list[str]]:
    if not isinstance(history, list) or not all(
        isinstance(basket, list) and all(map(_is_id, basket)) for basket in history
    ):
        raise ValueError("'history' is not a list of lists of ids")
    return [[str(item) for item in basket] for basket in history]


def _time(value: object) -> np.datetime64 | None:
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"the timestamp {value!r} is not ISO 8601") from None
    return np.datetime64(time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None), "us")


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
