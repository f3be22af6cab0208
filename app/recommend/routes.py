"""Routes of recommendations."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter

from app.baskets import Basket
from app.dependencies import CartIdPath, ServicesDep, catalogue_headers, services_of
from app.direct import DirectRoute
from app.errors import CartNotFound, ModelMissing, Overloaded, RedisAway, UnsupportedMediaType
from app.etags import REVALIDATED
from app.problems import COMMON, declare
from app.queries import documented, query_of
from app.recommend.schemas import (
    BatchAnswer,
    BatchRequest,
    InsightsAnswer,
    InsightsQuery,
    Recommendations,
    RecommendQuery,
    RecommendRequest,
)

router = APIRouter(tags=["recommendations"], responses=COMMON)

_read_query = query_of(RecommendQuery)
_read_insights_query = query_of(InsightsQuery)
_ONE, _MANY = TypeAdapter(Recommendations), TypeAdapter(BatchAnswer)
_INSIGHTS = TypeAdapter(InsightsAnswer)
_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisAway)
_JSON_PROBLEMS = {**_PROBLEMS, **declare(UnsupportedMediaType)}


def _json(kind: TypeAdapter[Any], answer: object, headers: dict[str, str] | None = None) -> Response:
    return Response(kind.dump_json(answer), media_type="application/json", headers=headers)


async def recommend(request: Request) -> Response:
    """What a cart (`cart_id`), a list (`items`) or an empty cart (neither) should get next.

    Items of the cart are never recommended. When the model alone has fewer than k items to offer, `fallback`
    says why. Without `cart_id` the answer has an ETag.
    """
    query = _read_query(request)
    headers = catalogue_headers(request) if query.cart_id is None else None
    return _json(_ONE, await services_of(request).recommender.recommend(query), headers)


router.add_api_route(
    "/recommend",
    recommend,
    methods=["GET"],
    summary="Recommend next items",
    response_model=Recommendations,
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=documented(RecommendQuery),
    route_class_override=DirectRoute,
)


@router.post(
    "/recommend",
    summary="Recommend next items (JSON)",
    response_model=Recommendations,
    responses=_JSON_PROBLEMS,
)
async def recommend_json(services: ServicesDep, request: RecommendRequest) -> Response:
    """The same as `GET /recommend`, with boosts and room for long lists."""
    return _json(_ONE, await services.recommender.recommend(request))


@router.post(
    "/recommend/batch",
    summary="Recommend for many carts",
    response_model=BatchAnswer,
    responses=_JSON_PROBLEMS,
)
async def recommend_batch(services: ServicesDep, request: BatchRequest) -> Response:
    """The same question for up to 256 carts at once; `took_ms` is the time of all of them."""
    return _json(_MANY, await services.recommender.recommend_batch(request))


async def insights(request: Request) -> Response:
    """How large and how coherent a cart (`cart_id`) or a list (`items`) is, and how its items relate.

    Without either it is about an empty cart. Without `cart_id` the answer has an ETag.
    """
    query = _read_insights_query(request)
    headers = catalogue_headers(request) if query.cart_id is None else None
    return _json(_INSIGHTS, await services_of(request).insights.of(query), headers)


router.add_api_route(
    "/insights",
    insights,
    methods=["GET"],
    summary="Look into a list of items",
    response_model=InsightsAnswer,
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=documented(InsightsQuery),
    route_class_override=DirectRoute,
)


@router.get("/carts/{cart_id}/insights", summary="Look into a cart", responses=_PROBLEMS)
async def cart_insights(services: ServicesDep, cart_id: CartIdPath) -> InsightsAnswer:
    """The same as `GET /insights` for a stored cart."""
    return await services.insights.of(Basket(cart_id=cart_id))
