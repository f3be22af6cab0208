"""Routes of models."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Annotated, get_args

from fastapi import APIRouter, Path, Request, Response
from starlette.convertors import StringConvertor, register_url_convertor

from app.dependencies import AdminKey, FromCatalogue, ServicesDep
from app.http.errors import (
    Forbidden,
    ModelActive,
    ModelDamaged,
    ModelMissing,
    ModelNotFound,
    ReportNotFound,
    Unauthorized,
    Unavailable,
)
from app.http.etags import ETAG_HEADER, NOT_MODIFIED, REVALIDATED, revalidated
from app.http.problems import COMMON, declare
from app.models.schemas import Activation, ModelInUse, ModelsAnswer, ReportName

router = APIRouter(prefix="/models", tags=["models"], responses=COMMON)


@router.get("", summary="List models", responses=declare(Unavailable))
async def list_models(services: ServicesDep) -> ModelsAnswer:
    """All versions in the model store, and which of them is in use or was refused."""
    return await services.models.list()


@router.get(
    "/active",
    summary="The model in use",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing)},
)
async def active_model(services: ServicesDep) -> ModelInUse:
    """The model in use, with its serving parameters and evaluation."""
    return services.models.in_use()


VersionPath = Annotated[str, Path(description="The version of a model.", min_length=1, max_length=64)]


class _ReportConvertor(StringConvertor):
    """Matches the names of reports only, so that other addresses reach their own routes or none."""

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
    """The evaluation of the version against baselines, as HTML or JSON."""
    content = await services.models.report(
        version, report
    )  # before a 304, because the version may have been deleted
    headers = revalidated(request)  # a version never changes, and the path names it
    if report == "report.json":
        return Response(content, media_type="application/json", headers=headers)
    return Response(content, media_type="text/html", headers=headers | _page_headers(content))


def _page_headers(page: bytes) -> dict[str, str]:
    """Allow nothing but the page's own style sheet."""
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
    """Activate a version. Activating an older version rolls back.

    Its files are verified first. All processes use it within two seconds, and no request fails meanwhile.
    """
    return await services.models.activate(version)


@router.delete(
    "/{version}",
    status_code=204,
    response_class=Response,  # without a content type
    summary="Delete a model",
    dependencies=[AdminKey],
    responses=declare(Unauthorized, Forbidden, ModelNotFound, ModelActive, Unavailable),
)
async def delete_model(services: ServicesDep, version: VersionPath) -> None:
    """Delete a version; the active one cannot be deleted."""
    await services.models.delete(version)
