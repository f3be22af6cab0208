"""What `app.http.fast_routes` saves: processor time per request, without network and computation.

    python -m benchmarks.routes

Each variant returns the same ten recommendations for the same query, called directly as an ASGI application.
"""

from __future__ import annotations

import asyncio
from time import process_time
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import Field, TypeAdapter

from app.catalogue.filters import ItemFilters
from app.http.fast_routes import fast_get, include_flat
from app.http.inputs import query_reader
from app.recommend.request import Basket
from app.recommend.schemas import ConsideredCart, Recommendations, RecommendedItem
from benchmarks.machine import describe_machine

_REQUESTS, _ROUNDS = 2_000, 5
_QUERY = b"cart_id=me&k=10"


class _Query(Basket, ItemFilters):
    k: int = Field(10, ge=1, le=100)


def _answer() -> Recommendations:
    items = [
        RecommendedItem(
            rank, f"item-{rank}", f"Item {rank}", "Photo", 9.5, 0.05, 3.2, "neutral", [], False, [], None
        )
        for rank in range(1, 11)
    ]
    return Recommendations(
        "20261116-021530-3f9a1c", ConsideredCart("me", ["a"], [], []), items, True, 0.0, None, 0.8
    )


_ANSWER, _JSON, _read = _answer(), TypeAdapter(Recommendations), query_reader(_Query)


def _fast_router() -> APIRouter:
    router = APIRouter()

    @fast_get(router, "/recommend", response_model=Recommendations)
    async def recommend(request: Request) -> Response:
        _read(request)
        return Response(_JSON.dump_json(_ANSWER), media_type="application/json")

    return router


def _ordinary_router() -> APIRouter:
    router = APIRouter()

    @router.get("/recommend")
    async def recommend(query: Annotated[_Query, Query()]) -> Recommendations:  # noqa: ARG001
        return _ANSWER

    return router


async def _call(app: FastAPI) -> None:
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/recommend",
        "query_string": _QUERY,
        "headers": [],
    }
    statuses = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    await app(scope, receive, send)
    assert statuses[0] == 200


def _microseconds(app: FastAPI) -> float:
    async def calls() -> float:
        await _call(app)
        start = process_time()
        for _ in range(_REQUESTS):
            await _call(app)
        return (process_time() - start) / _REQUESTS * 1e6

    return min(asyncio.run(calls()) for _ in range(_ROUNDS))


def main() -> None:
    """Print a table."""
    variants = {
        "FastAPI's `@router.get`, `include_router`": (_ordinary_router(), False),
        "`fast_get`, `include_router`": (_fast_router(), False),
        "`fast_get`, `include_flat`": (_fast_router(), True),
    }
    print(f"{describe_machine()}\n\n| route | µs of processor time | of FastAPI's |\n|---|---|---|")
    first = None
    for name, (router, flat) in variants.items():
        app = FastAPI(docs_url=None, redoc_url=None)
        if flat:
            include_flat(app, router)
        else:
            app.include_router(router)
        taken = _microseconds(app)
        first = first or taken
        print(f"| {name} | {taken:.0f} | {taken / first:.2f} |")


if __name__ == "__main__":
    main()
