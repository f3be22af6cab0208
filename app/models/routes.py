"""Routes of models."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.dependencies import AdminKey, ServicesDep
from app.errors import Forbidden, ModelActive, ModelDamaged, ModelMissing, ModelNotFound, Unavailable
from app.models.schemas import Activation, ModelInUse, ModelsAnswer
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


VersionPath = Annotated[str, Path(description="The version of a model.", min_length=1, max_length=64)]


@router.post(
    "/{version}/activate",
    summary="Activate a model",
    dependencies=[AdminKey],
    responses=declare(Forbidden, ModelNotFound, ModelDamaged, Unavailable),
)
async def activate_model(services: ServicesDep, version: VersionPath) -> Activation:
    """Let a version answer from now on; with an older version this is the way back.

    It is checked first. All processes take it up within two seconds, and no request fails meanwhile.
    """
    return await services.models.activate(version)


@router.delete(
    "/{version}",
    status_code=204,
    summary="Delete a model",
    dependencies=[AdminKey],
    responses=declare(Forbidden, ModelNotFound, ModelActive, Unavailable),
)
async def delete_model(services: ServicesDep, version: VersionPath) -> None:
    """Remove a version from the store; the active one stays."""
    await services.models.delete(version)
