"""Request and response schemas of purchases."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from app.carts.schemas import CartLine, NewLine
from app.carts.store import MAX_LINES, MAX_QUANTITY, Line
from app.http.inputs import OrderId, ShopperId, Strict
from app.http.problems import InvalidPart
from app.purchases.store import Order, Status

_AHEAD = timedelta(days=1)  # of our clock


def _bought_at(value: Any) -> datetime:
    """A time from ISO 8601 or seconds since 1970; without a time zone it is UTC."""
    latest = datetime.now(UTC) + _AHEAD
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value <= latest.timestamp():
            raise ValueError("it must be seconds since 1970, at most a day in the future")
        return datetime.fromtimestamp(value, UTC)
    try:
        found = datetime.fromisoformat(value)
        found = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("it must be a time such as 2026-11-16T02:15:30Z, or seconds since 1970") from None
    if not datetime.fromtimestamp(0, UTC) <= found <= latest:
        raise ValueError("it must be after 1970 and at most a day in the future")
    return found


def _within_quantity(lines: list[NewLine]) -> list[NewLine]:
    if any(quantity > MAX_QUANTITY for _, quantity in lines_of(lines)):
        raise ValueError(f"an item occurs more than {MAX_QUANTITY} times")
    return lines


_Time = Annotated[
    datetime,
    BeforeValidator(_bought_at),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number", "minimum": 0}]},
        mode="validation",
    ),
]
_Lines = Annotated[list[NewLine], AfterValidator(_within_quantity)]


class NewPurchase(Strict):
    """A purchase that was made elsewhere."""

    order_id: OrderId
    items: _Lines = Field(min_length=1, max_length=MAX_LINES)
    shopper_id: ShopperId | None = None
    timestamp: _Time | None = Field(
        None,
        description="When it was bought: ISO 8601 (UTC without a time zone) or seconds since 1970, at most a "
        "day in the future. Default: now.",
        examples=["2026-11-16T02:15:30Z"],
    )


class Returns(Strict):
    """The lines sent back."""

    items: _Lines = Field(min_length=1, max_length=MAX_LINES)


class PurchaseAnswer(BaseModel):
    """What is left of a purchase."""

    order_id: str = Field(examples=["order-1001"])
    purchase_id: str = Field(description="The entry in the purchase log.", examples=["1763259000123-0"])
    status: Status
    items: list[CartLine]
    bought_at: datetime
    has_shopper: bool = Field(description="Whether the shopper is known.")

    @classmethod
    def of(cls, order: Order) -> PurchaseAnswer:
        """The response for an order."""
        return cls(
            order_id=order.order_id,
            purchase_id=order.entry,
            status=order.status,
            items=[CartLine(item_id=item_id, quantity=quantity) for item_id, quantity in order.lines],
            bought_at=datetime.fromtimestamp(order.timestamp / 1000, UTC),
            has_shopper=order.has_shopper,
        )


class FailedLine(BaseModel):
    """A line that was not recorded."""

    line: int = Field(description="The number of the line, from 1.", examples=[7])
    errors: list[InvalidPart]


class ImportAnswer(BaseModel):
    """What became of the lines."""

    recorded: int = Field(description="Number of new purchases.")
    repeated: int = Field(description="Number of purchases that were recorded before.")
    failed_count: int = Field(description="Number of lines that were not recorded.")
    failed: list[FailedLine] = Field(description="The first 100 lines that were not recorded.")


def lines_of(lines: Iterable[NewLine]) -> tuple[Line, ...]:
    """The lines, each item once, in the order in which they first occur."""
    quantities: dict[str, int] = {}
    for line in lines:
        quantities[line.item_id] = quantities.get(line.item_id, 0) + line.quantity
    return tuple(quantities.items())


def milliseconds(time: datetime | None) -> int | None:
    """Milliseconds since 1970."""
    return None if time is None else round(time.timestamp() * 1000)
