"""What item routes take and give."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.fields import Category, KnownItemId, Strict
from app.filters import QUERY_IDS, ItemFilters, QueryIds
from app.items.catalogue import Catalogue
from app.relations import Lift


class ItemAnswer(BaseModel):
    """An item of the catalogue as it counts now."""

    item_id: KnownItemId
    name: str | None = Field(examples=["Camera"])
    category: str | None = Field(examples=["Photo"])
    price: float | None = Field(examples=[399.0])
    in_stock: bool
    boost: float = Field(
        description="The factor on the item's gains; 1 is neutral, 0 hides it.", examples=[1]
    )
    count: int | None = Field(description="Baskets with the item in the training data.", examples=[812])

    @classmethod
    def of(cls, catalogue: Catalogue, row: int) -> ItemAnswer:
        """The answer that shows a row's item."""
        return cls(
            item_id=catalogue.item_id(row),
            name=catalogue.name(row),
            category=catalogue.category(row),
            price=catalogue.price(row),
            in_stock=bool(catalogue.in_stock[row]),
            boost=float(catalogue.boosts[row]),
            count=catalogue.model.stored.items.counts[row],
        )


class ItemSearch(Strict):
    """Which items to list."""

    q: Annotated[str, StringConstraints(max_length=100)] = Field(
        "", description="Words that the item's name or id must all contain.", examples=["cam"]
    )
    category: Category | None = None
    limit: int = Field(50, ge=1, le=200, description="Items on a page.")
    cursor: Annotated[str, StringConstraints(max_length=2048)] | None = Field(
        None, description="The `next_cursor` of the page before."
    )


class ItemsAnswer(BaseModel):
    """A page of items, the most popular first."""

    model_version: str
    items: list[ItemAnswer]
    next_cursor: str | None = Field(description="Ask with it for the next page; null on the last one.")


class CategoryEntry(BaseModel):
    """A category and how many items it has."""

    category: str = Field(examples=["Photo"])
    items: int = Field(examples=[120])


class CategoriesAnswer(BaseModel):
    """All categories of the catalogue; those of popular items come first."""

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
    """Complements or substitutes of an item, the surest first; empty if the baskets show none."""

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
    k: int = Field(10, ge=1, le=100, description="How many at most.")
    exclude: QueryIds = Field(
        default_factory=list, max_length=500, description=f"Never show these: {QUERY_IDS}"
    )


class ItemPatch(Strict):
    """What to change; null returns to what the model says."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"in_stock": False}]})

    # Strict: otherwise `{"boost": false}`, a slip for in_stock, would hide the item.
    in_stock: bool | None = Field(None, strict=True)
    price: float | None = Field(None, strict=True, ge=0, le=1e9)
    boost: float | None = Field(
        None, strict=True, ge=0, le=1000, description="A factor on the gains; 0 hides the item."
    )

    @model_validator(mode="after")
    def _changes_something(self) -> ItemPatch:
        if not self.model_fields_set:
            raise ValueError("name at least one of in_stock, price and boost")
        return self
