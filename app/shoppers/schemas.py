"""Response schemas of shoppers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from app.http.inputs import KnownItemId, Strict


class StoredBasket(BaseModel):
    """A basket of the shopper."""

    bought_at: datetime
    items: list[KnownItemId]


class StoredItem(BaseModel):
    """An item that the shopper bought."""

    item_id: KnownItemId
    name: str | None
    times: int = Field(description="In how many of the stored baskets it is.", examples=[5])
    last_bought_at: datetime


class ShopperAnswer(BaseModel):
    """All that is stored about a shopper: the newest 100 baskets at most, with at most 2,000 lines."""

    baskets: list[StoredBasket] = Field(description="The baskets, oldest first.")
    items: list[StoredItem] = Field(description="The items, most often bought first.")
    first_bought_at: datetime
    last_bought_at: datetime
    expires_at: datetime = Field(description="When all of it is deleted unless the shopper is seen again.")


class BuyAgainQuery(Strict):
    """How many items."""

    limit: int = Field(10, ge=1, le=100, description="How many items.")


class DueItem(BaseModel):
    """An item that the shopper buys again and again."""

    item_id: KnownItemId
    name: str | None
    category: str | None
    price: float | None
    times: int = Field(description="In how many of the stored baskets it is.", ge=2, examples=[5])
    usual_interval_days: float = Field(
        description="The median time between two purchases of it.", ge=0, examples=[9.0]
    )
    last_bought_at: datetime
    due_at: datetime = Field(description="The last purchase plus the usual interval.")
    overdue_days: float = Field(description="The time since `due_at`; negative before it.", examples=[1.5])


class BuyAgainAnswer(BaseModel):
    """Items that are due, most due first.

    The order is that of the time since the last purchase divided by the usual interval; items for which it is
    over 3 are probably not bought any more and come last.
    """

    model_version: str
    items: list[DueItem]


class ForgottenAnswer(BaseModel):
    """What was deleted at once."""

    profile: bool = Field(description="Whether there was a profile.")
    carts: int = Field(description="How many carts were deleted.", examples=[2])
    purchases: int = Field(description="How many entries of the purchase log were deleted.", examples=[3])
    files: Literal["pending", "none"] = Field(
        description="`pending`: the worker will remove the purchases from the files beside the training "
        "data, usually within seconds; training skips them from now on. `none`: there are no such files, "
        "because TRIPOD_DATA is not set."
    )
