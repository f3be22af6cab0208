"""Middleware for every request: request id, limits, access log, metrics."""

from __future__ import annotations

import re
import secrets
from time import perf_counter
from urllib.parse import unquote

import structlog
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.errors import BodyTooLarge, InternalError, TooManyRequests
from app.http.problems import METHODS, problem_response
from app.http.rate_limit import RateLimiter
from app.runtime import metrics
from app.runtime.logs import get_logger

NDJSON = "application/x-ndjson"
PURCHASES, ITEMS = "/purchases", "/items"  # the paths that accept NDJSON
SHOPPERS = "shoppers"  # in paths that hold ids of shoppers, also mistyped ones
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_ENCODED = re.compile(rb"%(?=2[fF]|25)")  # a slash or a percent sign
_NO_STORE = (b"cache-control", b"no-store")  # the default: carts are private


class RequestMiddleware:
    """Plain ASGI middleware around everything else, so that errors are logged and counted as well."""

    def __init__(
        self, app: ASGIApp, max_body_bytes: int, max_ndjson_bytes: int, limiter: RateLimiter | None
    ) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes
        self._max_ndjson_bytes = max_ndjson_bytes
        self._limiter = limiter
        self._log = get_logger()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        scope = _normalised(scope)
        headers = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id"))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id.decode())
        status = 0
        start = perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id)]
                if all(name != b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append(_NO_STORE)
                await send(message)
                if method == "HEAD":  # end the response here: a GET may stream events for hours
                    await send({"type": "http.response.body"})
            elif method != "HEAD":
                await send(message)

        try:
            if self._limiter is not None:
                await self._limiter.check(scope["client"][0] if scope["client"] else "", scope["path"])
            limit = self._body_limit(scope["path"], headers)
            if int(headers.get(b"content-length", b"0")) > limit:
                raise BodyTooLarge(_too_large(limit))
            await self._app(scope, _limited(receive, headers, limit), send_with_headers)
        except (TooManyRequests, BodyTooLarge) as problem:
            await problem_response(problem)(scope, receive, send_with_headers)
        except Exception:
            self._log.exception("request failed")
            if status:  # the response has begun: closing the connection is the only signal left
                raise
            bug = InternalError("This is a bug in the service: search the log for the request id.")
            await problem_response(bug)(scope, receive, send_with_headers)
        finally:
            self._log_request(scope, method, status or 499, perf_counter() - start)

    def _body_limit(self, path: str, headers: dict[bytes, bytes]) -> int:
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if path in (PURCHASES, ITEMS) and kind == NDJSON.encode():
            return self._max_ndjson_bytes
        return self._max_body_bytes

    def _log_request(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        # The route's template, not the path: cart ids and unknown addresses must not become labels.
        route = getattr(scope.get("route"), "path_format", "unmatched")
        method = method if method in METHODS else "other"
        metrics.request_seconds(route, method, status).observe(seconds)
        names_shopper = SHOPPERS in scope["path"].lower()
        self._log.info(
            "request",
            method=method,
            path=route if names_shopper else scope["path"],  # ids of shoppers are never logged
            route=route,
            status=status,
            milliseconds=round(seconds * 1000, 2),
        )


def _limited(receive: Receive, headers: dict[bytes, bytes], limit: int) -> Receive:
    """Limit the size of a body that has no Content-Length."""
    if b"transfer-encoding" not in headers:
        return receive
    received = 0

    async def receive_counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return receive_counted


def _too_large(limit: int) -> str:
    return f"A body may have at most {limit} bytes: split the request."


def _normalised(scope: Scope) -> Scope:
    """Route a HEAD like a GET, and keep encoded slashes in the path encoded, because they belong to an id.

    The server decodes the path, after which an item `a/b` would look like two segments. Percent signs stay
    encoded too, or an id with the letters `%2F` would look like one with a slash. The types of path
    parameters decode both (`inputs.PathItemId`).
    """
    raw_path: bytes = scope.get("raw_path") or b""
    if scope["method"] != "HEAD" and b"%" not in raw_path:
        return scope
    routed = {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
    if b"%" in raw_path:
        routed["path"] = unquote(_ENCODED.sub(b"%25", raw_path).decode("latin-1"))
    return routed


def _request_id(given: bytes | None) -> bytes:
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return secrets.token_hex(8).encode()
