"""Which rows of a catalogue meet a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial

import numpy as np

from app.catalogue.attributes import BUILT_IN, KINDS, Column, Columns, Mask, Value, kind_of
from app.catalogue.categories import normal
from app.catalogue.conditions import (
    AllOf,
    AnyOf,
    Compared,
    Condition,
    Equal,
    Negation,
    OneOf,
    Present,
)
from app.http.errors import Invalid

_NEAR = 3  # names that are proposed instead of an unknown one
_LISTED = 20  # names that are listed at most


class Misfit(Exception):  # noqa: N818
    """A condition names what the columns do not have. The message looks for near names, which takes long."""

    def __init__(self, where: str, message: Callable[[], str]) -> None:
        super().__init__(where)
        self._where, self._message = where, message

    def problem(self) -> Invalid:
        """What the client gets."""
        return Invalid((self._where, self._message()))


def compiled(condition: Condition, columns: Columns, where: str = "body.filter") -> Mask:
    """Which rows meet the condition, as (size,) booleans that the caller may change.

    An unknown field or category, and a value that the field can never have, raise `Misfit` at a location
    below `where`. A text or number that no item has at the moment is no error: no row meets it.
    """
    found: Mask
    match condition.root:
        case AllOf() as form:
            found = np.logical_and.reduce(_each(form.parts, columns, f"{where}.all"))
        case AnyOf() as form:
            found = np.logical_or.reduce(_each(form.parts, columns, f"{where}.any"))
        case Negation() as form:
            found = ~compiled(form.part, columns, f"{where}.not")
        case Equal() as form:
            found = _equal(form.field, [form.value], [f"{where}.is"], columns, where)
        case OneOf() as form:
            places = [f"{where}.in.{place}" for place in range(len(form.values))]
            found = _equal(form.field, form.values, places, columns, where)
        case Compared() as form:
            found = _within(form, columns, where)
        case Present() as form:
            found = _column(form.field, columns, where).present == form.exists
    return found


def _each(parts: Sequence[Condition], columns: Columns, where: str) -> list[Mask]:
    return [compiled(part, columns, f"{where}.{place}") for place, part in enumerate(parts)]


def _equal(name: str, values: Sequence[Value], places: Sequence[str], columns: Columns, where: str) -> Mask:
    column = _column(name, columns, where)
    if name == "category":
        values = [normal(value) if isinstance(value, str) else value for value in values]
    for value, place in zip(values, places, strict=True):
        if not column.allows(kind_of(value)):
            raise Misfit(place, partial(_unsuitable, name, value, column))
        if name == "category" and isinstance(value, str):
            _check_category(value, column, columns, place)
    return column.equal(values)


def _within(form: Compared, columns: Columns, where: str) -> Mask:
    column = _column(form.field, columns, where)
    if column.numbers is None:
        raise Misfit(f"{where}.field", lambda: f"{form.field!r} is no number but {column.kinds()}")
    found = ~np.isnan(column.numbers)  # a comparison with NaN is false
    if form.lt is not None:
        found &= column.numbers < form.lt
    if form.le is not None:
        found &= column.numbers <= form.le
    if form.gt is not None:
        found &= column.numbers > form.gt
    if form.ge is not None:
        found &= column.numbers >= form.ge
    return found


def _column(name: str, columns: Columns, where: str) -> Column:
    column = columns.column(name)
    if column is None:
        raise Misfit(f"{where}.field", lambda: f"there is no field {name!r}{_instead(name, columns)}")
    return column


def _unsuitable(name: str, value: Value, column: Column) -> str:
    return f"{KINDS[kind_of(value)]} does not suit {name!r}, which is {column.kinds()}"


def _instead(name: str, columns: Columns) -> str:
    """What to ask for instead of an unknown field."""
    known = [*BUILT_IN, *columns.attributes.names]
    by_folded = {each.casefold(): each for each in known}
    near = [by_folded[found] for found in get_close_matches(name.casefold(), by_folded, _NEAR, 0.5)]
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    meant = f": did you mean {' or '.join(near)}? There are" if near else ", only"
    return f"{meant} {', '.join(known[:_LISTED])}{more}"


def _check_category(category: str, column: Column, columns: Columns, where: str) -> None:
    """Refuse a category that is not known; one that has lost all its rows still is."""
    if column.texts is None or category not in column.texts:
        raise Misfit(where, partial(columns.categories.unknown, category))
