"""Entity tags and conditional requests (RFC 9110)."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from fastapi import Request

from model_store.version import VERSION

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_TAGS = re.compile(rf"\s*{_TAG.pattern}\s*(?:,\s*{_TAG.pattern}\s*)*")

ETAG_HEADER = {"ETag": {"schema": {"type": "string"}, "description": "For If-None-Match."}}
# For the `responses` of a route; `openapi.py` documents the If-None-Match header of these routes.
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified: If-None-Match matches"}}
REVALIDATED: dict[int | str, dict[str, Any]] = {200: {"headers": ETAG_HEADER}, **NOT_MODIFIED}


class NotModified(Exception):  # noqa: N818  the term of HTTP, not an error
    """If-None-Match matches: the response is a 304 with these headers."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__()
        self.headers = headers


def list_header(request: Request, name: str) -> str | None:
    """A header whose value is a list: several lines of it count as one."""
    lines = request.headers.getlist(name)
    return ", ".join(lines) if lines else None


def parse_etags(header: str) -> tuple[str, ...] | None:
    """The ETags of a header in their quotes, `("*",)` for the wildcard, None if it is malformed."""
    if header.strip() == "*":
        return ("*",)
    return tuple(_TAG.findall(header)) if _TAGS.fullmatch(header) else None


def check_if_none_match(request: Request, headers: dict[str, str], *, exists: bool = True) -> None:
    """Raise NotModified if the request's If-None-Match matches the ETag in `headers`, by weak comparison.

    `*` matches only a resource that is known to exist.
    """
    header = list_header(request, "If-None-Match")
    if header is None:
        return
    if header.strip() == "*":
        matches = exists
    else:
        tags = (tag.removeprefix("W/") for tag in _TAG.findall(header))
        matches = headers["ETag"].removeprefix("W/") in tags
    if matches:
        raise NotModified(headers)


def revalidated(request: Request, *inputs: object) -> dict[str, str]:
    """The caching headers of a response that depends on the URL and `inputs` only; may raise NotModified.

    The ETag is a hash of these, not of the response, so it is known before any work. It is weak, because two
    equal responses may differ in `took_ms`.
    """
    url = (request.scope["path"], request.scope["query_string"])
    digest = hashlib.sha256(repr((VERSION, *url, *inputs)).encode()).hexdigest()[:32]
    headers = {"ETag": f'W/"{digest}"', "Cache-Control": "no-cache"}
    check_if_none_match(request, headers, exists=False)
    return headers
