"""Routes of health and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.dependencies import ServicesDep
from app.health.schemas import AliveAnswer, ReadyAnswer
from app.http.errors import NotReady
from app.http.problems import UNLIMITED, declare
from app.runtime.metrics import exposition

router = APIRouter(tags=["health"], responses=UNLIMITED)


@router.get("/healthz", summary="Is the process alive?")
async def alive() -> AliveAnswer:
    """200 as long as the process responds."""
    return AliveAnswer()


@router.get("/readyz", summary="Is the service ready?", responses=declare(NotReady))
async def ready(services: ServicesDep) -> ReadyAnswer:
    """200 if a model is loaded and Redis accepts writes; otherwise 503, and `missing` says why."""
    return await services.health.ready()


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics() -> Response:
    """Metrics of all processes: response times, the model, Redis, fallbacks."""
    return Response(exposition(), media_type="text/plain; version=0.0.4")
