"""Headers and contents of the static files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import app.web.routes
from tests.app.app_process import Service

STATIC = Path(app.web.routes.__file__).parent / "static"
FILES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "path",
    ["/", "/dashboard", "/dashboard/catalogue", "/dashboard/rules", *(f"/static/{name}" for name in FILES)],
)
def test_pages_have_a_strict_policy_and_an_etag(shop: Service, path: str) -> None:
    answer = shop.client.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    again = shop.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/static/", "/static/no.js", "/static/../routes.py", "/static/%2e%2e/routes.py"]
)
def test_paths_outside_the_static_folder_are_not_found(shop: Service, path: str) -> None:
    answer = shop.client.get(path)
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:tripod:problem:not-found"


def test_static_files_load_nothing_external_and_insert_no_markup() -> None:
    external = re.compile(r"https?://(?!www\.w3\.org/2000/svg)")
    for name in FILES:
        text = (STATIC / name).read_text()
        assert not external.search(text), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name
        assert not re.search(r"<[^>]+\s(style|on\w+)=", text), name
        assert len(text.splitlines()) < 300, name
