"""Answers about rules."""

from __future__ import annotations

from typing import Any, TypedDict

from tripod_client.answers.carts import ConsideredCart


class RuleAnswer(TypedDict):
    """A rule, whether it applies now, and what it names that the catalogue does not have."""

    rule_id: str
    name: str
    when: dict[str, Any]
    then: dict[str, Any]
    priority: int
    enabled: bool
    active: bool
    problem: str | None


class RulesAnswer(TypedDict):
    """All rules in the order in which they apply."""

    rules: list[RuleAnswer]


class PreviewItem(TypedDict):
    """An item of a previewed list."""

    rank: int
    item_id: str
    name: str | None
    probability: float | None
    rules: list[str]
    rank_without_rules: int | None


class RuleEffect(TypedDict):
    """What one rule changes, after the rules before it."""

    rule_id: str
    name: str
    applies: bool
    entered: list[str]
    left: list[str]
    moved: list[str]
    cost: float | None


class PreviewAnswer(TypedDict):
    """The list for a cart with the rules and without them."""

    model_version: str
    cart: ConsideredCart
    items: list[PreviewItem]
    without_rules: list[PreviewItem]
    probability: float | None
    probability_without_rules: float | None
    effects: list[RuleEffect]
