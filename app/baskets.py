"""A cart on its way to the model: named by the request, looked up in the catalogue, told in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, model_validator

from app.fields import CartId, ItemId, KnownCartId, KnownItemId, Strict
from app.items.catalogue import Catalogue
from ndpp import Conditional


class Basket(Strict):
    """What is already there: a cart in the service, a list of items, or nothing."""

    cart_id: CartId | None = None
    items: list[ItemId] = Field(default_factory=list, max_length=500, description="Instead of `cart_id`.")

    @model_validator(mode="after")
    def _one_source(self) -> Basket:
        if self.cart_id is not None and self.items:
            raise ValueError("give either cart_id or items, not both")
        return self


@dataclass(slots=True)
class ConsideredCart:
    """The cart that an answer is about."""

    cart_id: KnownCartId | None
    items: Annotated[list[KnownItemId], Field(description="The items that the model considered, each once.")]
    unknown_items: Annotated[list[KnownItemId], Field(description="Items that the model does not know.")]
    ignored_items: Annotated[
        list[KnownItemId],
        Field(
            description="Known items that were not considered: they add no information, or the cart is very "
            "long."
        ),
    ]


@dataclass(frozen=True, slots=True)
class KnownCart:
    """The known part of a cart as rows, and the rest of it."""

    cart_id: str | None
    rows: list[int]  # each once, the latest of the cart, in its order
    earlier: list[int]  # known, but too long ago to be considered
    unknown: list[str]

    @property
    def only_unknown(self) -> bool:
        """Whether there is something in the cart, but nothing that the model knows."""
        return bool(self.unknown) and not self.rows

    def considered(self, catalogue: Catalogue, state: Conditional | None = None) -> ConsideredCart:
        """What an answer tells about the cart; without `state`, every row was considered."""
        some_ignored = state is not None and len(state.used) < len(state.cart)
        ignored = set(state.ignored.tolist()) if state is not None and some_ignored else set()
        return ConsideredCart(
            cart_id=self.cart_id,
            items=[catalogue.item_id(row) for row in self.rows if row not in ignored],
            unknown_items=self.unknown,
            ignored_items=[catalogue.item_id(row) for row in (*self.earlier, *sorted(ignored))],
        )


def known_cart(catalogue: Catalogue, cart_id: str | None, item_ids: Sequence[str], window: int) -> KnownCart:
    """Look the items of a cart up; duplicates count once, and only the latest `window` are considered."""
    rows: dict[int, None] = {}
    unknown: dict[str, None] = {}
    for item_id in item_ids:
        row = catalogue.row_of(item_id)
        if row is None:
            unknown[item_id] = None
        else:
            rows[row] = None
    known = list(rows)
    return KnownCart(cart_id, known[-window:], known[:-window], list(unknown))
