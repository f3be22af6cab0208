"""The routes of items, like those in `calls.py`. Changes and the export need the admin key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack

from tripod_client import answers
from tripod_client.arguments import ItemChange, ItemFilters, ItemPatch, ItemWrite
from tripod_client.conditions import Condition
from tripod_client.request import NDJSON, Call, given_only, json_lists, ndjson, options_of, path_of


def search_items(
    q: str = "",
    category: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
    *,
    filter: Condition | None = None,  # noqa: A002  as in the API
    in_stock: bool = False,
) -> Call[answers.ItemsAnswer]:
    """Search the catalogue page by page, best matches first, then most popular items."""
    query = {"q": q, "category": category, "limit": limit, "cursor": cursor, "filter": filter}
    return Call("GET", "/items", given_only(json_lists(query)) | {"in_stock": in_stock})


def list_categories() -> Call[answers.CategoriesAnswer]:
    """List the categories with their number of items."""
    return Call("GET", "/categories")


def get_item(item_id: str) -> Call[answers.ItemAnswer]:
    """Read an item, with what the shop says about it."""
    return Call("GET", path_of("items", item_id))


def related_items(
    item_id: str,
    relation: Literal["complement", "substitute"] = "complement",
    k: int = 10,
    **filters: Unpack[ItemFilters],
) -> Call[answers.RelatedAnswer]:
    """List complements or substitutes of an item, strongest evidence first; empty if there are none."""
    query = json_lists({"relation": relation, "k": k, **options_of(filters)})
    return Call("GET", path_of("items", item_id, "related"), query)


def put_item(item_id: str, **item: Unpack[ItemWrite]) -> Call[answers.ItemAnswer]:
    """Create an item, or replace all that the shop says about it."""
    return Call("PUT", path_of("items", item_id), body=dict(item))


def patch_item(item_id: str, **change: Unpack[ItemPatch]) -> Call[answers.ItemAnswer]:
    """Change some fields of an item; None restores the value of the model."""
    return Call("PATCH", path_of("items", item_id), body=dict(change))


def patch_items(changes: Iterable[ItemChange]) -> Call[answers.ChangesAnswer]:
    """Change many items in one request; `failed` of the answer lists the changes that were refused.

    A list is checked before anything is sent. Other iterables are sent while they are read: if one raises an
    exception, the changes before it may have been made.
    """
    if isinstance(changes, str | bytes | Mapping):
        raise TypeError("changes must be a list of dictionaries, each with an item_id")
    lines = ndjson(_checked(changes))
    content = b"".join(lines) if isinstance(changes, Sequence) else lines
    return Call("PATCH", "/items", content=content, headers=NDJSON, least_seconds=60)


def _checked(changes: Iterable[ItemChange]) -> Iterator[Mapping[str, Any]]:
    for change in changes:
        if not (isinstance(change, Mapping) and isinstance(change.get("item_id"), str)):
            raise TypeError(f"a change is a dictionary with an item_id, not {change!r:.200}")
        yield change


def delete_item(item_id: str) -> Call[None]:
    """Delete an item from the shop. `put_item` brings it back."""
    return Call("DELETE", path_of("items", item_id), answer="nothing")


def export_items() -> Call[ItemChange]:
    """Stream all items of the shop, as `patch_items` accepts them."""
    return Call("GET", "/items/export")
