"""Conditions on items, which a shop says in the same way wherever items are chosen.

    {"all": [{"field": "category", "in": ["Cheese", "Wine"]}, {"field": "price", "lt": 20},
             {"not": {"field": "vegan", "is": true}}]}

A condition is parsed once by pydantic, and `compiled` finds the rows that meet it. Its form is chosen by the
members that are present, so that an error names the member that is wrong, not all forms that it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import inf
from typing import Annotated, Any, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    RootModel,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from app.catalogue.attributes import Value, finite
from app.http.inputs import Strict, text_fault

MAX_DEPTH = 8
MAX_PARTS = 100
MAX_VALUES = 1_000
MAX_LENGTH = 256
_COMPARISONS = ("lt", "le", "gt", "ge")


def _checked_value(value: Any) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if len(value) > MAX_LENGTH:
            raise ValueError(f"a text has at most {MAX_LENGTH} characters")
        if fault := text_fault(value):
            raise ValueError(fault)
        return value
    if (number := finite(value)) is None:
        raise ValueError("it must be a text, a number, true or false")
    return number


def _checked_number(value: Any) -> float:
    if (number := finite(value)) is None:
        raise ValueError("it must be a number")
    return number


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _unchanged(value: Any) -> Any:
    """Keep it: within a union, pydantic may write true as 1.0, since `Value` has numbers before booleans."""
    return value


AnyValue = Annotated[
    Value,
    PlainValidator(_checked_value),
    PlainSerializer(_unchanged),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "maxLength": MAX_LENGTH}, {"type": "number"}, {"type": "boolean"}]}
    ),
]
Bound = Annotated[
    float | None,
    PlainValidator(_checked_number),
    WithJsonSchema({"type": "number"}),
    # What is not given is not answered either, so that an answer can be sent back.
    Field(json_schema_extra=_without_default, exclude_if=lambda bound: bound is None),
]
FieldName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_LENGTH, strict=True),
    Field(
        description="`id`, `name`, `category`, `price`, `in_stock`, `parent_id`, or an attribute of items.",
        examples=["price"],
    ),
]


class AllOf(Strict):
    """Every one of the conditions holds."""

    parts: list[Condition] = Field(alias="all", min_length=1, max_length=MAX_PARTS, fail_fast=True)

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same in another order."""
        return {"all": _in_order(part.canonical() for part in self.parts)}


class AnyOf(Strict):
    """At least one of the conditions holds."""

    parts: list[Condition] = Field(alias="any", min_length=1, max_length=MAX_PARTS, fail_fast=True)

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same in another order."""
        return {"any": _in_order(part.canonical() for part in self.parts)}


class Negation(Strict):
    """The condition does not hold."""

    part: Condition = Field(alias="not")

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same."""
        return {"not": self.part.canonical()}


class Equal(Strict):
    """The field has this value; a list contains it; a category is this one or below it."""

    field: FieldName
    value: AnyValue = Field(alias="is", description="Upper and lower case are the same.", examples=["Wine"])

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same: as a choice of one."""
        return {"field": self.field, "in": [_folded(self.value)]}


class OneOf(Strict):
    """The field has one of these values; a list contains one; a category is one of them or below one."""

    field: FieldName
    values: list[AnyValue] = Field(
        alias="in", min_length=1, max_length=MAX_VALUES, fail_fast=True, examples=[["Cheese", "Wine"]]
    )

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same in another order."""
        return {"field": self.field, "in": _in_order(map(_folded, self.values))}


class Compared(Strict):
    """The field is a number within these bounds."""

    field: FieldName
    lt: Bound = Field(None, description="Less than this.", examples=[20])
    le: Bound = Field(None, description="At most this.")
    gt: Bound = Field(None, description="Greater than this.")
    ge: Bound = Field(None, description="At least this.")

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        low = max((bound for bound in (self.gt, self.ge) if bound is not None), default=-inf)
        high = min((bound for bound in (self.lt, self.le) if bound is not None), default=inf)
        if low > high:
            raise ValueError(f"no number is above {low:g} and below {high:g}")
        return self

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same."""
        return self.model_dump(exclude_none=True)


class Present(Strict):
    """The field has a value, or with false: it has none."""

    field: FieldName
    exists: Annotated[bool, Field(strict=True)]

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same."""
        return self.model_dump()


Form = AllOf | AnyOf | Negation | Equal | OneOf | Compared | Present
_FORMS: dict[str, type[Form]] = {
    "all": AllOf,
    "any": AnyOf,
    "not": Negation,
    "is": Equal,
    "in": OneOf,
    "exists": Present,
    **dict.fromkeys(_COMPARISONS, Compared),
}
_KNOWN = {form: [part.alias or name for name, part in form.model_fields.items()] for form in _FORMS.values()}


class Condition(RootModel[Form]):
    """Which items are meant. It combines at most 100 conditions, nested at most 8 deep."""

    @model_validator(mode="wrap")
    @classmethod
    def _by_its_members(cls, value: Any, _: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise PydanticCustomError(
                "condition", 'it must be an object such as {"field": "price", "lt": 20}'
            )
        _check_limits(value)
        form = _form_of(value)
        unknown = next((name for name in value if name not in _KNOWN[form]), None)
        if unknown is not None:
            _refuse_member(unknown, form)
        return cls.model_construct(form.model_validate(value))

    def canonical(self) -> dict[str, Any]:
        """The same for all conditions that say the same in another order or in other letters."""
        return self.root.canonical()

    def cache_key(self) -> str:
        """A text that is the same for conditions that are met by the same items of any catalogue."""
        return _json(self.canonical())


def _form_of(value: dict[Any, Any]) -> type[Form]:
    form = next((form for name, form in _FORMS.items() if name in value), None)
    if form is not None:
        return form
    if "field" in value:
        message = f"say what the field must be: is, in, exists, {', '.join(_COMPARISONS)}"
    else:
        message = "a condition has the member all, any, not or field"
    raise PydanticCustomError("condition", message)


def _refuse_member(name: Any, form: type[Form]) -> None:
    hint = ': combine conditions with "all"' if name in _FORMS or name == "field" else ""
    message = f"there is no {str(name)[:MAX_LENGTH]!r} here, only {', '.join(_KNOWN[form])}{hint}"
    error = PydanticCustomError("extra_forbidden", "{message}", {"message": message})
    where = str(name)[:MAX_LENGTH]
    raise ValidationError.from_exception_data(
        "Condition", [InitErrorDetails(type=error, loc=(where,), input=None)]
    )


def _check_limits(value: dict[Any, Any]) -> None:
    """Refuse what is too deep or too large before anything recursive looks at it."""
    level, parts = [value], 1
    for _ in range(MAX_DEPTH):
        level = [part for each in level for part in _parts_of(each)]
        parts += len(level)
        if parts > MAX_PARTS:
            raise PydanticCustomError("condition", f"it has more than {MAX_PARTS} parts")
    if level:
        raise PydanticCustomError("condition", f"it is nested more than {MAX_DEPTH} deep")


def _parts_of(value: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    for name in ("all", "any", "not"):
        inner = value.get(name)
        for part in inner[: MAX_PARTS + 1] if isinstance(inner, list) else (inner,):
            if isinstance(part, dict):
                yield part


def _folded(value: Value) -> Value:
    return value.casefold() if isinstance(value, str) else value


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _in_order(values: Iterable[Any]) -> list[Any]:
    """The values without repetitions, in an order that depends on nothing else."""
    by_text = {_json(value): value for value in values}
    return [by_text[text] for text in sorted(by_text)]


for _model in (AllOf, AnyOf, Negation, Condition):
    _model.model_rebuild()
