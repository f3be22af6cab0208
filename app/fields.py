"""The types of the values that come from outside, with their limits and their words in the documentation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

CART_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.~:-]{0,127}$"
_ITEM_ID = r"^[^\x00-\x1f\x7f]+$"

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
Category = Annotated[str, StringConstraints(min_length=1, max_length=256), Field(examples=["Photo"])]
