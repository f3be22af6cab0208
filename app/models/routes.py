"""Routes of models."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Annotated, get_args

from fastapi import APIRouter, Path, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor

from app.dependencies import AdminKey, FromCatalogue, ServicesDep
from app.errors import (
    Forbidden,
    ModelActive,
    ModelDamaged,
    ModelMissing,
    ModelNotFound,
    ReportNotFound,
    Unauthorized,
    Unavailable,
)
from app.etags import ETAG_HEADER, NOT_MODIFIED, REVALIDATED, revalidated
from app.models.schemas import Activation, ModelInUse, ModelsAnswer, ReportName
from app.problems import COMMON, declare

router = APIRouter(prefix="/models", tags=["models"], responses=COMMON)


@router.get("", summary="List models", responses=declare(Unavailable))
async def list_models(services: ServicesDep) -> ModelsAnswer:
    """All versions in the store, and which of them is in use or was refused."""
    return await services.models.list()


@router.get(
    "/active",
    summary="The model in use",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing)},
)
async def active_model(services: ServicesDep) -> ModelInUse:
    """The model that answers at the moment, with its knobs and evaluation."""
    return services.models.in_use()


VersionPath = Annotated[str, Path(description="The version of a model.", min_length=1, max_length=64)]


class _ReportConvertor(StringConvertor):
    """Other names are no reports: an address with one is another route's, or nobody's."""

    regex = "|".join(map(re.escape, get_args(ReportName)))


register_url_convertor("report", _ReportConvertor())
_REPORT_FORMS = {
    "text/html": {"schema": {"type": "string"}},
    "application/json": {"schema": {"type": "object"}},
}


@router.get(
    "/{version}/{report:report}",
    summary="The report of a model",
    response_class=Response,
    responses={
        200: {"description": "The report", "content": _REPORT_FORMS, "headers": ETAG_HEADER},
        **NOT_MODIFIED,
        **declare(ModelNotFound, ReportNotFound, ModelDamaged, Unavailable),
    },
)
async def model_report(
    services: ServicesDep, request: Request, version: VersionPath, report: ReportName
) -> Response:
    """How good the version was when it was trained, beside the baselines: for people or for programs."""
    content = await services.models.report(version, report)  # also for a 304: it may have been deleted
    headers = revalidated(request)  # a version never changes, and its name is in the path
    if report == "report.json":
        return Response(content, media_type="application/json", headers=headers)
    return Response(content, media_type="text/html", headers=headers | _page_headers(content))


def _page_headers(page: bytes) -> dict[str, str]:
    """Nothing but the page's own style sheet may act on it."""
    styles = re.findall(rb"<style>(.*?)</style>", page, re.DOTALL)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}'" for style in styles]
    allowed = " ".join(hashes) or "'none'"
    policy = f"default-src 'none'; style-src {allowed}; frame-ancestors 'none'"
    return {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}


@router.post(
    "/{version}/activate",
    summary="Activate a model",
    dependencies=[AdminKey],
    responses=declare(Unauthorized, Forbidden, ModelNotFound, ModelDamaged, Unavailable),
)
async def activate_model(services: ServicesDep, version: VersionPath) -> Activation:
    """Let a version answer from now on; with an older version this is the way back.

    It is checked first. All processes take it up within two seconds, and no request fails meanwhile.
    """
    return await services.models.activate(version)


@router.delete(
    "/{version}",
    status_code=204,
    response_class=Response,  # which has no content type, as there is no content
    summary="Delete a model",
    dependencies=[AdminKey],
    responses=declare(Unauthorized, Forbidden, ModelNotFound, ModelActive, Unavailable),
)
async def delete_model(services: ServicesDep, version: VersionPath) -> None:
    """Remove a version from the store; the active one stays."""
    await services.models.delete(version)
