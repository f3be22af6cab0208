"""The routes of rules, like those in `calls.py`. All need the admin key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tripod_client import answers
from tripod_client.arguments import RuleBody
from tripod_client.request import Call, cart_query, given_only, list_of, path_of, time_of


def list_rules() -> Call[answers.RulesAnswer]:
    """List the rules in the order in which they apply."""
    return Call("GET", "/rules")


def get_rule(rule_id: str) -> Call[answers.RuleAnswer]:
    """Read a rule."""
    return Call("GET", path_of("rules", rule_id))


def put_rule(rule_id: str, **rule: Unpack[RuleBody]) -> Call[answers.RuleAnswer]:
    """Create or replace a rule."""
    return Call("PUT", path_of("rules", rule_id), body=_body(rule))


def delete_rule(rule_id: str) -> Call[None]:
    """Delete a rule."""
    return Call("DELETE", path_of("rules", rule_id), answer="nothing")


def preview_rules(
    cart_id: str | None = None,
    items: Sequence[str] = (),
    k: int = 10,
    *,
    draft: RuleBody | None = None,
    draft_replaces: str | None = None,
) -> Call[answers.PreviewAnswer]:
    """Compare the list for a cart with the rules and without them, and with a `draft` that is not stored.

    The draft is tried with the other rules, or in the place of the stored rule `draft_replaces`.
    """
    draft_body = None if draft is None else _body(draft)
    body = {"items": list_of("items", items), "k": k, "draft": draft_body, "draft_replaces": draft_replaces}
    return Call("POST", "/rules/preview", body=given_only({**cart_query(cart_id), **body}))


def _body(rule: RuleBody) -> dict[str, Any]:
    """The rule as JSON."""
    body: dict[str, Any] = {**rule}
    if isinstance(body.get("when"), Mapping):
        when = {**body["when"]}
        for name in ("starts_at", "ends_at"):
            if name in when:
                when[name] = time_of(name, when[name])
        body["when"] = when
    return body
