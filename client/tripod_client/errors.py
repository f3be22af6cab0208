"""What a call raises when there is no good answer.

TripodError
├── ProblemError       the service answered with a problem (or what stands before it with an error page)
├── ConnectionFailed   no answer came: the service cannot be reached, or takes longer than the timeout
└── UnreadableAnswer   the answer is not one of the service: another server is at this address
"""

from __future__ import annotations

import json
from typing import Any

import httpx


class TripodError(Exception):
    """The base of them all; what an error cannot know has the value given here."""

    status: int | None = None  # of the answer, if one came
    type: str = "about:blank"  # branch on it: it never changes
    title: str = ""
    detail: str = ""  # for people
    retry_after: float | None = None  # seconds, if trying again may help

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.problem: dict[str, Any] = {}


class ProblemError(TripodError):
    """An RFC 9457 problem: branch on `type`, which never changes; show `detail` to people."""

    status: int

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None) -> None:
        self.status = status
        self.type = problem.get("type", "about:blank")
        self.title = problem.get("title", "")
        self.detail = problem.get("detail", "")
        self.retry_after = retry_after
        super().__init__(f"{status} {self.title}: {self.detail}")
        self.problem = problem  # with the members that belong to its type, such as `purchase_id`


class ConnectionFailed(TripodError):  # noqa: N818
    """No answer came. Whether the service did what it was asked to is unknown: an idempotency key helps."""

    def __init__(self, request: httpx.Request, error: httpx.RequestError) -> None:
        self.detail = f"{request.method} {request.url} got no answer: {error or type(error).__name__}"
        super().__init__(self.detail)


class UnreadableAnswer(TripodError):  # noqa: N818
    """The answer is not what the service sends."""

    def __init__(self, request: httpx.Request, status: int | None, why: str) -> None:
        self.status = status
        self.detail = f"{request.method} {request.url} got an answer, but {why}: is it Tripod?"
        super().__init__(self.detail)


def raise_for_problem(response: httpx.Response) -> None:
    """ProblemError unless the answer is good."""
    if not response.is_success:
        raise ProblemError(response.status_code, _problem(response), _seconds(response))


def _problem(response: httpx.Response) -> dict[str, Any]:
    problem = json_object(response.content)
    return problem or {"title": response.reason_phrase, "detail": response.text}


def json_object(text: bytes | str) -> dict[str, Any] | None:
    """The JSON object that a text holds, None if it holds anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or nested without end
        return None
    return value if isinstance(value, dict) else None


def _seconds(response: httpx.Response) -> float | None:
    try:
        return float(response.headers["retry-after"])
    except (KeyError, ValueError):  # there is none, or a proxy gave a date
        return None
