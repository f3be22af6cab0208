"""Routes of rules."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from app.dependencies import AdminKey, ServicesDep
from app.http.errors import (
    CartNotFound,
    ModelMissing,
    Overloaded,
    RedisUnavailable,
    RuleNotFound,
    TooManyRules,
    UnsupportedMediaType,
)
from app.http.problems import ADMIN, declare
from app.rules.rule import RuleBody, RuleId
from app.rules.schemas import PreviewAnswer, PreviewRequest, RuleAnswer, RulesAnswer

router = APIRouter(prefix="/rules", tags=["rules"], dependencies=[AdminKey], responses=ADMIN)
RuleIdPath = Annotated[RuleId, Path(description="The id of the rule, chosen by the shop.")]


@router.get("", summary="List rules", responses=declare(ModelMissing))
async def list_rules(services: ServicesDep) -> RulesAnswer:
    """All rules in the order in which they apply."""
    return services.rules.list()


@router.post(
    "/preview",
    summary="Preview rules on a cart",
    responses=declare(CartNotFound, UnsupportedMediaType, ModelMissing, Overloaded, RedisUnavailable),
)
async def preview_rules(services: ServicesDep, request: PreviewRequest) -> PreviewAnswer:
    """The list for a cart with the rules and without them; what each rule changes, and what it costs."""
    return await services.rules.preview(request)


@router.get("/{rule_id}", summary="Read a rule", responses=declare(RuleNotFound, ModelMissing))
async def get_rule(services: ServicesDep, rule_id: RuleIdPath) -> RuleAnswer:
    """One rule."""
    return services.rules.get(rule_id)


@router.put(
    "/{rule_id}",
    summary="Create or replace a rule",
    responses={
        201: {"model": RuleAnswer, "description": "The rule is new."},
        **declare(TooManyRules, UnsupportedMediaType, ModelMissing, RedisUnavailable),
    },
)
async def put_rule(
    services: ServicesDep, rule_id: RuleIdPath, rule: RuleBody, response: Response
) -> RuleAnswer:
    """Create or replace a rule. It takes effect within two seconds in all processes."""
    is_new, answer = await services.rules.put(rule_id, rule)
    response.status_code = 201 if is_new else 200
    return answer


@router.delete(
    "/{rule_id}",
    status_code=204,
    summary="Delete a rule",
    responses=declare(RuleNotFound, ModelMissing, RedisUnavailable),
)
async def delete_rule(services: ServicesDep, rule_id: RuleIdPath) -> None:
    """Delete a rule."""
    await services.rules.delete(rule_id)
