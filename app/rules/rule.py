"""A rule of the shop: when it applies, and what it does to the list."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from app.catalogue.conditions import Condition
from app.http.inputs import ItemId, Strict

RULE_ID = r"^[A-Za-z0-9_][A-Za-z0-9_.~-]{0,63}$"
RuleId = Annotated[
    str,
    StringConstraints(pattern=RULE_ID),
    Field(
        description="1 to 64 characters: letters, digits, `_`, and after the first also `.`, `~`, `-`.",
        examples=["wine-with-cheese"],
    ),
]
_CHEESE: JsonValue = {"field": "category", "in": ["Cheese"]}
_WINE: JsonValue = {"field": "category", "in": ["Wine"]}
_EXAMPLE: JsonValue = {
    "name": "Wine beside cheese",
    "when": {"cart_has": _CHEESE},
    "then": {"action": "boost", "items": _WINE, "factor": 3},
}


class When(Strict):
    """When a rule applies: always, if nothing is given."""

    cart_has: Condition | None = Field(None, description="Some item of the cart fulfils this.")
    cart_lacks: Condition | None = Field(None, description="No item of the cart fulfils this.")
    starts_at: AwareDatetime | None = Field(None, description="Not before this time.")
    ends_at: AwareDatetime | None = Field(None, description="Only before this time.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.starts_at is not None and self.ends_at is not None and self.starts_at >= self.ends_at:
            raise ValueError("starts_at must be before ends_at")
        return self

    def includes(self, now: datetime) -> bool:
        """Whether the time is within the dates."""
        return (self.starts_at is None or self.starts_at <= now) and (
            self.ends_at is None or now < self.ends_at
        )


class Pin(Strict):
    """Show an item at a position, if it is in stock, not in the cart, and passes the filters."""

    action: Literal["pin"]
    item_id: ItemId
    position: int = Field(1, ge=1, le=100, description="1 is the first place of the list.")


class Boost(Strict):
    """Rank items as if they were more likely."""

    action: Literal["boost"]
    items: Condition
    factor: float = Field(2, gt=1, le=1000, description="How many times as likely.")


class Bury(Strict):
    """Rank items as if they were less likely."""

    action: Literal["bury"]
    items: Condition
    factor: float = Field(0.1, ge=0.001, lt=1, description="The share of their probability that counts.")


class Hide(Strict):
    """Do not show items."""

    action: Literal["hide"]
    items: Condition


class AtMost(Strict):
    """Show at most so many of the items in one list."""

    action: Literal["at_most"]
    items: Condition
    most: int = Field(ge=1, le=100)


Then = Annotated[Pin | Boost | Bury | Hide | AtMost, Field(discriminator="action")]


class RuleBody(Strict):
    """What a rule does."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
    when: When = Field(default_factory=lambda: When.model_validate({}))
    then: Then
    priority: int = Field(
        0,
        ge=-1000,
        le=1000,
        description="Rules with a higher one go first: they get the position that two pin, and decide if one "
        "pins what another hides.",
    )
    enabled: bool = Field(True, strict=True)


class Rule(RuleBody):
    """A stored rule."""

    rule_id: RuleId


def in_order(rules: list[Rule]) -> tuple[Rule, ...]:
    """The rules in the order in which they apply."""
    return tuple(sorted(rules, key=lambda rule: (-rule.priority, rule.rule_id)))
