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

from model_store.items import ID_PATTERN, MAX_CATEGORY_LENGTH, MAX_ID_LENGTH, item_id_fault

CART_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.~:-]{0,127}$"
IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"
LOCATION = r"^[^\x00-\x1f\x7f]+$"
_CART_ID_RULE = "1 to 128 characters: letters, digits, `_`, and after the first also `.`, `~`, `:`, `-`"
_PATTERNS_IN_WORDS = {
    CART_ID: f"it must have {_CART_ID_RULE}",
    IDEMPOTENCY_KEY: "it must have 1 to 255 ASCII characters, without blanks and control characters",
    LOCATION: "it must have no control characters",
}
_NO_OBJECT = {"dict_type", "model_type", "model_attributes_type"}


def _checked_item_id(text: str) -> str:
    if fault := item_id_fault(text):
        raise ValueError(fault)
    return text


CartId = Annotated[
    str,
    StringConstraints(pattern=CART_ID),
    Field(description=f"{_CART_ID_RULE}.", examples=["cart-7f3a"]),
]
ItemId = Annotated[
    str,
    AfterValidator(_checked_item_id),
    Field(
        description="The shop's own id of the item: 1 to 256 characters, none of them a control character, "
        "and neither `.` nor `..`.",
        examples=["camera"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_ID_LENGTH, "pattern": ID_PATTERN},
    ),
]
# As a part of a path, where `middleware` leaves slashes and percent signs encoded.
PathItemId = Annotated[ItemId, BeforeValidator(unquote)]
Category = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_CATEGORY_LENGTH), Field(examples=["Photo"])
]
# In answers, which show what a model or a cart holds, whatever release wrote it: nothing is checked again.
KnownItemId = Annotated[str, Field(description="The shop's own id of the item.", examples=["camera"])]
KnownCartId = Annotated[str, Field(description="The id of the cart.", examples=["cart-7f3a"])]


def message_of(part: ErrorDetails) -> str:
    """What is wrong with a part of a request, in words that need no knowledge of Python or of patterns."""
    if part["type"] in _NO_OBJECT:
        return "it must be an object"
    pattern = part.get("ctx", {}).get("pattern", "")
    return _PATTERNS_IN_WORDS.get(pattern, part["msg"]).removeprefix("Value error, ").removesuffix(".")


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
        message = message_of(part)
        if part["type"] == "extra_forbidden" and len(part["loc"]) == 1:  # otherwise an inner one has said it
            message = f"there is no {part['loc'][0]!r} here, only {', '.join(cls.model_fields)}"
        return InitErrorDetails(
            type=PydanticCustomError(part["type"], message), loc=part["loc"], input=part["input"]
        )
