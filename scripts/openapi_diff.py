"""Compare the OpenAPI document with that of the last release: `python -m scripts.openapi_diff [OLD [NEW]]`.

Lists breaking changes. Each must be named in the newest section of CHANGELOG.md, in backticks: a removed path
by its path, a change of an operation by method and path, a parameter, member or enum value by its own name.
Exit codes: 0 if all are named, 1 if not, 2 if a file is missing or invalid.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.openapi_document import ELEMENTS, Document, Node, Schema

ROOT = Path(__file__).parents[1]
LAST_RELEASE = "docs/openapi-last-release.json"  # each release replaces it
CURRENT = "tests/app/openapi.json"


@dataclass(frozen=True)
class Change:
    """A breaking change, and the name by which the changelog must mention it."""

    where: str
    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Comparison:
    """Breaking changes from one document to another."""

    old: Document
    new: Document

    def changes(self) -> Iterator[Change]:
        """All breaking changes, in the order of the old document."""
        old, new = self.old.operations(), self.new.operations()
        paths = {path for path, _ in new}
        for path in sorted({path for path, _ in old} - paths):
            yield Change(path, "the path is gone", path)
        for (path, method), operation in old.items():
            where = f"{method.upper()} {path}"
            if (path, method) in new:
                yield from self._operation(operation, new[path, method], where)
            elif path in paths:
                yield Change(where, "the operation is gone", where)

    def _operation(self, old: Node, new: Node, where: str) -> Iterator[Change]:
        yield from self._parameters(old, new, where)
        body = self.old.resolved(old.get("requestBody", {}))
        new_body = self.new.resolved(new.get("requestBody", {}))
        if new_body.get("required") and not body.get("required"):
            yield Change(where, "a body is now required", where)
        yield from self._contents(body, new_body, where, "body")
        for status, answer in old["responses"].items():
            if status in new["responses"]:
                answers = self.old.resolved(answer), self.new.resolved(new["responses"][status])
                yield from self._contents(*answers, where, f"answer {status}")
            elif status < "4":  # not an error
                yield Change(where, f"answer {status} is gone", where)

    def _parameters(self, old: Node, new: Node, where: str) -> Iterator[Change]:
        before, after = self.old.parameters(old), self.new.parameters(new)
        for (place, name), parameter in {**before, **after}.items():
            was, at = before.get((place, name)), f"{where}, {place} parameter `{name}`"
            if (place, name) not in after:
                yield Change(at, "is gone", name)
            elif was:
                if parameter.get("required") and not was.get("required"):
                    yield Change(at, "is now required", name)
                yield from self._schemas([was.get("schema", {})], [parameter.get("schema", {})], at, name)
            elif parameter.get("required"):
                # Other operations may need the same key, so the changelog must name the operation.
                yield Change(at, "is new and required", where if "is_key" in parameter else name)

    def _contents(self, old: Node, new: Node, where: str, part: str) -> Iterator[Change]:
        after = new.get("content", {})
        for kind, content in old.get("content", {}).items():
            at = f"{where}, {part}"
            if kind in after:
                schemas = [content.get("schema", {})], [after[kind].get("schema", {})]
                yield from self._schemas(*schemas, at, where, request=part == "body")
            else:
                yield Change(at, f"{kind} is gone", where)

    def _schemas(
        self,
        old: list[Node],
        new: list[Node],
        where: str,
        name: str,
        *,
        request: bool = True,
        within: frozenset[str] = frozenset(),
    ) -> Iterator[Change]:
        pair = json.dumps([old, new])
        if pair in within:  # a schema that contains itself
            return
        before, after = self.old.schema(old), self.new.schema(new)
        for what, own_name in differences(before, after, request=request):
            yield Change(where, what, own_name or name)
        members = after.members()
        for member, nodes in before.members().items():
            at = (where, name) if member in ELEMENTS.values() else (f"{where}, `{member}`", member)
            if member in members:
                yield from self._schemas(nodes, members[member], *at, request=request, within=within | {pair})


def differences(old: Schema, new: Schema, *, request: bool) -> Iterator[tuple[str, str]]:
    """Breaking changes of a schema, not those within its members; with the name of a member or value."""
    # Requests may allow more than before, answers less; the opposite breaks callers.
    if lost := old.types() - new.types() if request else new.types() - old.types():
        yield f"{'no longer' if request else 'now also'} {', '.join(sorted(lost))}", ""
    values, new_values = old.values(), new.values()
    if values is not None and new_values is not None:
        for value in sorted(values - new_values):
            yield f"the value {value} is gone", str(json.loads(value))
    elif request and new_values is not None:
        yield f"now only {', '.join(sorted(new_values))}", ""
    members, required, new_required = new.members().keys(), old.required(), new.required()
    for member in sorted(old.members().keys() - members - set(ELEMENTS.values())):
        yield f"member `{member}` is gone", member
    for member in sorted(new_required - required if request else (required - new_required) & members):
        yield f"member `{member}` is now {'required' if request else 'optional'}", member
    for limit in new.tighter_than(old) if request else ():
        yield limit, ""


def newest_section(changelog: str) -> str:
    """The first section of a changelog that is not empty."""
    sections = re.split(r"^## .*$", changelog, flags=re.MULTILINE)[1:]
    return next((section for section in sections if section.strip()), "")


def is_named(name: str, section: str) -> bool:
    """Whether a text in backticks contains the name as a whole word or path, not as a part of a path."""
    return re.search(rf"`[^`\n]*(?<![\w/{{}}-]){re.escape(name)}(?![\w/-])[^`\n]*`", section) is not None


def read_document(path: Path) -> Document:
    """The OpenAPI document in a file; ValueError if it is none."""
    try:
        document = Document(json.loads(path.read_text()))
        list(Comparison(document, document).changes())  # visits every part that is compared
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a valid OpenAPI document ({type(error).__name__}: {error})."
        ) from error
    return document


def main(arguments: list[str] | None = None) -> int:
    """Print every breaking change; 1 if the changelog does not name all of them."""
    parser = argparse.ArgumentParser("openapi_diff", description="List breaking changes of the API.")
    for name, default in (("old", LAST_RELEASE), ("new", CURRENT)):
        parser.add_argument(name, nargs="?", type=Path, default=ROOT / default, help=f"default: {default}")
    parser.add_argument("--changelog", type=Path, default=ROOT / "CHANGELOG.md", help="default: CHANGELOG.md")
    options = parser.parse_args(arguments)
    try:
        comparison = Comparison(read_document(options.old), read_document(options.new))
        section = newest_section(options.changelog.read_text(errors="replace"))
    except OSError as error:
        parser.exit(2, f"{error.filename} cannot be read: {error.strerror}.\n")
    except ValueError as error:
        parser.exit(2, f"{error}\n")
    changes = list(dict.fromkeys(comparison.changes()))
    unnamed = [change for change in changes if not is_named(change.name, section)]
    for change in changes:
        print(f"{'NOT IN CHANGELOG' if change in unnamed else 'in changelog'}: {change}")
    if unnamed:
        names = ", ".join(dict.fromkeys(f"`{change.name}`" for change in unnamed))
        print(f"Name these breaking changes in the newest section of {options.changelog.name}: {names}")
        return 1
    print(f"{len(changes)} breaking changes, all in the changelog." if changes else "No breaking change.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
