"""Web pages and their static files. The pages use the public API only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import fastapi_offline
from fastapi import APIRouter, Request, Response

from app.dependencies import ServicesDep
from app.http.errors import NotFound
from app.http.etags import check_if_none_match

_FOLDER = Path(__file__).parent / "static"
_SWAGGER_FOLDER = Path(fastapi_offline.__file__).parent / "static"
_MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    # The pictures of items are wherever the shop has them, also behind plain http while it is developed.
    # Only a holder of the admin key can set their addresses, a picture cannot run anything, and the referrer
    # policy keeps the address of the page from the other host.
    "Content-Security-Policy": f"{_POLICY}; img-src 'self' https: http:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Revalidate each time: a 304 is cheap, and a page must not load modules of another release.
    "Cache-Control": "no-cache",
}
_DOCS_HEADERS = {  # Swagger UI embeds its images
    "Content-Security-Policy": f"{_POLICY}; img-src 'self' data:"
}


@dataclass(frozen=True)
class _StaticFile:
    """A static file with its headers."""

    content: bytes
    media_type: str
    etag: str

    @classmethod
    def read(cls, path: Path) -> _StaticFile:
        content = path.read_bytes()
        return cls(content, _MEDIA_TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')

    def answer(self, request: Request, **more_headers: str) -> Response:
        headers = {**_HEADERS, **more_headers, "ETag": self.etag}
        check_if_none_match(request, headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


# Read once at import: a request can never name a file outside the folder.
_FILES = {
    path.relative_to(_FOLDER).as_posix(): _StaticFile.read(path)
    for path in _FOLDER.rglob("*")
    if path.is_file()
}
for _name in ("swagger-ui.css", "swagger-ui-bundle.js"):
    _FILES[f"swagger/{_name}"] = _StaticFile.read(_SWAGGER_FOLDER / _name)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def storefront(request: Request) -> Response:
    """Demo shop."""
    return _FILES["shop.html"].answer(request)


@router.get("/dashboard")
async def dashboard(request: Request) -> Response:
    """Dashboard for operators."""
    return _FILES["dashboard.html"].answer(request)


@router.get("/dashboard/catalogue")
async def catalogue(request: Request) -> Response:
    """The items of the shop, for those who keep the catalogue."""
    return _FILES["catalogue.html"].answer(request)


@router.get("/dashboard/rules")
async def rules(request: Request) -> Response:
    """The rules of the shop, for merchandisers."""
    return _FILES["rules.html"].answer(request)


@router.get("/docs")
async def documentation(request: Request) -> Response:
    """API documentation by Swagger UI, which is served from here and works offline."""
    return _FILES["docs.html"].answer(request, **_DOCS_HEADERS)


@router.get("/storefront/shoppers")
async def storefront_shoppers(services: ServicesDep) -> dict[str, list[str]]:
    """The shoppers that the demo shop offers under "Shop as"."""
    named = services.settings.storefront_shoppers
    return {"shoppers": named.split(",") if named else []}


@router.get("/static/{path:path}")
async def static_file(request: Request, path: str) -> Response:
    """A stylesheet, a JavaScript module or an image."""
    if path not in _FILES:
        raise NotFound("No such file. The pages are at / and /dashboard.")
    return _FILES[path].answer(request)
