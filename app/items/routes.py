"""Routes of items."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.dependencies import AdminKey, FromCatalogue, ItemIdPath, ServicesDep, services_of
from app.errors import (
    Forbidden,
    ItemNotFound,
    ModelMissing,
    Overloaded,
    RedisAway,
    Unauthorized,
    UnsupportedMediaType,
)
from app.etags import REVALIDATED
from app.items.schemas import (
    CategoriesAnswer,
    ItemAnswer,
    ItemPatch,
    ItemsAnswer,
    ItemSearch,
    RelatedAnswer,
    RelatedQuery,
)
from app.problems import COMMON, declare
from app.queries import documented, query_of

router = APIRouter(tags=["items"], responses=COMMON)

_read_search = query_of(ItemSearch)
_read_related = query_of(RelatedQuery)


@router.get(
    "/items",
    summary="Search items",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing, Overloaded)},
    openapi_extra=documented(ItemSearch),
)
async def search_items(request: Request) -> ItemsAnswer:
    """The items of the catalogue, the most popular first, page by page."""
    return await services_of(request).items.search(_read_search(request))


@router.get(
    "/categories",
    summary="List categories",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ModelMissing)},
)
async def list_categories(services: ServicesDep) -> CategoriesAnswer:
    """All categories of the catalogue; those of popular items come first."""
    return services.items.categories()


# Before `/items/{item_id}`, whose path takes any characters: an item's id may contain slashes.
@router.get(
    "/items/{item_id:path}/related",
    summary="Related items",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ItemNotFound, ModelMissing, Overloaded)},
    openapi_extra=documented(RelatedQuery),
)
async def related_items(request: Request, item_id: ItemIdPath) -> RelatedAnswer:
    """What goes with an item, or what would replace it, within the same filters as recommendations.

    The surest come first. Items hidden by a boost of 0 are left out. A model of release 0.1 has no counts of
    pairs, so its list is empty.
    """
    return await services_of(request).items.related(item_id, _read_related(request))


@router.get(
    "/items/{item_id:path}",
    summary="Read an item",
    dependencies=[FromCatalogue],
    responses={**REVALIDATED, **declare(ItemNotFound, ModelMissing)},
)
async def get_item(services: ServicesDep, item_id: ItemIdPath) -> ItemAnswer:
    """One item as it counts now."""
    return services.items.get(item_id)


@router.patch(
    "/items/{item_id:path}",
    summary="Change an item",
    dependencies=[AdminKey],
    responses=declare(Unauthorized, Forbidden, ItemNotFound, UnsupportedMediaType, ModelMissing, RedisAway),
)
async def patch_item(services: ServicesDep, item_id: ItemIdPath, patch: ItemPatch) -> ItemAnswer:
    """Say what the shop knows better than the model: stock, price, boost.

    It counts at once, on all processes within a second or two, and outlives restarts and new models.
    """
    return await services.items.patch(item_id, patch.model_dump(exclude_unset=True))
