"""Routing that bypasses FastAPI where its overhead exceeds the work of the route.

`python -m benchmarks.routes` measures what the bypass saves; docs/decisions/fast-route.md has the figures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

Endpoint = Callable[..., Any]


class _FastRoute(APIRoute):
    def get_route_handler(self) -> Callable[..., Any]:
        """The endpoint itself, without dependencies, validation and serialisation around it."""
        return self.endpoint


def fast_get(router: APIRouter, path: str, **declaration: Any) -> Callable[[Endpoint], Endpoint]:
    """Declare a GET route whose function takes the Request and returns a finished Response.

    OpenAPI is generated from the declared `response_model` as for every route; a test checks that the
    responses match it.
    """

    def declare(endpoint: Endpoint) -> Endpoint:
        router.add_api_route(path, endpoint, methods=["GET"], route_class_override=_FastRoute, **declaration)
        return endpoint

    return declare


def include_flat(app: FastAPI, *routers: APIRouter) -> None:
    """Include routers without nesting: `include_router` would match the path of every request twice."""
    app.router.routes[:0] = [route for router in routers for route in router.routes]
