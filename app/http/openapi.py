"""The OpenAPI document: descriptions, tags, and the schema of problems."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from app.http.problems import ProblemDocument
from model_store.version import VERSION

_DESCRIPTION = """
Tripod learns from baskets which items attract each other and which replace each other, and answers two
questions: *what should this cart get next?* and *which items belong together?*

- Put items into a cart with `POST /carts/{cart_id}/items`, then ask `GET /recommend?cart_id=…&k=10`.
- Without carts: `GET /recommend?items=camera,film`.
- Bundles: `GET /bundles?k=5`.
- Replacements for items that are out of stock: `GET /carts/{cart_id}/substitutes`.

Every response has a `model_version`. Items that the model does not know are no error: they are listed in
`unknown_items`. Errors are [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problems with a stable `type`;
a 429 or 503 says in `Retry-After` when to try again. An `X-Request-ID` that you send (up to 128 letters,
digits and `._:-`) is returned with the response and appears in the log.
"""
_TAGS = [
    {"name": "recommendations", "description": "What a cart should get next, and what can be said about it."},
    {"name": "carts", "description": "Carts, kept until checked out or unused for a week."},
    {"name": "purchases", "description": "Purchases that were made elsewhere, cancellations and returns."},
    {"name": "bundles", "description": "Sets of items that belong together."},
    {"name": "items", "description": "The catalogue: search it, and change it as the shop wants."},
    {"name": "rules", "description": "What merchandisers pin, boost, bury, hide and limit."},
    {"name": "models", "description": "Model versions: list, activate, roll back."},
    {"name": "training jobs", "description": "Retrain from new baskets and checked-out carts."},
    {"name": "health", "description": "Liveness, readiness and metrics, for operators."},
]

_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag of the response that you have: 304 without a body if it is still current.",
}


def describe(app: FastAPI) -> None:
    """Set the generator of `/openapi.json`, which `/docs` shows."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            for route in app.routes:
                if isinstance(route, APIRoute):
                    route.operation_id = route.name
            document = get_openapi(
                title="Tripod",
                version=VERSION,
                description=_DESCRIPTION,
                routes=app.routes,
                tags=_TAGS,
            )
            for operations in document["paths"].values():
                for operation in operations.values():
                    if "304" in operation["responses"]:
                        operation.setdefault("parameters", []).append(_IF_NONE_MATCH)
            schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas = document["components"]["schemas"]
            schemas.update(schema.pop("$defs"))
            schemas["Problem"] = schema
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
