"""Request and response schemas of items."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.catalogue.relations import Lift
from app.catalogue.snapshot import Snapshot
from app.http.inputs import Category, ItemFilters, KnownItemId, Strict


class ItemAnswer(BaseModel):
    """An item of the catalogue with the shop's overrides applied."""

    item_id: KnownItemId
    name: str | None = Field(examples=["Camera"])
    category: str | None = Field(examples=["Photo"])
    price: float | None = Field(examples=[399.0])
    in_stock: bool
    boost: float = Field(description="The factor on the item's odds; 1 is neutral, 0 hides it.", examples=[1])
    count: int | None = Field(description="Training baskets with the item.", examples=[812])

    @classmethod
    def of(cls, snapshot: Snapshot, row: int) -> ItemAnswer:
        """The response for a row's item."""
        return cls(
            item_id=snapshot.item_id(row),
            name=snapshot.name(row),
            category=snapshot.category(row),
            price=snapshot.price(row),
            in_stock=bool(snapshot.in_stock[row]),
            boost=float(snapshot.boosts[row]),
            count=snapshot.model.stored.items.counts[row],
        )


class ItemSearch(Strict):
    """Which items to list."""

    q: Annotated[str, StringConstraints(max_length=100)] = Field(
        "", description="Words that must all occur in the item's name or id.", examples=["cam"]
    )
    category: Category | None = None
    limit: int = Field(50, ge=1, le=200, description="Items per page.")
    cursor: Annotated[str, StringConstraints(max_length=2048)] | None = Field(
        None, description="The `next_cursor` of the previous page."
    )


class ItemsAnswer(BaseModel):
    """A page of items, most popular first."""

    model_version: str
    items: list[ItemAnswer]
    next_cursor: str | None = Field(description="The `cursor` of the next page; null on the last page.")


class CategoryEntry(BaseModel):
    """A category and its number of items."""

    category: str = Field(examples=["Photo"])
    items: int = Field(examples=[120])


class CategoriesAnswer(BaseModel):
    """All categories of the catalogue, those with the most popular items first."""

    model_version: str
    categories: list[CategoryEntry]


class _OneItem(BaseModel):
    item_id: KnownItemId
    name: str | None
    category: str | None
    price: float | None


class RelatedItem(Lift, _OneItem):  # the fields of the last base come first
    """An item and how it relates to the one in question."""


class RelatedAnswer(BaseModel):
    """Complements or substitutes of an item, most certain first; empty if the baskets show none."""

    model_version: str
    item_id: KnownItemId
    relation: Literal["complement", "substitute"]
    items: list[RelatedItem]


class RelatedQuery(ItemFilters):
    """Which related items to list."""

    relation: Literal["complement", "substitute"] = Field(
        "complement",
        description="`complement`: together in more baskets than by chance (`lift_low` above 1). "
        "`substitute`: bought with the same other items, but rarely together (`lift_high` well below 1).",
    )
    k: int = Field(10, ge=1, le=100, description="How many items at most.")


class ItemPatch(Strict):
    """The fields to change; null restores the model's value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"in_stock": False}]})

    # Strict: otherwise `{"boost": false}`, a mistake for in_stock, would hide the item.
    in_stock: bool | None = Field(None, strict=True)
    price: float | None = Field(None, strict=True, ge=0, le=1e9)
    boost: float | None = Field(
        None, strict=True, ge=0, le=1000, description="A factor on the odds; 0 hides the item."
    )

    @model_validator(mode="after")
    def _changes_something(self) -> ItemPatch:
        if not self.model_fields_set:
            raise ValueError("give at least one of in_stock, price and boost")
        return self
