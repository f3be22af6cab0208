"""Routes of health and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.dependencies import ServicesDep
from app.errors import NotReady
from app.health.schemas import AliveAnswer, ReadyAnswer
from app.metrics import exposition
from app.problems import UNLIMITED, declare

router = APIRouter(tags=["health"], responses=UNLIMITED)


@router.get("/healthz", summary="Is the process alive?")
async def alive() -> AliveAnswer:
    """Answers as long as the process runs."""
    return AliveAnswer()


@router.get("/readyz", summary="Is the service ready?", responses=declare(NotReady))
async def ready(services: ServicesDep) -> ReadyAnswer:
    """Ready when a model is loaded and warm and Redis takes changes; otherwise 503 with what is `missing`."""
    return await services.health.ready()


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics() -> Response:
    """Latencies by route and status, the model, Redis and fallbacks, over all processes."""
    return Response(exposition(), media_type="text/plain; version=0.0.4")
