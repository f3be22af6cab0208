"""How problems travel over HTTP: as application/problem+json, and declared in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from app.errors import (
    BadRequest,
    BodyTooLarge,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Problem,
    TooManyRequests,
    problem_type,
)

MEDIA_TYPE = "application/problem+json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_BY_STATUS: dict[int, type[Problem]] = {
    400: BadRequest,
    404: NotFound,
    405: MethodNotAllowed,
    413: BodyTooLarge,
}
_SENTENCES = {
    400: "The body cannot be parsed: send valid JSON with the header Content-Type: application/json.",
    404: "There is nothing under this address: see /docs for those that exist.",
    405: "This address does not take this method: see the Allow header for those it takes.",
}


class InvalidPart(BaseModel):
    """One part of a request that does not make sense."""

    where: str = Field(examples=["query.k"])
    message: str = Field(examples=["Input should be less than or equal to 100"])


class ProblemDocument(BaseModel):
    """An RFC 9457 problem: `type` is stable, `detail` is a sentence about this occurrence."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: str = Field(examples=[problem_type("cart-not-found")])
    title: str
    status: int
    detail: str
    errors: list[InvalidPart] | None = Field(None, description="Each wrong part of an invalid request.")


def problem_response(problem: Problem) -> Response:
    """The HTTP answer for a problem."""
    headers = None if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
    return JSONResponse(problem.document(), problem.status, headers, MEDIA_TYPE)


def declare(*problems: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that can end in these problems."""
    responses: dict[int | str, dict[str, Any]] = {}
    for problem in problems:
        example = {"type": problem_type(problem.slug), "title": problem.title, "status": problem.status}
        response = responses.setdefault(
            problem.status,
            {
                "description": problem.title,
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}}},
            },
        )
        if problem.title not in response["description"]:
            response["description"] += f"; {problem.title[0].lower()}{problem.title[1:]}"
        response["content"][MEDIA_TYPE]["examples"][problem.slug] = {
            "value": example | {"detail": (problem.__doc__ or "").strip()}
        }
        if problem.retry_after is not None:
            response["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return responses


# What any route can end in; every router declares it. Only health and metrics are never limited.
UNLIMITED = declare(BadRequest, BodyTooLarge, Invalid, InternalError)
COMMON = {**UNLIMITED, **declare(TooManyRequests)}


def install_handlers(app: FastAPI) -> None:
    """Turn every exception that reaches the framework into a problem."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error)


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    parts = [
        {"where": ".".join(str(step) for step in part["loc"]), "message": _readable(part["msg"])}
        for part in error.errors()[:20]
    ]
    first = parts[0]
    return problem_response(Invalid(f"{first['where']}: {first['message']}.", errors=parts))


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, InternalError)
    response = problem_response(kind(_SENTENCES.get(error.status_code, error.detail)))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_allowed_methods(request))
    return response


def _allowed_methods(request: Request) -> list[str]:
    """The methods of all routes of an address; Starlette names those of the first one only."""
    return [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.router.routes
        )
    ]


def _readable(message: str) -> str:
    return message.removeprefix("Value error, ").removesuffix(".")
