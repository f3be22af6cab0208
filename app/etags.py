"""Entity tags (RFC 9110): which state of something a client has, and whether that is still the one."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from fastapi import Request

from model_store.artifact import tripod_version

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_TAGS = re.compile(rf"\s*{_TAG.pattern}\s*(?:,\s*{_TAG.pattern}\s*)*")
_RELEASE = tripod_version()

ETAG_HEADER = {"ETag": {"schema": {"type": "string"}, "description": "Names the state, for If-None-Match."}}
# For the `responses` of a route; its If-None-Match is documented in `documentation.py`.
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "If-None-Match names this state: what you have is still so"}
}
REVALIDATED: dict[int | str, dict[str, Any]] = {200: {"headers": ETAG_HEADER}, **NOT_MODIFIED}


class NotModified(Exception):  # noqa: N818  HTTP's word, and not an error
    """The client has the state that it asks for; `headers` go with the answer of 304."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__()
        self.headers = headers


def header_of(request: Request, name: str) -> str | None:
    """A header that is a list: several lines of it count as one."""
    lines = request.headers.getlist(name)
    return ", ".join(lines) if lines else None


def tags_of(header: str) -> tuple[str, ...] | None:
    """The tags of a header as they are written, `*` for any, None if it cannot be read."""
    if header.strip() == "*":
        return ("*",)
    return tuple(_TAG.findall(header)) if _TAGS.fullmatch(header) else None


def check_if_none_match(request: Request, headers: dict[str, str], *, exists: bool = True) -> None:
    """NotModified if the request's If-None-Match names the ETag in `headers`, by weak comparison.

    `*` names whatever exists; as long as that is not known (`exists`), it names nothing.
    """
    named = header_of(request, "If-None-Match")
    if named is None:
        return
    if named.strip() == "*":
        matches = exists
    else:
        tags = (tag.removeprefix("W/") for tag in _TAG.findall(named))
        matches = headers["ETag"].removeprefix("W/") in tags
    if matches:
        raise NotModified(headers)


def revalidated(request: Request, *made_of: object) -> dict[str, str]:
    """The headers of an answer that is the same as long as what it is made of is; NotModified if it is.

    The tag names what the answer is made of and the question, not the answer itself: so it is known before
    any work, and it is weak, because two equal answers may differ in `took_ms`.
    """
    question = (request.scope["path"], request.scope["query_string"])
    digest = hashlib.sha256(repr((_RELEASE, *question, *made_of)).encode()).hexdigest()[:32]
    headers = {"ETag": f'W/"{digest}"', "Cache-Control": "no-cache"}
    check_if_none_match(request, headers, exists=False)
    return headers
