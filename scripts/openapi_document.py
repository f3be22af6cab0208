"""An OpenAPI document and its schemas, as `openapi_diff` compares them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
# Limits of values, by the type that they apply to. Schemas of numbers also have the type integer.
BOUNDS = {
    "integer": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
RULES = {"integer": ("multipleOf",), "string": ("pattern", "format"), "object": ("additionalProperties",)}
UNBOUNDED = (-math.inf, False)
# Schemas of array elements and of members with any name are compared like members with these names.
ELEMENTS = {"items": "[]", "additionalProperties": "{}"}

Node = Mapping[str, Any]


@dataclass(frozen=True)
class Schema:
    """What any of some alternatives allows, each with a set of types and without references."""

    alternatives: list[Node]

    def types(self) -> set[str]:
        """All types that are allowed."""
        return set().union(*(node["type"] for node in self.alternatives))

    def of_type(self, kind: str) -> list[Node]:
        """The alternatives that allow a type."""
        return [node for node in self.alternatives if kind in node["type"]]

    def members(self) -> dict[str, list[Node]]:
        """Member names with their schemas in all alternatives."""
        found: dict[str, list[Node]] = {}
        for node in self.alternatives:
            elements = {name: node[key] for key, name in ELEMENTS.items() if isinstance(node.get(key), dict)}
            for name, schema in {**node.get("properties", {}), **elements}.items():
                found.setdefault(name, []).append(schema)
        return found

    def required(self) -> set[str]:
        """Members that every object has."""
        required = [set(node.get("required", [])) for node in self.of_type("object")]
        return set.intersection(*required) if required else set()

    def values(self) -> set[str] | None:
        """The values of an enum, as JSON; None if other values are allowed, too."""
        nodes = [node for node in self.alternatives if node["type"] != {"null"}]
        if not nodes or not all("enum" in node or "const" in node for node in nodes):
            return None
        return {json.dumps(value) for node in nodes for value in node.get("enum", [node.get("const")])}

    def bound(self, kind: str, keyword: str) -> tuple[float, bool]:
        """The loosest bound (an upper one negated) and whether it is exclusive; the larger, the tighter."""
        sign = 1 if keyword.startswith("min") else -1
        keys = (keyword, f"exclusive{keyword.capitalize()}")
        bounds = [
            max(((sign * node[key], key != keyword) for key in keys if key in node), default=UNBOUNDED)
            for node in self.of_type(kind)
        ]
        return min(bounds, default=UNBOUNDED)

    def rules(self, kind: str, keyword: str) -> set[str]:
        """The keyword's values for a type, as JSON; `null` where it allows everything."""
        values = [node.get(keyword) for node in self.of_type(kind)]
        return {json.dumps(None if value is True or isinstance(value, dict) else value) for value in values}

    def tighter_than(self, old: Schema) -> Iterator[str]:
        """Limits that refuse values which the old schema allows."""
        for kind in sorted(self.types() & old.types()):
            for keyword in BOUNDS.get(kind, ()):
                bound, exclusive = self.bound(kind, keyword)
                if (bound, exclusive) > old.bound(kind, keyword):
                    value = bound if keyword.startswith("min") else -bound
                    yield f"{keyword} is now {value}{' (exclusive)' if exclusive else ''}"
            for keyword in RULES.get(kind, ()):
                rules = self.rules(kind, keyword)
                if "null" not in rules and not old.rules(kind, keyword) <= rules:
                    yield f"{keyword} is now {' or '.join(sorted(rules))}"


@dataclass(frozen=True)
class Document:
    """An OpenAPI document with its references resolved on demand."""

    content: Node

    def resolved(self, node: Node) -> Node:
        """The schema, parameter or response that a reference names."""
        if "$ref" not in node:
            return node
        found: Any = self.content
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return self.resolved(found)

    def operations(self) -> dict[tuple[str, str], Node]:
        """Operations by path and method, with the parameters of the path."""
        return {
            (path, method): {
                **item[method],
                "parameters": [*item.get("parameters", []), *item[method].get("parameters", [])],
            }
            for path, item in self.content["paths"].items()
            for method in METHODS
            if method in item
        }

    def parameters(self, operation: Node) -> dict[tuple[str, str], Node]:
        """Parameters by place and name, the keys of security schemes among them."""
        found = [self.resolved(parameter) for parameter in operation["parameters"]]
        ways = operation.get("security", self.content.get("security", []))
        for scheme in dict.fromkeys(scheme for way in ways for scheme in way):
            key = {"name": "Authorization", **self.content["components"]["securitySchemes"][scheme]}
            found.append(
                {"in": "header", **key, "is_key": True, "required": all(scheme in way for way in ways)}
            )
        return {(parameter["in"], parameter["name"]): parameter for parameter in found}

    def schema(self, nodes: list[Node]) -> Schema:
        """The schema that allows what any of the nodes allows."""
        found: list[Node] = []
        for node in map(self.resolved, nodes):
            types = node.get("type", TYPES)
            types = {types} if isinstance(types, str) else set(types)
            if "allOf" in node:
                raise ValueError("allOf is not supported")
            if inner := node.get("anyOf") or node.get("oneOf"):
                found += self.schema(inner).alternatives
            else:
                found.append({**node, "type": types | {"integer"} if "number" in types else types})
        return Schema(found)
