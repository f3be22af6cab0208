"""Parsing of requests: types for values from outside, the base class of bodies, and query parameters.

Query parameters are one pydantic model. FastAPI's own `Annotated[Model, Query()]` inspects the type of every
field again in every request, which takes longer than a recommendation: see `fast_routes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl, unquote

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, from_json

from app.http.errors import Invalid
from model_store.items import ID_PATTERN, MAX_CATEGORY_LENGTH, MAX_ID_LENGTH, item_id_fault

CART_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.~:-]{0,127}$"
IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"
LOCATION = r"^[^\x00-\x1f\x7f]+$"
_CART_ID_RULE = "1 to 128 characters: letters, digits, `_`, and after the first also `.`, `~`, `:`, `-`"
_PATTERNS_IN_WORDS = {
    CART_ID: f"it must have {_CART_ID_RULE}",
    IDEMPOTENCY_KEY: "it must have 1 to 255 ASCII characters, without blanks and control characters",
    LOCATION: "it must have no control characters",
}
_NOT_AN_OBJECT = {"dict_type", "model_type", "model_attributes_type"}
_QUERY_IDS = '`a,b,c`, repeated, or a JSON array for ids with commas: `["a,b","c"]`.'
QUERY = "query"  # the validation context of query parameters
_JSON_STRINGS = re.compile(r'\s*\[\s*"')


def _checked_id(what: str) -> AfterValidator:
    def checked(text: str) -> str:
        if fault := item_id_fault(text, what):
            raise ValueError(fault)
        return text

    return AfterValidator(checked)


CartId = Annotated[
    str,
    StringConstraints(pattern=CART_ID),
    Field(description=f"{_CART_ID_RULE}.", examples=["cart-7f3a"]),
]
ItemId = Annotated[
    str,
    _checked_id("an item id"),
    Field(
        description="The shop's own id of the item: 1 to 256 characters, no control characters, "
        "and neither `.` nor `..`.",
        examples=["camera"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_ID_LENGTH, "pattern": ID_PATTERN},
    ),
]
OrderId = Annotated[
    str,
    _checked_id("an order id"),
    Field(
        description="The shop's own id of the order: like an item id.",
        examples=["order-1001"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_ID_LENGTH, "pattern": ID_PATTERN},
    ),
]
ShopperId = Annotated[
    str,
    _checked_id("a shopper id"),
    Field(
        description="The shop's own id of the shopper: 1 to 256 characters, no control characters, and "
        "neither `.` nor `..`. Only a keyed hash of it is stored.",
        examples=["customer-4711"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_ID_LENGTH, "pattern": ID_PATTERN},
    ),
]
# Path parameters: `middleware` leaves slashes and percent signs in them encoded.
PathItemId = Annotated[ItemId, BeforeValidator(unquote)]
PathShopperId = Annotated[ShopperId, BeforeValidator(unquote)]
Category = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_CATEGORY_LENGTH), Field(examples=["Photo"])
]
# For responses, which show what a model or a cart holds, whatever release wrote it: not validated again.
KnownItemId = Annotated[str, Field(description="The shop's own id of the item.", examples=["camera"])]
KnownCartId = Annotated[str, Field(description="The id of the cart.", examples=["cart-7f3a"])]


def text_fault(text: str) -> str | None:
    """Why a text cannot be stored or sent, None if it can."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        return "a text is Unicode; this one has half of a surrogate pair"
    return None


def message_of(part: ErrorDetails) -> str:
    """A validation error in words that need no knowledge of Python or regular expressions."""
    if part["type"] in _NOT_AN_OBJECT:
        return "it must be an object"
    pattern = part.get("ctx", {}).get("pattern", "")
    return _PATTERNS_IN_WORDS.get(pattern, part["msg"]).removeprefix("Value error, ").removesuffix(".")


