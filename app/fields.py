"""The types of the values that come from outside, with their limits and their words in the documentation."""

from __future__ import annotations

from typing import Annotated, Any, Self
from urllib.parse import unquote

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

CART_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.~:-]{0,127}$"
_ITEM_ID = r"^[^\x00-\x1f\x7f]+$"


def _addressable(item_id: str) -> str:
    if item_id in (".", ".."):
        raise ValueError("`.` and `..` cannot be item ids: in an address they mean a folder, not an item")
    return item_id


CartId = Annotated[
    str,
    StringConstraints(pattern=CART_ID),
    Field(
        description="1 to 128 characters: letters, digits, `_`, and after the first also `.`, `~`, `:`, `-`.",
        examples=["cart-7f3a"],
    ),
]
ItemId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256, pattern=_ITEM_ID),
    Field(description="The shop's own id of the item, without control characters.", examples=["camera"]),
]
# An item to be put into a cart: it must be possible to address its line.
NewItemId = Annotated[ItemId, AfterValidator(_addressable)]
# As a part of a path, where `middleware` leaves slashes and percent signs encoded.
PathItemId = Annotated[NewItemId, BeforeValidator(unquote)]
Category = Annotated[str, StringConstraints(min_length=1, max_length=256), Field(examples=["Photo"])]


class Strict(BaseModel):
    """A part of a request; a field that it does not have is refused with the names of those it has."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _name_the_fields(cls, value: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(value)
        except ValidationError as error:
            parts = [cls._explained(part) for part in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, parts) from error

    @classmethod
    def _explained(cls, part: ErrorDetails) -> InitErrorDetails:
        message = part["msg"]
        if part["type"] == "extra_forbidden" and len(part["loc"]) == 1:  # otherwise an inner one has said it
            message = f"there is no {part['loc'][0]!r} here, only {', '.join(cls.model_fields)}"
        return InitErrorDetails(
            type=PydanticCustomError(part["type"], message), loc=part["loc"], input=part["input"]
        )
