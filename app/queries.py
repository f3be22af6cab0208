"""Query parameters as one pydantic model, read in one step.

FastAPI's own `Annotated[Model, Query()]` looks at the type of every field again in every request, and every
dependency has its price as well; together they take longer than a recommendation does. Here the model is
asked once, by the route itself, and the documentation is made from its schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)


def query_of(model: type[Model]) -> Callable[[Request], Model]:
    """What reads a model from the query of a request; a list's parameter may be repeated."""
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}

    def read(request: Request) -> Model:
        values: dict[str, Any] = {}
        for name, value in parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True):
            if name in lists:
                values.setdefault(name, []).append(value)
            else:
                values[name] = value
        try:
            return model.model_validate(values)
        except ValidationError as error:
            raise RequestValidationError(
                [{**part, "loc": ("query", *part["loc"])} for part in error.errors(include_url=False)]
            ) from error

    return read


def documented(model: type[BaseModel]) -> dict[str, Any]:
    """The same parameters for OpenAPI, as a route's `openapi_extra`."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    required = schema.get("required", [])
    return {
        "parameters": [
            _parameter(name, field, name in required) for name, field in schema["properties"].items()
        ]
    }


def _parameter(name: str, field: dict[str, Any], required: bool) -> dict[str, Any]:
    schema = {key: value for key, value in field.items() if key not in ("description", "examples", "title")}
    parameter = {"name": name, "in": "query", "required": required, "schema": _without_null(schema)}
    if "description" in field:
        parameter["description"] = field["description"]
    if "examples" in field:
        parameter["example"] = field["examples"][0]
    return parameter


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query cannot say null: what may be null may be left out."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**options[0], **rest}
