"""Request and response schemas of items."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from app.catalogue.attributes import BUILT_IN
from app.catalogue.categories import LEVELS, normal
from app.catalogue.filters import ConditionFilter, ItemFilters
from app.catalogue.records import MOST_ATTRIBUTES, Attribute
from app.catalogue.relations import Lift
from app.catalogue.snapshot import Snapshot
from app.http.inputs import LOCATION, Category, ItemId, KnownItemId, Strict, text_fault
from app.http.problems import InvalidPart

MOST_ITEMS = 10_000  # of one request in JSON
_ATTRIBUTE_NAME = re.compile(r"[^\W\d][\w-]{0,63}")
# Names of fields would be mistakes for these fields.
_RESERVED = {*BUILT_IN, "item_id", "boost", "image_url", "attributes", "count", "cold", "deleted"}
_MOST_VALUES = 100
_MOST_LETTERS = 256
_EXAMPLE: dict[str, JsonValue] = {
    "name": "Oat drink, 1 l",
    "category": "Drinks > Plant drinks",
    "price": 1.95,
    "image_url": "https://shop.example/oat.jpg",
    "attributes": {"vegan": True, "brand": "Hafer", "allergens": ["oats"]},
}


def _levels(category: str) -> str:
    """The category with the same blanks around each `>`."""
    path = normal(category)
    if not all(path.split(LEVELS)):
        raise ValueError('a level is empty: write a path like "Drinks > Wine"')
    return path


def _address(text: str) -> str:
    if not re.match(r"https?://[^/\\]|/(?![/\\])", text) or re.search(r"[\s\x00-\x1f\x7f\\]", text):
        raise ValueError("an address begins with https://, http:// or a single slash, and has no blanks")
    return text


def _checked_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    if len(attributes) > MOST_ATTRIBUTES:
        raise ValueError(f"an item has at most {MOST_ATTRIBUTES} attributes")
    for name, value in attributes.items():
        if not _ATTRIBUTE_NAME.fullmatch(name):
            raise ValueError(f"attribute {name[:64]!r}: a name has letters, digits, `_` and `-`, 64 at most")
        if name in _RESERVED:
            raise ValueError(f"attribute {name!r}: this is a field of every item")
        texts = value if isinstance(value, list) else [value]
        if len(texts) > _MOST_VALUES:
            raise ValueError(f"attribute {name!r}: a list has at most {_MOST_VALUES} values")
        if any(isinstance(text, str) and len(text) > _MOST_LETTERS for text in texts):
            raise ValueError(f"attribute {name!r}: a text has at most {_MOST_LETTERS} characters")
        if fault := next(filter(None, (text_fault(text) for text in texts if isinstance(text, str))), None):
            raise ValueError(f"attribute {name!r}: {fault}")
        if isinstance(value, float) and abs(value) > 1e15:
            raise ValueError(f"attribute {name!r}: this number is too large")
    return attributes


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=300, strip_whitespace=True, pattern=LOCATION),
]
CategoryPath = Annotated[Category, AfterValidator(_levels)]
Address = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_address)]
_Strict = Field(strict=True)
_Finite = Field(strict=True, allow_inf_nan=False)
_Value = (
    Annotated[bool, _Strict]
    | Annotated[float, _Finite]
    | Annotated[str, _Strict]
    | list[Annotated[str, _Strict]]
)
Attributes = Annotated[dict[str, _Value], AfterValidator(_checked_attributes)]
ChangedAttributes = Annotated[dict[str, _Value | None], AfterValidator(_checked_attributes)]


class _Fields(Strict):
    """What a shop may say about an item besides its name."""

    category: CategoryPath | None = Field(None, description="A category or a path of them.")
    # Strict: otherwise `{"boost": false}`, a mistake for in_stock, would hide the item.
    price: float | None = Field(None, strict=True, ge=0, le=1e9)
    in_stock: bool | None = Field(None, strict=True)
    boost: float | None = Field(
        None, strict=True, ge=0, le=1000, description="A factor on the odds; 0 hides the item."
    )
    image_url: Address | None = Field(None, description="The address of a picture.")
    parent_id: ItemId | None = Field(
        None, description="Items with the same parent are variants: an answer holds at most one of them."
    )


class ItemWrite(_Fields):
    """An item. What is left out is as in the model, if the model knows the item."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: Name
    attributes: Attributes = Field(
        default_factory=dict, description="Free attributes: text, number, boolean, or a list of texts."
    )

    def fields(self) -> dict[str, Any]:
        """The fields of the record."""
        return self.model_dump(exclude_none=True, exclude={"attributes"}) | (
            {"attributes": self.attributes} if self.attributes else {}
        )


