"""Routes of recommendations and insights."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter

from app.dependencies import CartIdPath, ServicesDep, catalogue_headers, services_of
from app.http.errors import CartNotFound, ModelMissing, Overloaded, RedisUnavailable, UnsupportedMediaType
from app.http.etags import REVALIDATED
from app.http.fast_routes import fast_get
from app.http.inputs import query_parameters, query_reader
from app.http.problems import COMMON, declare
from app.recommend.request import Basket, BatchRequest, RecommendRequest
from app.recommend.schemas import BatchAnswer, InsightsAnswer, Recommendations

router = APIRouter(tags=["recommendations"], responses=COMMON)

_read_query = query_reader(RecommendRequest)
_read_basket = query_reader(Basket)
_ONE, _MANY = TypeAdapter(Recommendations), TypeAdapter(BatchAnswer)
_PROBLEMS = declare(CartNotFound, ModelMissing, Overloaded, RedisUnavailable)
_JSON_PROBLEMS = {**_PROBLEMS, **declare(UnsupportedMediaType)}


def _json(schema: TypeAdapter[Any], answer: object, headers: dict[str, str] | None = None) -> Response:
    return Response(schema.dump_json(answer), media_type="application/json", headers=headers)


@fast_get(
    router,
    "/recommend",
    summary="Recommend next items",
    response_model=Recommendations,
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=query_parameters(RecommendRequest),
)
async def recommend(request: Request) -> Response:
    """Recommend next items for a stored cart (`cart_id`), a list (`items`), or an empty cart (neither).

    What the shopper bought before (`shopper_id`, or the shopper of the cart) is considered. Items of the cart
    are never recommended. If there are fewer than k recommendations, `fallback` says why. Without `cart_id`
    and `shopper_id` the response has an ETag.
    """
    query = _read_query(request)
    is_shared = query.cart_id is None and query.shopper_id is None
    headers = catalogue_headers(request) if is_shared else None
    return _json(_ONE, await services_of(request).recommender.recommend(query), headers)


@router.post(
    "/recommend",
    summary="Recommend next items (JSON)",
    response_model=Recommendations,
    responses=_JSON_PROBLEMS,
)
async def recommend_json(services: ServicesDep, request: RecommendRequest) -> Response:
    """`GET /recommend` with a JSON body, which may hold boosts, a history and long lists."""
    return _json(_ONE, await services.recommender.recommend(request))


@router.post(
    "/recommend/batch",
    summary="Recommend for many carts",
    response_model=BatchAnswer,
    responses=_JSON_PROBLEMS,
)
async def recommend_batch(services: ServicesDep, request: BatchRequest) -> Response:
    """Recommend for up to 256 carts with the same options; `took_ms` is the time for all of them."""
    return _json(_MANY, await services.recommender.recommend_batch(request))


@router.get(
    "/insights",
    summary="Insights into a list of items",
    responses={**REVALIDATED, **_PROBLEMS},
    openapi_extra=query_parameters(Basket),
)
async def insights(request: Request, response: Response) -> InsightsAnswer:
    """Expected size and coherence of a stored cart (`cart_id`) or a list (`items`), and how its items relate.

    Without either, the response is about an empty cart. Without `cart_id` it has an ETag.
    """
    query = _read_basket(request)
    if query.cart_id is None:
        response.headers.update(catalogue_headers(request))
    return await services_of(request).insights.of(query)


@router.get("/carts/{cart_id}/insights", summary="Insights into a cart", responses=_PROBLEMS)
async def cart_insights(services: ServicesDep, cart_id: CartIdPath) -> InsightsAnswer:
    """`GET /insights` for a stored cart."""
    return await services.insights.of(Basket(cart_id=cart_id))
