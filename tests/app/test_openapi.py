"""The OpenAPI document equals its snapshot, and the service keeps to it.

After an intended change, update it: `UPDATE_OPENAPI=1 .venv/bin/pytest tests/app/test_openapi.py -k snapshot`
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.main import create_app
from app.settings import Settings
from model_store.version import VERSION
from tests.app.app_process import ADMIN_KEY, Service
from tests.app.app_shop import publish

SNAPSHOT = Path(__file__).parent / "openapi.json"
DOCUMENT = create_app(Settings(redis_url="redis://127.0.0.1:1")).openapi()
MAX_QUERY_LENGTH = 50_000  # the HTTP server limits the request line and headers to 64 KB
OPERATIONS = [(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations]


def test_document_matches_the_snapshot() -> None:
    info = {**DOCUMENT["info"], "version": "that of the release"}
    written = json.dumps({**DOCUMENT, "info": info}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_OPENAPI"):
        SNAPSHOT.write_text(written)
    assert SNAPSHOT.read_text() == written, (
        "after an intended change, update the snapshot: see the top of this file"
    )


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_has_summary_description_and_problem_responses(path: str, method: str) -> None:
    operation = DOCUMENT["paths"][path][method]
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]
    for status, response in operation["responses"].items():
        if status.startswith(("4", "5")):
            assert list(response["content"]) == ["application/problem+json"]


def test_document_has_the_version_of_the_package() -> None:
    assert DOCUMENT["info"]["version"] == VERSION


def test_operation_ids_are_the_function_names() -> None:
    names = [DOCUMENT["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert {"recommend", "recommend_json", "add_items", "search_items", "model_report"} <= set(names)
    assert len(set(names)) == len(names)


def test_admin_key_is_the_security_scheme_of_admin_routes() -> None:
    (scheme,) = DOCUMENT["components"]["securitySchemes"].items()
    assert scheme[0] == "AdminKey"
    assert {"type": "apiKey", "in": "header", "name": "X-Admin-Key"}.items() <= scheme[1].items()
    protected = {
        (path, method) for path, method in OPERATIONS if "security" in DOCUMENT["paths"][path][method]
    }
    assert protected == {
        (path, method)
        for path, method in OPERATIONS
        if path.startswith(("/training-jobs", "/purchases", "/shoppers", "/rules", "/items/export"))
        or (path.startswith("/models/") and method in ("post", "delete"))
        or (path.startswith("/items") and method in ("put", "patch", "delete"))
    }
    for path, method in protected:
        assert {"401", "403"} <= DOCUMENT["paths"][path][method]["responses"].keys()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_declares_the_common_problems(path: str, method: str) -> None:
    operation = DOCUMENT["paths"][path][method]

    def declared(status: str) -> set[str]:
        return set(operation["responses"][status]["content"]["application/problem+json"]["examples"])

    common = {
        "400": "bad-request",
        "413": "body-too-large",
        "422": "invalid-request",
        "500": "internal-error",
    }
    for status, slug in common.items():
        assert slug in declared(status)
    headers = {parameter["name"] for parameter in operation.get("parameters", [])}
    assert ("Idempotency-Key" in headers) == ("idempotency-key-reused" in declared("422"))
    assert ("If-None-Match" in headers) == bool({"304", "412"} & operation["responses"].keys())
    assert ("requestBody" in operation) == ("415" in operation["responses"])


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of its own, because the requests change carts, items and jobs."""
    store = tmp_path_factory.mktemp("probed") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY, TRIPOD_DATA=str(store.parent)) as running:
        yield running.ready()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_generated_requests_get_no_server_error_and_only_declared_responses(
    probed: Service, path: str, method: str
) -> None:
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.config.update(base_url=str(probed.client.base_url))
    operation = schema[path][method.upper()]
    valid = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    invalid = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    answered = []

    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=valid | invalid)
    def probe(case: schemathesis.Case) -> None:
        assume(len(urlencode(case.query, doseq=True)) < MAX_QUERY_LENGTH)
        response = case.call(headers={"X-Admin-Key": ADMIN_KEY})
        case.validate_response(
            response,
            checks=[
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_headers_conformance,
                response_schema_conformance,
            ],
        )
        answered.append(response.status_code)

    probe()
    assert answered
