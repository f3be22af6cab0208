"""Routes that do without FastAPI's machinery between the request and the answer, where it costs too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute


class DirectRoute(APIRoute):
    """The function takes the request itself and gives the finished response.

    Solving dependencies, and checking and writing an answer that we have just made, takes FastAPI longer than
    a cart takes to read. The documentation is made from the declared `response_model` as everywhere; a test
    holds the answers to it.
    """

    def get_route_handler(self) -> Callable[..., Any]:
        """FastAPI asks here for what answers a request."""
        return self.endpoint