class Strict(BaseModel):
    """A part of a request. An unknown field is an error that lists the known ones."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _list_known_fields(cls, value: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(value)
        except ValidationError as error:
            parts = [cls._explained(part) for part in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, parts) from error

    @classmethod
    def _explained(cls, part: ErrorDetails) -> InitErrorDetails:
        message = message_of(part)
        if part["type"] == "extra_forbidden" and len(part["loc"]) == 1:  # deeper ones are explained already
            message = f"there is no {part['loc'][0]!r} here, only {', '.join(cls.model_fields)}"
        return InitErrorDetails(
            type=PydanticCustomError(part["type"], message), loc=part["loc"], input=part["input"]
        )


def _split_in_query(values: Any, info: ValidationInfo) -> Any:
    """In a query, `items=a,b&items=c` and `items=["a","b","c"]` name three items. Bodies stay as they are."""
    if info.context != QUERY:
        return values
    return [item_id for text in values for item_id in _ids_of(text)]


def _ids_of(text: str) -> list[str]:
    if text.lstrip().startswith("["):
        try:
            values: list[Any] = from_json(text)
        except ValueError as error:  # an id may begin with a bracket
            if _JSON_STRINGS.match(text):
                raise ValueError(f"it looks like a JSON array but is invalid: {error}") from None
        else:
            if not all(isinstance(value, str) for value in values):
                raise ValueError('a JSON array of ids must hold strings only, such as ["7","a,b"]')
            return values
    return [word.strip() for word in text.split(",") if word.strip()]


def _json_in_query(value: Any, info: ValidationInfo) -> Any:
    if info.context != QUERY or not isinstance(value, str):
        return value
    try:
        return from_json(value)
    except ValueError as error:
        raise ValueError(f"it is not valid JSON: {error}") from None


_SPLIT = BeforeValidator(_split_in_query)
JSON_IN_QUERY = BeforeValidator(_json_in_query)  # an object that a query holds as JSON text
ItemIds = Annotated[list[ItemId], _SPLIT]
Price = Annotated[float, Field(ge=0, le=1e9)]


Model = TypeVar("Model", bound=BaseModel)


def query_reader(model: type[Model]) -> Callable[[Request], Model]:
    """A function that reads the model from the query of a request. Parameters of lists may be repeated."""
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}
    body_only = {
        name for name, field in model.model_fields.items() if _is_nested(field) and not _is_json(field)
    }

    def read(request: Request) -> Model:
        values: dict[str, Any] = {}
        for name, value in parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True):
            if name in lists:
                values.setdefault(name, []).append(value)
            elif name in body_only:
                raise Invalid((f"query.{name}", "send it in the JSON body of a POST request"))
            else:
                values[name] = value
        try:
            return model.model_validate(values, context=QUERY)
        except ValidationError as error:
            raise RequestValidationError(
                [{**part, "loc": ("query", *part["loc"])} for part in error.errors(include_url=False)]
            ) from error

    return read


def query_parameters(model: type[BaseModel]) -> dict[str, Any]:
    """The parameters of `query_reader` for OpenAPI, as a route's `openapi_extra`."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    required = schema.get("required", [])
    return {
        "parameters": [
            _parameter(name, field, schema["properties"][name], name in required)
            for name, field in model.model_fields.items()
            if not _is_nested(field) or _is_json(field)
        ]
    }


def _is_nested(field: FieldInfo) -> bool:
    """Whether the value is an object or a list that may be left out, which a query cannot hold."""
    kinds = get_args(field.annotation)
    return any(isinstance(kind, type) and issubclass(kind, BaseModel) for kind in kinds) or (
        any(get_origin(kind) is list for kind in kinds)
    )


def _is_json(field: FieldInfo) -> bool:
    return JSON_IN_QUERY in field.metadata


def _parameter(name: str, field: FieldInfo, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    value = {key: value for key, value in schema.items() if key not in ("description", "examples", "title")}
    parameter = {"name": name, "in": "query", "required": required}
    if _is_json(field):
        parameter["content"] = {"application/json": {"schema": _without_null(value)}}
    else:
        parameter["schema"] = _without_null(value)
    description = field.description
    if description and _SPLIT in field.metadata:
        description = f"{description.rstrip('.')}: {_QUERY_IDS}"
    if description:
        parameter["description"] = description
    if field.examples:
        parameter["example"] = field.examples[0]
    return parameter


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: a parameter that may be null may be left out."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**options[0], **rest}
