"""Rules in Redis: a hash of JSON texts, and the number of the latest change."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from app.http.errors import TooManyRules
from app.redis.client import RedisLink
from app.rules.rule import Rule, in_order
from app.runtime.logs import get_logger

CHANGES = "tripod:rules:changes"
_RULES = "tripod:rules"
MOST_RULES = 200
# KEYS: the rules, the number of the latest change. ARGV: the id, the rule ('' deletes it), most rules.
# Returns whether there was such a rule, or -1 if there are too many.
_SCRIPT = """
local existed = redis.call('HEXISTS', KEYS[1], ARGV[1])
if ARGV[2] == '' then
  if existed == 0 then return 0 end
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  if existed == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
-- The number is the time in microseconds, or one more than before, as for items: a counter could repeat one.
local clock, before = redis.call('TIME'), redis.call('GET', KEYS[2]) or '0'
redis.call('SET', KEYS[2], string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], before + 1)))
return existed
"""


class RuleStore:
    """Reads and changes rules."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._script = link.client.register_script(_SCRIPT)

    async def all(self) -> tuple[Rule, ...]:
        """All rules in the order in which they apply. One that a newer release wrote may be unreadable."""
        found = list[Rule]()
        with self._link.call() as redis:
            texts: dict[Any, Any] = await redis.hgetall(_RULES)
        for rule_id, text in texts.items():
            try:
                found.append(Rule.model_validate_json(text))
            except ValidationError:
                get_logger().warning("unreadable rule", rule_id=rule_id.decode())
        return in_order(found)

    async def put(self, rule: Rule) -> bool:
        """Create or replace a rule; returns whether it is new."""
        text = rule.model_dump_json(by_alias=True, exclude_none=True)
        existed = await self._run(rule.rule_id, text)
        if existed < 0:
            raise TooManyRules(f"There are {MOST_RULES} rules already: delete one first.")
        return existed == 0

    async def delete(self, rule_id: str) -> bool:
        """Delete a rule; returns whether there was one."""
        return await self._run(rule_id, "") == 1

    async def _run(self, rule_id: str, text: str) -> int:
        with self._link.call(writes=True):
            return int(await self._script(keys=[_RULES, CHANGES], args=[rule_id, text, MOST_RULES]))
