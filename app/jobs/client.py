"""Client of the job routes for `python -m app jobs`, with the standard library only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

_TIMEOUT_SECONDS = 60  # an event stream sends a comment every 15 s


class ClientError(Exception):
    """The service refused a request or cannot be reached; the text is one sentence."""


class JobsClient:
    """The job routes of the service at a URL."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url.rstrip("/")
        key = key.strip()
        if not (key.isascii() and key.isprintable()):
            raise ClientError("The admin key cannot be sent: it may contain printable ASCII characters only.")
        self._headers = {"X-Admin-Key": key, "Content-Type": "application/json"}

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start a job."""
        return self._ask("job_id", "POST", "", request)

    def list(self) -> dict[str, Any]:
        """The latest jobs, and whether a worker is alive."""
        return self._ask("jobs", "GET", "")

    def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancel a job."""
        return self._ask("job_id", "POST", f"/{quote(job_id, safe='')}/cancel")

    def follow(self, job_id: str) -> Iterator[dict[str, Any]]:
        """The job after each change until it ends."""
        return self._jobs(self._open("GET", f"/{quote(job_id, safe='')}/events"))

    def _jobs(self, stream: HTTPResponse) -> Iterator[dict[str, Any]]:
        try:
            with stream:
                for line in stream:
                    if line.startswith(b"data:"):
                        yield self._parsed(line.removeprefix(b"data:"), "job_id")
        except (OSError, HTTPException) as error:
            raise ClientError(f"The connection to {self._url} was lost: {error}.") from error

    def _ask(self, member: str, method: str, path: str, body: object = None) -> dict[str, Any]:
        try:
            with self._open(method, path, body) as response:
                text = response.read()
        except (OSError, HTTPException) as error:
            raise ClientError(f"The connection to {self._url} was lost: {error}.") from error
        return self._parsed(text, member)

    def _parsed(self, text: bytes, member: str) -> dict[str, Any]:
        """The JSON object in a response; ClientError if it has no member of this name."""
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or member not in answer:
            raise ClientError(f"The server at {self._url} is not Tripod: its answer has no {member!r}.")
        return answer

    def _open(self, method: str, path: str, body: object = None) -> HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        try:
            request = Request(f"{self._url}/training-jobs{path}", data, self._headers, method=method)
            return cast(HTTPResponse, urlopen(request, timeout=_TIMEOUT_SECONDS))
        except HTTPError as error:
            with error:
                raise ClientError(_detail(error)) from None
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ClientError(f"The service at {self._url} cannot be reached: {reason}.") from None


def _detail(error: HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"The service answered {error.code} {error.reason}."
