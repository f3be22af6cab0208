"""Conditions on items, with the members of the schemas in /openapi.json.

{"all": [{"field": "category", "in": ["Cheese", "Wine"]}, {"field": "price", "lt": 20}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypedDict

Value = str | float | bool


class AllOf(TypedDict):
    """Every one of the conditions holds."""

    all: Sequence[Condition]


class AnyOf(TypedDict):
    """At least one of the conditions holds."""

    any: Sequence[Condition]


# Members that are keywords of Python: the class syntax does not allow them.
Negation = TypedDict("Negation", {"not": "Condition"})
Equal = TypedDict("Equal", {"field": str, "is": Value})
OneOf = TypedDict("OneOf", {"field": str, "in": Sequence[Value]})


class _Field(TypedDict):
    field: str


class Compared(_Field, total=False):
    """The field is a number within these bounds."""

    lt: float
    le: float
    gt: float
    ge: float


class Present(_Field):
    """The field has a value, or with False: it has none."""

    exists: bool


Condition: TypeAlias = AllOf | AnyOf | Negation | Equal | OneOf | Compared | Present
