"""The OpenAPI document: frozen in a file, and true.

After a change that is meant: `UPDATE_OPENAPI=1 .venv/bin/pytest tests/app/test_openapi.py -k unnoticed`
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode

import pytest
import schemathesis
from app_process import Service
from app_shop import publish
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

SNAPSHOT = Path(__file__).parent / "openapi.json"
DOCUMENT = create_app(Settings(redis_url="redis://127.0.0.1:1")).openapi()
KEY = "opens the admin routes, so that they are probed too"
LONGEST_QUERY = 50_000  # what the HTTP server reads of a request before its body is limited to 64 KB
OPERATIONS = [(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations]


def test_the_document_does_not_change_unnoticed() -> None:
    info = {**DOCUMENT["info"], "version": "that of the release"}
    written = json.dumps({**DOCUMENT, "info": info}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_OPENAPI"):
        SNAPSHOT.write_text(written)
    assert SNAPSHOT.read_text() == written, "if this is meant, update the snapshot: see the top of this file"


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_reads_like_documentation(path: str, method: str) -> None:
    operation = DOCUMENT["paths"][path][method]
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]
    for status, response in operation["responses"].items():
        if status.startswith(("4", "5")):
            assert list(response["content"]) == ["application/problem+json"]


def test_the_document_has_the_version_of_the_release() -> None:
    assert DOCUMENT["info"]["version"] == version("tripod-ndpp")


def test_operations_have_the_names_of_their_functions() -> None:
    names = [DOCUMENT["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert {"recommend", "recommend_json", "add_items", "search_items", "model_report"} <= set(names)
    assert len(set(names)) == len(names)


def test_the_admin_key_is_a_security_scheme() -> None:
    (scheme,) = DOCUMENT["components"]["securitySchemes"].items()
    assert scheme[0] == "AdminKey"
    assert {"type": "apiKey", "in": "header", "name": "X-Admin-Key"}.items() <= scheme[1].items()
    closed = {(path, method) for path, method in OPERATIONS if "security" in DOCUMENT["paths"][path][method]}
    assert closed == {
        (path, method)
        for path, method in OPERATIONS
        if path.startswith("/training-jobs")
        or (path.startswith("/models/") and method in ("post", "delete"))
        or method == "patch"
    }
    for path, method in closed:
        assert {"401", "403"} <= DOCUMENT["paths"][path][method]["responses"].keys()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_declares_what_can_happen_everywhere(path: str, method: str) -> None:
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
    """A service of its own: what the probes change must not confuse other tests."""
    store = tmp_path_factory.mktemp("probed") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=KEY, TRIPOD_DATA=str(store.parent)) as running:
        yield running.ready()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_no_request_finds_a_server_error_or_an_undeclared_answer(
    probed: Service, path: str, method: str
) -> None:
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.config.update(base_url=str(probed.client.base_url))
    operation = schema[path][method.upper()]
    sensible = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    nonsense = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    answered = []

    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=sensible | nonsense)
    def probe(case: schemathesis.Case) -> None:
        assume(len(urlencode(case.query, doseq=True)) < LONGEST_QUERY)
        response = case.call(headers={"X-Admin-Key": KEY})
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
