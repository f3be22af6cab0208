"""Routes of models."""

from __future__ import annotations

from fastapi import APIRouter

from app.dependencies import ServicesDep
from app.errors import ModelMissing, Unavailable
from app.models.schemas import ModelInUse, ModelsAnswer
from app.problems import COMMON, declare

router = APIRouter(prefix="/models", tags=["models"], responses=COMMON)


@router.get("", summary="List models", responses=declare(Unavailable))
async def list_models(services: ServicesDep) -> ModelsAnswer:
    """All versions in the store, and which of them is in use or was refused."""
    return await services.models.list()


@router.get("/active", summary="The model in use", responses=declare(ModelMissing))
async def active_model(services: ServicesDep) -> ModelInUse:
    """The model that answers at the moment, with its knobs and evaluation."""
    return services.models.in_use()
