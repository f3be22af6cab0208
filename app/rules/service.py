"""Rules: stored, listed, and previewed on a cart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import fsum

from app.catalogue.follower import CatalogueFollower
from app.catalogue.holder import SnapshotHolder
from app.http.errors import Invalid, RuleNotFound
from app.recommend.question import Question, Questions
from app.recommend.request import RecommendRequest
from app.recommend.schemas import Recommendations
from app.recommend.service import answer_one
from app.rules.effects import active_rules, applies, check, problems_of
from app.rules.rule import Rule, RuleBody, in_order
from app.rules.schemas import (
    PreviewAnswer,
    PreviewItem,
    PreviewRequest,
    RuleAnswer,
    RuleEffect,
    RulesAnswer,
)
from app.runtime.compute import Compute

DRAFT = "draft"  # the id of a rule that is previewed before it is stored


class Rules:
    """Stores and previews rules."""

    def __init__(
        self, follower: CatalogueFollower, snapshots: SnapshotHolder, questions: Questions, compute: Compute
    ) -> None:
        self._follower = follower
        self._snapshots = snapshots
        self._questions = questions
        self._compute = compute

    def list(self) -> RulesAnswer:
        """All rules."""
        snapshot = self._snapshots.current()
        active, problems = {rule.rule_id for rule in active_rules(snapshot)}, problems_of(snapshot)
        return RulesAnswer(
            rules=[
                RuleAnswer(**dict(rule), active=rule.rule_id in active, problem=problems.get(rule.rule_id))
                for rule in snapshot.rules
            ]
        )

    def get(self, rule_id: str) -> RuleAnswer:
        """One rule."""
        found = next((rule for rule in self.list().rules if rule.rule_id == rule_id), None)
        if found is None:
            raise _not_found(rule_id)
        return found

    async def put(self, rule_id: str, body: RuleBody) -> tuple[bool, RuleAnswer]:
        """Create or replace a rule; returns whether it is new, and the rule."""
        rule = Rule(rule_id=rule_id, **dict(body))
        await self._follower.refresh()  # another process may have just created what the rule names
        if rule.enabled:  # one that is off may wait for what the catalogue does not have
            check(rule, self._snapshots.current(), "body")
        is_new = await self._follower.rules.put(rule)
        await self._follower.refresh()
        return is_new, self.get(rule_id)

    async def delete(self, rule_id: str) -> None:
        """Delete a rule."""
        existed = await self._follower.rules.delete(rule_id)
        await self._follower.refresh()
        if not existed:
            raise _not_found(rule_id)

    async def preview(self, request: PreviewRequest) -> PreviewAnswer:
        """What the rules, and a draft, do to the list for a cart."""
        if request.draft is not None:
            await self._follower.refresh()  # as in `put`
        given = {"cart_id": request.cart_id, "items": request.items, "k": request.k}
        asked = RecommendRequest.model_validate(given)
        question = await self._questions.about(asked, asked)
        rules = active_rules(question.snapshot)
        if request.draft is not None:
            draft = Rule(rule_id=self._draft_id(request.draft_replaces), **dict(request.draft))
            check(draft, question.snapshot, "body.draft")
            others = [rule for rule in rules if rule.rule_id != draft.rule_id]
            rules = in_order([*others, draft])
        elif request.draft_replaces is not None:
            raise Invalid(("body.draft_replaces", "give the draft that replaces it"))
        operations = question.snapshot.model.operations_of_one(len(question.cart.rows)) * (len(rules) + 1)
        return await self._compute.run(operations, lambda: _preview(question, rules))

    def _draft_id(self, replaced: str | None) -> str:
        """The id of the rule that a draft replaces, or one that no rule has."""
        taken = {rule.rule_id for rule in self._snapshots.current().rules}
        if replaced is not None and replaced not in taken:
            raise Invalid(("body.draft_replaces", f"there is no rule {replaced!r}"))
        free = DRAFT
        while free in taken:
            free += "_"
        return replaced or free


def _not_found(rule_id: str) -> RuleNotFound:
    return RuleNotFound(f"There is no rule {rule_id!r}.")


def _preview(question: Question[RecommendRequest], rules: Sequence[Rule]) -> PreviewAnswer:
    answers = [answer_one(replace(question, rules=tuple(rules[:count]))) for count in range(len(rules) + 1)]
    first, last = answers[0], answers[-1]
    ranks = {item.item_id: item.rank for item in first.items}
    return PreviewAnswer(
        model_version=last.model_version,
        cart=last.cart,
        items=_items(last, ranks),
        without_rules=_items(first, ranks),
        probability=_probability(last),
        probability_without_rules=_probability(first),
        effects=[
            _effect(question, rule, before, after)
            for rule, before, after in zip(rules, answers[:-1], answers[1:], strict=True)
        ],
    )


def _items(answer: Recommendations, ranks: dict[str, int]) -> list[PreviewItem]:
    return [
        PreviewItem(
            rank=item.rank,
            item_id=item.item_id,
            name=item.name,
            probability=item.probability,
            rules=item.rules,
            rank_without_rules=ranks.get(item.item_id),
        )
        for item in answer.items
    ]


def _probability(answer: Recommendations) -> float | None:
    known = [item.probability for item in answer.items if item.probability is not None]
    return fsum(known) if len(known) == len(answer.items) else None


def _effect(
    question: Question[RecommendRequest], rule: Rule, before: Recommendations, after: Recommendations
) -> RuleEffect:
    old = {item.item_id: item.rank for item in before.items}
    new = {item.item_id: item.rank for item in after.items}
    chances = _probability(before), _probability(after)
    return RuleEffect(
        rule_id=rule.rule_id,
        name=rule.name,
        applies=applies(rule, question.snapshot, question.cart.listed),
        entered=[item_id for item_id in new if item_id not in old],
        left=[item_id for item_id in old if item_id not in new],
        moved=[item_id for item_id, rank in new.items() if old.get(item_id, rank) != rank],
        cost=None if chances[0] is None or chances[1] is None else chances[0] - chances[1],
    )
