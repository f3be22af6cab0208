"""Routes of items."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.catalogue.schemas import (
    CategoriesAnswer,
    ItemAnswer,
    ItemPatch,
    ItemsAnswer,
    ItemSearch,
    RelatedAnswer,
    RelatedQuery,
)
from app.dependencies import AdminKey, FromCatalogue, ItemIdPath, ServicesDep, services_of
from app.http.errors import (
    Forbidden,
    ItemNotFound,
    ModelMissing,
    Overloaded,
    RedisUnavailable,
    Unauthorized,
    UnsupportedMediaType,
)
from app.http.etags import REVALIDATED
from app.http.inputs import query_parameters, query_reader
from app.http.problems import COMMON, declare

router = APIRouter(tags=["items"], responses=COMMON)

_read_search = query_reader(ItemSearch)
_read_related = query_reader(RelatedQuery)


@router.get(
    "/items",
    summary="Search items",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing, Overloaded)},
    openapi_extra=query_parameters(ItemSearch),
)
async def search_items(request: Request) -> ItemsAnswer:
    """Search the catalogue by name and category, most popular items first, in pages."""
    return await services_of(request).items.search(_read_search(request))


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
    """One item with the shop's overrides applied."""
    return services.items.get(item_id)


@router.patch(
    "/items/{item_id:path}",
    summary="Change an item",
    dependencies=[AdminKey],
    responses=declare(
        Unauthorized, Forbidden, ItemNotFound, UnsupportedMediaType, ModelMissing, RedisUnavailable
    ),
)
async def patch_item(services: ServicesDep, item_id: ItemIdPath, patch: ItemPatch) -> ItemAnswer:
    """Override the stock, price or boost of an item.

    It takes effect within two seconds in all processes and survives restarts and new models.
    """
    return await services.items.patch(item_id, patch.model_dump(exclude_unset=True))