class ItemPatch(_Fields):
    """The fields to change; null restores the model's value, or removes an attribute."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"in_stock": False}]})

    name: Name | None = None
    attributes: ChangedAttributes | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set - {"item_id"}:
            names = [name for name in type(self).model_fields if name != "item_id"]
            raise ValueError(f"give at least one of {', '.join(names)}")
        return self

    def fields(self) -> dict[str, Any]:
        """The fields to change."""
        given = self.model_fields_set  # model_dump takes three times as long
        return {name: getattr(self, name) for name in _CHANGEABLE if name in given}


_CHANGEABLE = tuple(ItemPatch.model_fields)


class ItemChange(ItemPatch):
    """The fields of one item to change. With a name, an item that the shop does not have is created."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"item_id": "camera", "in_stock": False}]})

    item_id: ItemId


class FailedItem(BaseModel):
    """A change that was not made."""

    line: int = Field(description="Its line, or its place in `items`, from 1.")
    errors: list[InvalidPart]


class ChangesAnswer(BaseModel):
    """What became of the changes."""

    changed: int = Field(description="Changes that were made.")
    failed_count: int
    failed: list[FailedItem] = Field(description="The first 100 that were not made.")


class ItemAnswer(BaseModel):
    """An item of the shop."""

    item_id: KnownItemId
    name: str | None = Field(examples=["Camera"])
    category: str | None = Field(examples=["Photo"])
    price: float | None = Field(examples=[399.0])
    in_stock: bool
    boost: float = Field(description="The factor on the item's odds; 1 is neutral, 0 hides it.", examples=[1])
    count: int | None = Field(description="Training baskets with the item.", examples=[812])
    image_url: str | None
    parent_id: str | None
    attributes: dict[str, Attribute]
    cold: bool = Field(description="Whether the model does not know the item yet.")

    @classmethod
    def of(cls, snapshot: Snapshot, row: int) -> ItemAnswer:
        """The response for a row's item."""
        cold = snapshot.is_cold(row)
        return cls(
            **described(snapshot, row),
            count=None if cold else snapshot.model.stored.items.counts[row],
            cold=cold,
        )


def described(snapshot: Snapshot, row: int) -> dict[str, Any]:
    """An item as `PATCH /items` accepts it."""
    record = snapshot.record(row)
    return {
        "item_id": snapshot.item_id(row),
        "name": snapshot.name(row),
        "category": snapshot.category(row),
        "price": snapshot.price(row),
        "in_stock": bool(snapshot.in_stock[row]),
        "boost": float(snapshot.boosts[row]),
        "image_url": record.image_url,
        "parent_id": record.parent_id,
        "attributes": dict(record.attributes),
    }


class ItemSearch(ConditionFilter):
    """Which items to list."""

    q: Annotated[str, StringConstraints(max_length=100)] = Field(
        "",
        description="Words of the item's name, id or category, in any order: their beginnings will do, and "
        "one typo each is forgiven.",
        examples=["cam"],
    )
    category: Category | None = Field(None, description="Only items of this category, or below it.")
    in_stock: bool = Field(False, description="Only items in stock.")
    limit: int = Field(50, ge=1, le=200, description="Items per page.")
    cursor: Annotated[str, StringConstraints(max_length=2048)] | None = Field(
        None, description="The `next_cursor` of the previous page."
    )


class CategoryEntry(BaseModel):
    """A category and its number of items."""

    category: str = Field(examples=["Photo"])
    items: int = Field(examples=[120])


class ItemsAnswer(BaseModel):
    """A page of items: whole words before beginnings and typos, then most popular first."""

    model_version: str
    items: list[ItemAnswer]
    total: int = Field(description="How many items match.", examples=[120])
    categories: list[CategoryEntry] = Field(
        description="How many items of each category match, not counting the parameter `category`; the 50 "
        "with most."
    )
    next_cursor: str | None = Field(description="The `cursor` of the next page; null on the last page.")


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
