"""A request to the service, and its parts: paths, headers, query parameters and JSON bodies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from tripod_client.arguments import BundleOptions, InStockFilters, NewLine, RecommendOptions

T = TypeVar("T")
NDJSON = {"Content-Type": "application/x-ndjson"}
_PART_BYTES = 65_536


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request; T is the type of its answer."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Any = None  # sent as JSON
    content: bytes | Iterable[bytes] | None = None  # sent as it is, instead of `body`
    headers: Mapping[str, str] | None = None
    answer: Literal["object", "text", "nothing"] = "object"  # content of a successful answer
    least_seconds: float = 0.0  # to wait for the answer, also if the timeout of the client is shorter


def path_of(*segments: str) -> str:
    """The path of a URL; its segments are quoted."""
    for segment in segments:
        if segment in ("", ".", ".."):  # the URL would name another resource
            raise ValueError(
                f"{segment!r} cannot be an id of a cart, item, order, shopper, rule or job, or name a version"
            )
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def header_value(name: str, value: str) -> str:
    """Strip a header value. The ValueError of an invalid one does not show it: it may be a secret."""
    text = value.strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError(
            f"{name} cannot be sent in a header: use printable ASCII characters only, without line breaks"
        )
    return text


def headers_of(if_match: str | None = None, idempotency_key: str | None = None) -> dict[str, str]:
    """The headers of a change."""
    headers = {}
    if if_match is not None:
        quoted = if_match == "*" or if_match.endswith('"')
        headers["If-Match"] = header_value("if_match", if_match if quoted else f'"{if_match}"')
    if idempotency_key is not None:
        headers["Idempotency-Key"] = header_value("idempotency_key", idempotency_key)
    return headers


def list_of(name: str, values: Sequence[str]) -> list[str]:
    """The values as a list; TypeError for a string."""
    if isinstance(values, str):  # a str is a sequence of one-character strings
        raise TypeError(f"{name} must be a list of strings, such as [{values!r}], not a string")
    return list(values)


def cart_query(cart_id: str | None) -> dict[str, str]:
    """The parameter that names a cart, if there is one."""
    if cart_id is None:
        return {}
    if not isinstance(cart_id, str):
        raise TypeError(f"cart_id must be a string, not {cart_id!r}: pass a list of item ids as items=")
    return {"cart_id": cart_id}


def lines_of(items: Sequence[str | NewLine]) -> list[NewLine]:
    """Items with their quantities; an id alone is quantity 1."""
    return [{"item_id": item} if isinstance(item, str) else item for item in items]


def past_of(shopper_id: str | None, history: Sequence[Sequence[str]] | None) -> dict[str, Any]:
    """What the shopper bought before: the members that are given."""
    past: dict[str, Any] = {} if shopper_id is None else {"shopper_id": shopper_id}
    if history is not None:
        if isinstance(history, str) or any(isinstance(basket, str) for basket in history):
            raise TypeError("history must be a list of baskets, each a list of item ids")
        past["history"] = [list(basket) for basket in history]
    return past


def time_of(name: str, time: str | float | datetime | None) -> str | float | None:
    """A time as JSON; ValueError for a datetime without a time zone."""
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise ValueError(f"{name} must have a time zone: datetime.now(UTC), for example")
    return time.isoformat()


def body_of(
    cart: Mapping[str, Any], items: Sequence[str], k: int, options: RecommendOptions | BundleOptions
) -> dict[str, Any]:
    """The JSON body of a request about a cart; `cart` names it and its shopper."""
    return {**cart, "items": list_of("items", items), "k": k, **options_of(options)}


def options_of(options: RecommendOptions | BundleOptions | InStockFilters) -> dict[str, Any]:
    """The options, with checked lists."""
    given: dict[str, Any] = {**options}
    for name in ("exclude", "category", "include"):
        if name in given:
            given[name] = list_of(name, given[name])
    return given


def json_lists(query: Mapping[str, Any]) -> dict[str, Any]:
    """Send lists of item ids as JSON, because an id may contain a comma; leave out those that are empty.

    A condition is sent as JSON too.
    """
    lists = {name: query[name] for name in ("items", "replace", "exclude") if name in query}
    others = {name: value for name, value in query.items() if name not in lists and name != "filter"}
    if query.get("filter") is not None:
        others["filter"] = json.dumps(query["filter"])
    return {**others, **{name: json.dumps(list_of(name, ids)) for name, ids in lists.items() if ids}}


def given_only(query: Mapping[str, Any]) -> dict[str, Any]:
    """The query without parameters that are None."""
    return {name: value for name, value in query.items() if value is not None}


def ndjson(values: Iterable[Mapping[str, Any]]) -> Iterable[bytes]:
    """One JSON object a line, in parts of many lines."""
    part, size = list[bytes](), 0
    for value in values:
        line = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
        part.append(line)
        size += len(line)
        if size >= _PART_BYTES:
            yield b"\n".join(part) + b"\n"
            part, size = [], 0
    if part:
        yield b"\n".join(part) + b"\n"
