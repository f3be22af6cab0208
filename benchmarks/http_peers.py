"""Other services for `benchmarks.http`: a bare route, `implicit`'s ALS and EASE-R, on the same FastAPI.

ALS and EASE-R do the same job as Tripod: they read the cart from Redis, score all items, leave out those of
the cart, and answer with the k best, their names and prices.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI, Response
from numpy.typing import NDArray
from pydantic_core import to_json
from redis.asyncio import Redis

from model_store import Items

CART = "peer:"  # in Redis: a JSON list of item ids

Best = Callable[[list[int], int], tuple[NDArray[Any], NDArray[Any]]]  # cart and k → rows, scores


def bare_app() -> FastAPI:
    """Baseline: a FastAPI route with one Redis call."""
    app, redis = FastAPI(), Redis.from_url(os.environ["REDIS_URL"])

    @app.get("/bare")
    async def bare() -> dict[str, int]:
        return {"length": len(await redis.get("bare") or b"")}

    return app


def als_app() -> FastAPI:
    """ALS: the cart's factors are solved from its items, then multiplied by those of all items."""
    from implicit.cpu.als import AlternatingLeastSquares  # noqa: PLC0415  an optional extra
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    factors = _mapped(Path(os.environ["PEER_FOLDER"]) / "als.npy")
    model = AlternatingLeastSquares(factors=factors.shape[1], num_threads=1)
    model.item_factors = factors

    def best(cart: list[int], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        held = np.ones(len(cart), dtype=np.float32), np.sort(cart), [0, len(cart)]
        user = csr_matrix(held, shape=(1, len(factors)))
        found: tuple[NDArray[Any], NDArray[Any]] = model.recommend(0, user, N=k, recalculate_user=True)
        return found

    best([0], 1)  # computes the Gram matrix of all items
    return _recommending(best)


def ease_app() -> FastAPI:
    """EASE-R: the sum of the weights from the cart's items."""
    folder = Path(os.environ["PEER_FOLDER"])
    if (folder / "ease.npy").exists():
        dense = _mapped(folder / "ease.npy")
        return _recommending(lambda cart, k: _highest(dense[cart].sum(axis=0), cart, k))
    neighbours, weights = _mapped(folder / "neighbours.npy"), _mapped(folder / "weights.npy")

    def best(cart: list[int], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        listed = neighbours[cart].ravel(), weights[cart].ravel()
        return _highest(np.bincount(*listed, minlength=len(neighbours)), cart, k)

    return _recommending(best)


def _mapped(path: Path) -> NDArray[Any]:
    return np.asarray(np.load(path, mmap_mode="c"))  # implicit takes writable arrays only


def _highest(scores: NDArray[Any], cart: list[int], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    scores[cart] = -np.inf
    above = np.flatnonzero(scores > 0)  # argpartition is slow on many equal numbers
    if len(above) < k:
        above = np.arange(len(scores))
    best = above[np.argpartition(scores[above], -k)[-k:]]
    best = best[np.argsort(-scores[best])]
    return best, scores[best]


def _recommending(best: Best) -> FastAPI:
    items = Items.from_json(Path(os.environ["PEER_ITEMS"]).read_bytes())
    app, redis = FastAPI(), Redis.from_url(os.environ["REDIS_URL"])

    @app.get("/recommend")
    async def recommend(cart_id: str, k: int = 10) -> Response:
        held: list[str] = json.loads(await redis.get(CART + cart_id) or "[]")
        rows, scores = best([row for row in items.rows_of_each(held) if row >= 0], k)
        found = zip(rows.tolist(), scores.tolist(), strict=True)
        answer = [
            {"item_id": items.ids[row], "name": items.names[row], "price": items.prices[row], "score": score}
            for row, score in found
        ]
        return Response(to_json({"items": answer}), media_type="application/json")

    @app.get("/readyz")
    async def ready() -> dict[str, int]:
        return {"items": len(items)}

    return app
