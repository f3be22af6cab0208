"""A small OpenAPI document, with breaking and compatible changes of it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Edit = Callable[[dict[str, Any]], object]

NULL = {"type": "null"}
DOCUMENT: dict[str, Any] = {
    "paths": {
        "/carts": {"get": {"responses": {"200": {}}}, "post": {"responses": {"201": {}}}},
        "/recommend": {
            "post": {
                "parameters": [
                    {"name": "k", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": 50}},
                    {"name": "sort", "in": "query", "schema": {"type": "string", "enum": ["rank", "price"]}},
                ],
                "security": [{"Key": []}],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Question"}},
                        "text/csv": {},
                    }
                },
                "responses": {
                    "304": {},
                    "404": {},
                    "200": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}}
                    },
                },
            }
        },
    },
    "components": {
        "securitySchemes": {"Key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "schemas": {
            "Question": {
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": {"type": ["string", "integer"]}},
                    "limit": {"type": "number"},
                    "note": {"anyOf": [{"type": "string", "maxLength": 9, "pattern": "^a"}, NULL]},
                    "boosts": {"type": "object", "additionalProperties": {"type": "number"}},
                },
            },
            "Answer": {
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
                    "state": {"anyOf": [{"enum": ["full", "short"], "type": "string"}, NULL]},
                },
            },
            "Item": {
                "type": "object",
                "required": ["parent"],
                "properties": {
                    "score": {"type": "number"},
                    "parent": {"anyOf": [{"$ref": "#/components/schemas/Item"}, NULL]},
                },
            },
        },
    },
}


def recommend(document: dict[str, Any]) -> dict[str, Any]:
    return document["paths"]["/recommend"]["post"]


def schema(document: dict[str, Any], name: str) -> dict[str, Any]:
    return document["components"]["schemas"][name]


def members(document: dict[str, Any], name: str) -> dict[str, Any]:
    return schema(document, name)["properties"]


def changed(edit: Edit) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    edit(document)
    return document


BREAKING: dict[str, tuple[Edit, str, str]] = {
    "path": (lambda d: d["paths"].pop("/carts"), "/carts", "/carts: the path is gone"),
    "operation": (
        lambda d: d["paths"]["/carts"].pop("get"),
        "GET /carts",
        "GET /carts: the operation is gone",
    ),
    "parameter": (
        lambda d: recommend(d)["parameters"].pop(0),
        "k",
        "POST /recommend, query parameter `k`: is gone",
    ),
    "parameter type": (
        lambda d: recommend(d)["parameters"][0]["schema"].update(type="string"),
        "k",
        "POST /recommend, query parameter `k`: no longer integer",
    ),
    "parameter value": (
        lambda d: recommend(d)["parameters"][1]["schema"]["enum"].remove("price"),
        "price",
        'POST /recommend, query parameter `sort`: the value "price" is gone',
    ),
    "parameter now an enum": (
        lambda d: recommend(d)["parameters"][0]["schema"].update(enum=[1, 2]),
        "k",
        "POST /recommend, query parameter `k`: now only 1, 2",
    ),
    "parameter now required": (
        lambda d: recommend(d)["parameters"][0].update(required=True),
        "k",
        "POST /recommend, query parameter `k`: is now required",
    ),
    "new required parameter": (
        lambda d: recommend(d)["parameters"].append(
            {"name": "shop", "in": "query", "required": True, "schema": {}}
        ),
        "shop",
        "POST /recommend, query parameter `shop`: is new and required",
    ),
    "API key": (
        lambda d: recommend(d).pop("security"),
        "X-Key",
        "POST /recommend, header parameter `X-Key`: is gone",
    ),
    "new API key of an operation": (
        lambda d: d["paths"]["/carts"]["get"].update(security=[{"Key": []}]),
        "GET /carts",
        "GET /carts, header parameter `X-Key`: is new and required",
    ),
    "new API key of all operations": (
        lambda d: d.update(security=[{"Key": []}]),
        "POST /carts",
        "POST /carts, header parameter `X-Key`: is new and required",
    ),
    "new bearer token": (
        lambda d: (
            d["components"]["securitySchemes"].update(Token={"type": "http", "scheme": "bearer"}),
            recommend(d).update(security=[{"Key": [], "Token": []}]),
        ),
        "POST /recommend",
        "POST /recommend, header parameter `Authorization`: is new and required",
    ),
    "lower maximum": (
        lambda d: recommend(d)["parameters"][0]["schema"].update(maximum=20),
        "k",
        "POST /recommend, query parameter `k`: maximum is now 20",
    ),
    "higher minimum": (
        lambda d: recommend(d)["parameters"][0]["schema"].update(minimum=1),
        "k",
        "POST /recommend, query parameter `k`: minimum is now 1",
    ),
    "exclusive minimum": (
        lambda d: recommend(d)["parameters"][0]["schema"].update(exclusiveMinimum=0),
        "k",
        "POST /recommend, query parameter `k`: minimum is now 0 (exclusive)",
    ),
    "new minimum of a number": (
        lambda d: members(d, "Question")["limit"].update(minimum=-1.5),
        "limit",
        "POST /recommend, body, `limit`: minimum is now -1.5",
    ),
    "lower maxLength of a member that may be null": (
        lambda d: members(d, "Question")["note"]["anyOf"][0].update(maxLength=8),
        "note",
        "POST /recommend, body, `note`: maxLength is now 8",
    ),
    "other pattern": (
        lambda d: members(d, "Question")["note"]["anyOf"][0].update(pattern="^b"),
        "note",
        'POST /recommend, body, `note`: pattern is now "^b"',
    ),
    "new maxItems": (
        lambda d: members(d, "Question")["items"].update(maxItems=3),
        "items",
        "POST /recommend, body, `items`: maxItems is now 3",
    ),
    "new maximum of members with any name": (
        lambda d: members(d, "Question")["boosts"]["additionalProperties"].update(maximum=2),
        "boosts",
        "POST /recommend, body, `boosts`: maximum is now 2",
    ),
    "unknown members now refused": (
        lambda d: schema(d, "Question").update(additionalProperties=False),
        "POST /recommend",
        "POST /recommend, body: additionalProperties is now false",
    ),
    "body now required": (
        lambda d: recommend(d)["requestBody"].update(required=True),
        "POST /recommend",
        "POST /recommend: a body is now required",
    ),
    "content type": (
        lambda d: recommend(d)["requestBody"]["content"].pop("text/csv"),
        "POST /recommend",
        "POST /recommend, body: text/csv is gone",
    ),
    "request member": (
        lambda d: members(d, "Question").pop("limit"),
        "limit",
        "POST /recommend, body: member `limit` is gone",
    ),
    "required request member": (
        lambda d: schema(d, "Question").update(required=["limit"]),
        "limit",
        "POST /recommend, body: member `limit` is now required",
    ),
    "type of list elements in a request": (
        lambda d: members(d, "Question")["items"].update(items={"type": "string"}),
        "items",
        "POST /recommend, body, `items`: no longer integer",
    ),
    "answer": (
        lambda d: recommend(d)["responses"].pop("200"),
        "POST /recommend",
        "POST /recommend: answer 200 is gone",
    ),
    "answer not modified": (
        lambda d: recommend(d)["responses"].pop("304"),
        "POST /recommend",
        "POST /recommend: answer 304 is gone",
    ),
    "answer member now optional": (
        lambda d: schema(d, "Item").pop("required"),
        "parent",
        "POST /recommend, answer 200, `items`: member `parent` is now optional",
    ),
    "answer member behind references": (
        lambda d: members(d, "Item").pop("score"),
        "score",
        "POST /recommend, answer 200, `items`: member `score` is gone",
    ),
    "answer member now also null": (
        lambda d: members(d, "Item").update(score={"anyOf": [{"type": "number"}, NULL]}),
        "score",
        "POST /recommend, answer 200, `items`, `score`: now also null",
    ),
    "answer value": (
        lambda d: members(d, "Answer")["state"]["anyOf"][0]["enum"].remove("short"),
        "short",
        'POST /recommend, answer 200, `state`: the value "short" is gone',
    ),
}
COMPATIBLE: dict[str, Edit] = {
    "nothing": lambda d: d,
    "new path": lambda d: d["paths"].update({"/new": {"get": {"responses": {}}}}),
    "new optional parameter": lambda d: recommend(d)["parameters"].append(
        {"name": "shop", "in": "query", "schema": {}}
    ),
    "wider request": lambda d: members(d, "Question")["limit"].update(type=["number", "null"]),
    "narrower answer": lambda d: members(d, "Item")["score"].update(type="integer"),
    "new answer member": lambda d: members(d, "Answer").update(note={"type": "string"}),
    "always present answer member": lambda d: schema(d, "Item").update(required=["score", "parent"]),
    "limit of an answer": lambda d: members(d, "Item")["score"].update(maximum=1),
    "wider bounds": lambda d: recommend(d)["parameters"][0]["schema"].update(minimum=-1, maximum=99),
    "looser exclusive bound": lambda d: recommend(d)["parameters"][0].update(
        schema={"type": "integer", "exclusiveMinimum": -1, "maximum": 50}
    ),
    "pattern dropped": lambda d: members(d, "Question")["note"]["anyOf"][0].pop("pattern"),
    "second pattern": lambda d: members(d, "Question")["note"]["anyOf"].append(
        {"type": "string", "pattern": "^b"}
    ),
    "limit of a new type": lambda d: members(d, "Question").update(
        limit={"anyOf": [{"type": "number"}, {"type": "string", "maxLength": 3}]}
    ),
    "key no longer needed but possible": lambda d: recommend(d).update(security=[{"Key": []}, {}]),
    "error answer": lambda d: recommend(d)["responses"].pop("404"),
    "new wording": lambda d: members(d, "Item")["score"].update(description="how well it fits"),
}
