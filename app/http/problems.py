"""Problem responses: application/problem+json, the exception handlers, and their OpenAPI declarations."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from app.http.errors import (
    BadRequest,
    BodyTooLarge,
    CartNotFound,
    Forbidden,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Problem,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from app.http.etags import NotModified
from app.http.inputs import message_of

MEDIA_TYPE = "application/problem+json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_BY_STATUS: dict[int, type[Problem]] = {
    400: BadRequest,
    404: NotFound,
    405: MethodNotAllowed,
    413: BodyTooLarge,
}
_SENTENCES = {
    400: "The body cannot be parsed: send valid JSON in UTF-8.",
    404: "There is nothing at this address: see /docs for all addresses.",
    405: "This address does not support this method: the Allow header lists those it supports.",
}


class InvalidPart(BaseModel):
    """An invalid part of a request."""

    where: str = Field(examples=["query.k"])
    message: str = Field(examples=["Input should be less than or equal to 100"])


def parts_of(error: ValidationError) -> list[InvalidPart]:
    """The invalid parts of a line of a body."""
    return [
        InvalidPart(where=".".join(map(str, part["loc"])) or "line", message=message_of(part))
        for part in error.errors(include_url=False)[:20]
    ]


class ProblemDocument(BaseModel):
    """An RFC 9457 problem: `type` is stable, `detail` is a sentence about this occurrence."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: str = Field(examples=[CartNotFound.type_uri()])
    title: str
    status: int
    detail: str
    errors: list[InvalidPart] | None = Field(None, description="The invalid parts of the request.")


def problem_response(problem: Problem) -> Response:
    """The HTTP response for a problem."""
    headers = dict(problem.headers)
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    return JSONResponse(problem.document(), problem.status, headers, MEDIA_TYPE)


def declare(*problems: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI `responses` of a route that can raise these problems.

    They replace the router's of the same status, so the problems common to all routes are repeated.
    """
    statuses = {problem.status for problem in problems}
    common = [problem for problem in _EVERYWHERE if problem.status in statuses]
    responses: dict[int | str, dict[str, Any]] = {}
    for problem in dict.fromkeys([*common, *problems]):
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
            "value": {
                "type": problem.type_uri(),
                "title": problem.title,
                "status": problem.status,
                "detail": f"{problem.title}.",
            }
        }
        headers: dict[str, Any] = {name: {"schema": {"type": "string"}} for name in problem.headers}
        if problem.retry_after is not None:
            headers["Retry-After"] = {"schema": {"type": "integer"}, "description": "Seconds."}
        if headers:
            response["headers"] = headers
    return responses


# The problems of every route; each router declares them. Only health and metrics have no rate limit.
_EVERYWHERE = (BadRequest, BodyTooLarge, Invalid, InternalError)
UNLIMITED = declare(*_EVERYWHERE)
COMMON = {**UNLIMITED, **declare(TooManyRequests)}
ADMIN = {**COMMON, **declare(Unauthorized, Forbidden)}


def install_handlers(app: FastAPI) -> None:
    """Turn every exception that reaches FastAPI into a problem response."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(NotModified, _on_not_modified)


async def _on_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error)


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem_response(_problem_of(error))


def _problem_of(error: RequestValidationError) -> Problem:
    if isinstance(error.body, bytes):  # FastAPI parses only what is declared as JSON
        return UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json.")
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return BadRequest(
            f"The body is not valid JSON: {first['ctx']['error']} at character {first['loc'][-1]}."
        )
    return Invalid(*((".".join(map(str, part["loc"])), message_of(part)) for part in error.errors()[:20]))


async def _on_not_modified(_: Request, error: Exception) -> Response:
    assert isinstance(error, NotModified)
    return Response(status_code=304, headers=error.headers)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, InternalError)
    response = problem_response(kind(_SENTENCES.get(error.status_code, error.detail)))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_allowed_methods(request))
    return response


def _allowed_methods(request: Request) -> list[str]:
    """The methods of all routes of an address; Starlette lists those of the first route only."""

    def allowed(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes)

    return [method for method in METHODS if allowed("GET" if method == "HEAD" else method)]
