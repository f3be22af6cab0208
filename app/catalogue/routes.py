"""Routes of items."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from app.catalogue.schemas import (
    MOST_ITEMS,
    CategoriesAnswer,
    ChangesAnswer,
    ItemAnswer,
    ItemChange,
    ItemPatch,
    ItemsAnswer,
    ItemSearch,
    ItemWrite,
    RelatedAnswer,
    RelatedQuery,
)
from app.dependencies import AdminKey, FromCatalogue, ItemIdPath, ServicesDep, services_of
from app.http.errors import (
    Forbidden,
    ItemNotFound,
    ModelMissing,
    NotFound,
    Overloaded,
    RedisUnavailable,
    Unauthorized,
    UnsupportedMediaType,
)
from app.http.etags import REVALIDATED
from app.http.inputs import query_parameters, query_reader
from app.http.middleware import ITEMS, NDJSON
from app.http.problems import COMMON, declare

router = APIRouter(tags=["items"], responses=COMMON)

_read_search = query_reader(ItemSearch)
_read_related = query_reader(RelatedQuery)
_ADMIN = declare(Unauthorized, Forbidden, ModelMissing)
_CHANGE = {**_ADMIN, **declare(UnsupportedMediaType, RedisUnavailable)}
_SCHEMA = {
    name: part
    for name, part in ItemChange.model_json_schema(ref_template="#/components/schemas/{model}").items()
    if name != "$defs"
}
_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["items"],
                "additionalProperties": False,
                "properties": {
                    "items": {"type": "array", "minItems": 1, "maxItems": MOST_ITEMS, "items": _SCHEMA}
                },
            },
            "example": {
                "items": [{"item_id": "camera", "in_stock": False}, {"item_id": "film", "price": 7.5}]
            },
        },
        NDJSON: {
            "schema": {"type": "string", "description": "One such item a line."},
            "example": '{"item_id": "camera", "in_stock": false}\n{"item_id": "film", "price": 7.5}\n',
        },
    },
}


@router.get(
    ITEMS,
    summary="Search items",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing, Overloaded)},
    openapi_extra=query_parameters(ItemSearch),
)
async def search_items(request: Request) -> ItemsAnswer:
    """Search the catalogue by name and category, in pages.

    Whole words come before beginnings of words and typos, then popular items before others. `categories`
    counts what matches, for the facets of a search page.
    """
    return await services_of(request).items.search(_read_search(request))


@router.patch(
    ITEMS,
    summary="Change many items",
    dependencies=[AdminKey],
    response_model=ChangesAnswer,
    openapi_extra={"requestBody": _BODY},
    responses=_CHANGE,
)
async def patch_items(services: ServicesDep, request: Request) -> ChangesAnswer:
    """Change fields of many items, and create those that the shop does not have and that get a name.

    As `application/json` up to 10,000 items, or as `application/x-ndjson`, one object a line, up to
    `TRIPOD_MAX_NDJSON_BYTES`. What is wrong is listed and does not stop the others. It takes effect within
    two seconds in all processes.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == NDJSON:
        return await services.items.patch_lines(request.stream())
    if kind != "application/json":
        raise UnsupportedMediaType(
            f"Send the items as application/json or as {NDJSON}: set the header Content-Type."
        )
    return await services.items.patch_json(await request.body())


@router.get(
    "/items/export",
    summary="Export all items",
    dependencies=[AdminKey],
    response_class=StreamingResponse,
    responses={
        200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "One item a line."},
        **_ADMIN,
    },
)
async def export_items(services: ServicesDep) -> StreamingResponse:
    """All items of the shop, one JSON object a line, as `PATCH /items` accepts them."""
    return StreamingResponse(services.items.export(), media_type=NDJSON)


@router.get(
    "/categories",
    summary="List categories",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing)},
)
async def list_categories(services: ServicesDep) -> CategoriesAnswer:
    """All categories of the catalogue, those with the most popular items first."""
    return services.items.categories()


# Before `/items/{item_id}`, which matches any characters because an item's id may contain slashes.
@router.get(
    "/items/{item_id:path}/related",
    summary="Related items",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ItemNotFound, ModelMissing, Overloaded)},
    openapi_extra=query_parameters(RelatedQuery),
)
async def related_items(request: Request, item_id: ItemIdPath) -> RelatedAnswer:
    """Complements or substitutes of an item, most certain first, with the filters of recommendations.

    Items hidden by a boost of 0 are left out. A model of release 0.1 has no counts of pairs, so its list is
    empty.
    """
    return await services_of(request).items.related(item_id, _read_related(request))


@router.get(
    "/items/{item_id:path}",
    summary="Read an item",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ItemNotFound, ModelMissing)},
)
async def get_item(services: ServicesDep, item_id: ItemIdPath) -> ItemAnswer:
    """One item, with what the shop says about it."""
    return services.items.get(item_id)


@router.put(
    "/items/{item_id:path}",
    summary="Create or replace an item",
    dependencies=[AdminKey],
    responses={
        201: {"model": ItemAnswer, "description": "The item is new to the shop."},
        **_CHANGE,
        **declare(NotFound),
    },
)
async def put_item(
    services: ServicesDep, item_id: ItemIdPath, item: ItemWrite, response: Response
) -> ItemAnswer:
    """Create or replace what the shop says about an item.

    An item that the model does not know is recommended from its first minute, beside similar items, marked
    `cold`.
    """
    is_new, answer = await services.items.put(item_id, item)
    response.status_code = 201 if is_new else 200
    return answer


@router.patch(
    "/items/{item_id:path}",
    summary="Change an item",
    dependencies=[AdminKey],
    responses={**_CHANGE, **declare(ItemNotFound)},
)
async def patch_item(services: ServicesDep, item_id: ItemIdPath, patch: ItemPatch) -> ItemAnswer:
    """Change some fields of an item.

    It takes effect within two seconds in all processes and survives restarts and new models.
    """
    return await services.items.patch(item_id, patch)


@router.delete(
    "/items/{item_id:path}",
    status_code=204,
    summary="Delete an item",
    dependencies=[AdminKey],
    responses={**_ADMIN, **declare(ItemNotFound, RedisUnavailable)},
)
async def delete_item(services: ServicesDep, item_id: ItemIdPath) -> None:
    """Delete an item from the shop: it is not shown any more, also if a model knows it.

    Carts and purchases keep it. `PUT` brings it back.
    """
    await services.items.delete(item_id)
