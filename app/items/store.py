"""What the shop says about items, kept in Redis: a hash of overrides, and a log of their changes.

Each change has a number, and its entry in the log names the number of the change before it. Who has seen one
change follows the entries after it as long as they form a chain, and otherwise reads all overrides: when the
log is too short for that, when data was lost in Redis, or after a change by release 0.1, which has no log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.redis_link import RedisLink

_OVERRIDES = "tripod:items"
_CHANGES = "tripod:items:changes"  # the number of the latest change
_LOG = "tripod:items:log"
_LOG_LENGTH = 10_000

# Merge the given fields into the item's override; null takes one back. Nothing left: forget the item.
# A change's number is the time in microseconds: were it a count, two changes could have the same number after
# a crash that lost the last of them. An XADD fails if the clock was put back: then the log begins anew.
_PATCH = """
local override = cjson.decode(redis.call('HGET', KEYS[1], ARGV[1]) or '{}')
for name, value in pairs(cjson.decode(ARGV[2])) do
  if value == cjson.null then override[name] = nil else override[name] = value end
end
local text = ''
if next(override) then
  text = cjson.encode(override)
  redis.call('HSET', KEYS[1], ARGV[1], text)
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
local clock, before = redis.call('TIME'), redis.call('GET', KEYS[2]) or '0'
local number = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], before + 1))
redis.call('SET', KEYS[2], number)
local entry = {'XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], number .. '-0',
  'after', before, 'item', ARGV[1], 'override', text}
if type(redis.pcall(unpack(entry))) == 'table' then
  redis.call('DEL', KEYS[3])
  redis.call(unpack(entry))
end
"""


@dataclass(frozen=True, slots=True)
class Override:
    """What replaces the model's own word about an item; None leaves it."""

    in_stock: bool | None = None
    price: float | None = None
    boost: float | None = None

    @classmethod
    def parse(cls, text: bytes) -> Override:
        """From its form in Redis. What a newer release may have added there is left out."""
        try:
            fields = json.loads(text or b"{}")
        except ValueError:
            fields = {}
        if not isinstance(fields, dict):
            fields = {}
        in_stock = fields.get("in_stock")
        return cls(
            in_stock if isinstance(in_stock, bool) else None,
            _number(fields.get("price")),
            _number(fields.get("boost")),
        )


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Changes:
    """The overrides that have changed, or all of them."""

    number: int  # of the latest change that they contain
    texts: dict[bytes, bytes]  # by item id; an empty one: the item has no override any more
    are_all: bool

    def overrides(self) -> dict[str, Override]:
        """The overrides by item id. Many take a while, so not on the event loop."""
        return {item_id.decode(): Override.parse(text) for item_id, text in self.texts.items()}


class OverrideStore:
    """Reads and changes overrides."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._patch = link.client.register_script(_PATCH)

    async def patch(self, item_id: str, fields: dict[str, Any]) -> None:
        """Change some fields of one item's override."""
        with self._link.reaching(writes=True):
            await self._patch(
                keys=[_OVERRIDES, _CHANGES, _LOG], args=[item_id, json.dumps(fields), _LOG_LENGTH]
            )

    async def latest(self) -> int:
        """The number of the latest change, 0 before the first."""
        return int(await self._link.read("GET", _CHANGES) or 0)

    async def since(self, number: int | None) -> Changes:
        """What has changed since the change of that number; all overrides for None, or where the log ends."""
        if number is not None:
            latest, entries = await self._latest_and("XRANGE", _LOG, f"{number}-1", "+")
            if _is_chain(number, latest, entries):
                texts = {said[b"item"]: said[b"override"] for _, said in entries}
                return Changes(latest, texts, are_all=False)
        return Changes(*await self._latest_and("HGETALL", _OVERRIDES), are_all=True)

    async def _latest_and(self, *command: str) -> tuple[int, Any]:
        """The number of the latest change and the answer to the command, of the same moment."""
        with self._link.reaching() as redis:
            both = redis.pipeline(transaction=True)
            both.get(_CHANGES)
            both.execute_command(*command)
            latest, answer = await both.execute()
        return int(latest or 0), answer


def _is_chain(number: int, latest: int, entries: Iterable[tuple[bytes, dict[bytes, bytes]]]) -> bool:
    """Whether the log's entries lead from one change to another without a gap."""
    for entry_id, said in entries:
        if int(said[b"after"]) != number:
            return False
        number = int(entry_id.split(b"-")[0])
    return number == latest
