"""Routes of purchases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from fastapi.responses import JSONResponse

from app.dependencies import AdminKey, ServicesDep
from app.http.errors import (
    IdempotencyKeyReused,
    PurchaseExists,
    PurchaseNotFound,
    RedisUnavailable,
    UnsupportedMediaType,
)
from app.http.inputs import IDEMPOTENCY_KEY, PathItemId
from app.http.middleware import NDJSON, PURCHASES
from app.http.problems import ADMIN, declare
from app.purchases.schemas import ImportAnswer, NewPurchase, PurchaseAnswer, Returns

router = APIRouter(prefix=PURCHASES, tags=["purchases"], dependencies=[AdminKey], responses=ADMIN)

OrderIdPath = Annotated[PathItemId, Path(description="The `order_id`, or the `purchase_id` of a cart.")]
ReturnKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=IDEMPOTENCY_KEY,
        description="A request repeated with the same key is executed once: the repetition gets what is left "
        "now. A key is valid for one order; with another body the response is 422.",
        examples=["3b241101-e2bb-4255"],
    ),
]
_SCHEMA = NewPurchase.model_json_schema(ref_template="#/components/schemas/{model}")
_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {"schema": {name: part for name, part in _SCHEMA.items() if name != "$defs"}},
        NDJSON: {
            "schema": {"type": "string", "description": "One such object a line."},
            "example": '{"order_id": "1001", "items": [{"item_id": "camera"}]}\n'
            '{"order_id": "1002", "items": [{"item_id": "film", "quantity": 3}]}\n',
        },
    },
}


@router.post(
    "",
    status_code=201,
    response_model=PurchaseAnswer,
    summary="Record purchases",
    openapi_extra={"requestBody": _BODY},
    responses={
        200: {
            "model": PurchaseAnswer | ImportAnswer,
            "description": "This purchase was recorded before, or what became of the lines.",
        },
        **declare(PurchaseExists, UnsupportedMediaType, RedisUnavailable),
    },
)
async def record_purchases(services: ServicesDep, request: Request) -> Response:
    """Record purchases that were made outside Tripod's carts.

    One as `application/json`: an `order_id` is recorded once, so a request may be repeated (200 with the same
    content, 409 with other content). Or many as `application/x-ndjson`, one object a line, up to
    `TRIPOD_MAX_NDJSON_BYTES`: bad lines are listed and do not stop the others.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == NDJSON:
        imported = await services.purchases.record_lines(request.stream())
        return JSONResponse(imported.model_dump(mode="json"))
    if kind != "application/json":
        raise UnsupportedMediaType(
            f"Send one purchase as application/json, or many as {NDJSON}: set the header Content-Type."
        )
    new, order = await services.purchases.record(await request.body())
    return JSONResponse(PurchaseAnswer.of(order).model_dump(mode="json"), 201 if new else 200)


@router.delete(
    "/{order_id:path}",
    status_code=204,
    response_class=Response,  # without a content type
    summary="Cancel a purchase",
    responses=declare(PurchaseNotFound, RedisUnavailable),
)
async def cancel_purchase(services: ServicesDep, order_id: OrderIdPath) -> None:
    """Cancel a purchase, posted or checked out: it leaves the shopper's profile and the training data.

    Repeating the request changes nothing. A purchase can be cancelled for `TRIPOD_ORDER_TTL` seconds.
    """
    await services.purchases.cancel(order_id)


@router.post(
    "/{order_id:path}/returns",
    summary="Return lines of a purchase",
    responses=declare(PurchaseNotFound, UnsupportedMediaType, IdempotencyKeyReused, RedisUnavailable),
)
async def return_items(
    services: ServicesDep, order_id: OrderIdPath, body: Returns, key: ReturnKey = None
) -> PurchaseAnswer:
    """Subtract the lines sent back; the response is what is left. An Idempotency-Key makes it repeatable."""
    return PurchaseAnswer.of(await services.purchases.take_back(order_id, body, key))
