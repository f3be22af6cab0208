"""Request and response schemas of rules."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.http.inputs import CartId, ItemIds, KnownItemId, Strict
from app.recommend.schemas import ConsideredCart
from app.rules.rule import Rule, RuleBody, RuleId


class RuleAnswer(Rule):
    """A rule, and whether it applies now."""

    active: bool = Field(description="Whether it is on, within its dates, and fits the catalogue.")
    problem: str | None = Field(
        description="What it names that the catalogue does not have; such a rule has no effect."
    )


class RulesAnswer(BaseModel):
    """All rules in the order in which they apply."""

    rules: list[RuleAnswer]


class PreviewRequest(Strict):
    """A cart to try rules on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": ["camera"], "k": 5}]})

    cart_id: CartId | None = None
    items: ItemIds = Field(default_factory=list, max_length=500, description="Instead of `cart_id`.")
    k: int = Field(10, ge=1, le=50, description="How many items.")
    draft: RuleBody | None = Field(None, description="A rule that is not stored, to try it with the others.")
    draft_replaces: RuleId | None = Field(None, description="The stored rule in whose place to try it.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.cart_id is not None and self.items:
            raise ValueError("give either cart_id or items, not both")
        return self


class PreviewItem(BaseModel):
    """An item of a previewed list."""

    rank: int
    item_id: KnownItemId
    name: str | None
    probability: float | None = Field(description="As in recommendations: rules do not change it.")
    rules: list[str] = Field(description="The rules that act on it.")
    rank_without_rules: int | None = Field(description="Null if it is not in the list without rules.")


class RuleEffect(BaseModel):
    """What one rule changes, after the rules before it."""

    rule_id: str
    name: str
    applies: bool = Field(description="Whether the cart fulfils what the rule asks of it.")
    entered: list[KnownItemId] = Field(description="Items that come into the list.")
    left: list[KnownItemId] = Field(description="Items that leave the list.")
    moved: list[KnownItemId] = Field(description="Other items at another place.")
    cost: float | None = Field(
        description="By how much it lowers the probability that the next item is one of the list.",
        examples=[0.012],
    )


class PreviewAnswer(BaseModel):
    """The list for a cart with the rules and without them."""

    model_version: str
    cart: ConsideredCart
    items: list[PreviewItem]
    without_rules: list[PreviewItem]
    probability: float | None = Field(
        description="The probability that the next item is one of the list with the rules."
    )
    probability_without_rules: float | None
    effects: list[RuleEffect] = Field(description="The rules that are on, in the order in which they apply.")
