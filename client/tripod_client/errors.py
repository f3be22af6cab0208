"""Exceptions of the client.

TripodError
├── ProblemError       the service, or a proxy in front of it, answered with an error
├── ConnectionFailed   no answer came: the service cannot be reached or the timeout has passed
└── UnreadableAnswer   the answer is not from Tripod: probably another server has this address
"""

from __future__ import annotations

import json
from typing import Any

import httpx


class TripodError(Exception):
    """Base class. Attributes that do not apply to an error keep the default given here."""

    status: int | None = None  # HTTP status, if there was an answer
    type: str = "about:blank"  # stable identifier of the problem
    title: str = ""
    detail: str = ""  # message for people
    retry_after: float | None = None  # seconds, if a retry may help

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.problem: dict[str, Any] = {}


class ProblemError(TripodError):
    """An RFC 9457 problem: branch on `type`, which is stable; show `detail` to people."""

    status: int

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None) -> None:
        self.status = status
        self.type = problem.get("type", "about:blank")
        self.title = problem.get("title", "")
        self.detail = problem.get("detail", "")
        self.retry_after = retry_after
        super().__init__(f"{status} {self.title}: {self.detail}")
        self.problem = problem  # all members, also those specific to its type, such as `purchase_id`


class ConnectionFailed(TripodError):  # noqa: N818
    """No answer came. The service may have done the request: use an idempotency key to repeat it safely."""

    def __init__(self, request: httpx.Request, error: httpx.RequestError) -> None:
        self.detail = f"{request.method} {request.url} got no answer: {error or type(error).__name__}"
        super().__init__(self.detail)


class UnreadableAnswer(TripodError):  # noqa: N818
    """The answer is not one that Tripod sends."""

    def __init__(self, request: httpx.Request, status: int | None, why: str) -> None:
        self.status = status
        self.detail = (
            f"{request.method} {request.url} got an answer, but {why}: is this the address of Tripod?"
        )
        super().__init__(self.detail)


def raise_for_problem(response: httpx.Response) -> None:
    """Raise ProblemError unless the status is 2xx."""
    if not response.is_success:
        raise ProblemError(response.status_code, _problem(response), _seconds(response))


def _problem(response: httpx.Response) -> dict[str, Any]:
    problem = json_object(response.content)
    return problem or {"title": response.reason_phrase, "detail": response.text}


def json_object(text: bytes | str) -> dict[str, Any] | None:
    """Parse a JSON object; None if the text is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deeply
        return None
    return value if isinstance(value, dict) else None


def _seconds(response: httpx.Response) -> float | None:
    try:
        return float(response.headers["retry-after"])
    except (KeyError, ValueError):  # no header, or a proxy sent a date
        return None
