"""What the rules of the shop do to one list, and which rule acts on which item."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from app.catalogue.conditions import Condition
from app.catalogue.snapshot import Snapshot
from app.http.errors import Invalid
from app.rules.rule import AtMost, Boost, Bury, Hide, Pin, Rule
from ndpp.kernel import Vector
from ndpp.limits import Limit

Flags = NDArray[np.bool_]
_USABLE, _PROBLEMS = "usable rules", "problems of rules"
ACTIONS = ("pin", "boost", "bury", "hide", "at_most")


@dataclass(slots=True)
class Effects:
    """What rules do to the list for one cart."""

    factors: Vector | None = None  # (size,): on the order only, not on what the response calls probability
    pins: list[tuple[int, int]] = field(default_factory=list)  # row and position from 1, first ones first
    limits: list[Limit] = field(default_factory=list)
    acting: list[tuple[Rule, Flags]] = field(default_factory=list)  # a rule and the rows it acts on

    def on(self, row: int, actions: Collection[str] = ACTIONS) -> list[str]:
        """The rules with these actions that act on a row."""
        return [rule.rule_id for rule, rows in self.acting if rows[row] and rule.then.action in actions]


NO_EFFECTS = Effects()


def active_rules(snapshot: Snapshot, now: datetime | None = None) -> tuple[Rule, ...]:
    """The rules that are on at a time, in order; without those that name what the catalogue does not have."""
    now = datetime.now(UTC) if now is None else now
    return tuple(rule for rule in _usable(snapshot) if rule.enabled and rule.when.includes(now))


def _usable(snapshot: Snapshot) -> tuple[Rule, ...]:
    """The rules that fit the catalogue."""
    found: tuple[Rule, ...] | None = snapshot.cache.get(_USABLE)
    if found is None:
        found = tuple(rule for rule in snapshot.rules if _fits(rule, snapshot))
        snapshot.cache.put(_USABLE, found, 0)
    return found


def _fits(rule: Rule, snapshot: Snapshot) -> bool:
    """Whether `check` accepts a rule; without its messages, which take long."""
    if isinstance(rule.then, Pin) and snapshot.listed_row(rule.then.item_id) is None:
        return False
    return all(snapshot.accepts(condition) for _, condition in _conditions(rule))


def problems_of(snapshot: Snapshot) -> Mapping[str, str]:
    """Why rules cannot apply to the catalogue, by their ids."""
    found: dict[str, str] | None = snapshot.cache.get(_PROBLEMS)
    if found is None:
        usable = {rule.rule_id for rule in _usable(snapshot)}
        found = {}
        for rule in snapshot.rules:
            if rule.rule_id not in usable:
                try:
                    check(rule, snapshot, "rule")
                except Invalid as problem:
                    found[rule.rule_id] = "; ".join(part["message"] for part in problem.members["errors"])
        snapshot.cache.put(_PROBLEMS, found, sum(map(len, found.values())))
    return found


def check(rule: Rule, snapshot: Snapshot, where: str) -> None:
    """Invalid if the rule names items, fields or categories that the catalogue does not have."""
    for name, condition in _conditions(rule):
        snapshot.mask(condition, f"{where}.{name}")
    if isinstance(rule.then, Pin) and snapshot.listed_row(rule.then.item_id) is None:
        raise Invalid((f"{where}.then.item_id", f"the shop has no item {rule.then.item_id!r}"))


def _conditions(rule: Rule) -> list[tuple[str, Condition]]:
    """The conditions of a rule and their places in it."""
    items = None if isinstance(rule.then, Pin) else rule.then.items
    each = ("when.cart_has", rule.when.cart_has), ("when.cart_lacks", rule.when.cart_lacks)
    return [(name, condition) for name, condition in (*each, ("then.items", items)) if condition is not None]


def applies(rule: Rule, snapshot: Snapshot, cart: Sequence[int]) -> bool:
    """Whether a rule applies to a cart, given as rows."""
    has, lacks = rule.when.cart_has, rule.when.cart_lacks
    rows = list(cart)
    return (has is None or bool(snapshot.mask(has, "rule")[rows].any())) and (
        lacks is None or not snapshot.mask(lacks, "rule")[rows].any()
    )


def effects_of(rules: Sequence[Rule], snapshot: Snapshot, cart: Sequence[int], places: int) -> Effects:
    """What the rules, in order, do to a list of so many places for a cart, given as rows.

    A pin to a later place has no effect.
    """
    effects, decided = Effects(), np.zeros(snapshot.size, dtype=np.bool_)  # by a rule that pins or hides
    for rule in rules:
        if not applies(rule, snapshot, cart):
            continue
        then = rule.then
        if isinstance(then, Pin):
            row = snapshot.listed_row(then.item_id)
            if row is None or decided[row] or then.position > places:
                continue
            marked = np.zeros(snapshot.size, dtype=np.bool_)
            marked[row] = decided[row] = True
            effects.pins.append((row, then.position))
        else:
            marked = snapshot.mask(then.items, "rule")
            if isinstance(then, Hide):
                marked = marked & ~decided
                decided |= marked
            _act(effects, then, marked)
        effects.acting.append((rule, marked))
    return effects


def _act(effects: Effects, then: Boost | Bury | Hide | AtMost, marked: Flags) -> None:
    if isinstance(then, AtMost):
        effects.limits.append(Limit.on(marked, then.most))
        return
    factor = 0.0 if isinstance(then, Hide) else then.factor
    factors = np.ones(len(marked)) if effects.factors is None else effects.factors
    effects.factors = np.where(marked, factors * factor, factors)
