"""What the shop says about items, kept in Redis: a hash of overrides and a counter of its changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from app.redis_link import RedisLink

_OVERRIDES = "tripod:items"
_CHANGES = "tripod:items:changes"

# Merge the given fields into the item's override; null takes one back. Nothing left: forget the item.
_PATCH = """
local override = cjson.decode(redis.call('HGET', KEYS[1], ARGV[1]) or '{}')
for name, value in pairs(cjson.decode(ARGV[2])) do
  if value == cjson.null then override[name] = nil else override[name] = value end
end
if next(override) then
  redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(override))
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return redis.call('INCR', KEYS[2])
"""


@dataclass(frozen=True, slots=True)
class Override:
    """What replaces the model's own word about an item; None leaves it."""

    in_stock: bool | None = None
    price: float | None = None
    boost: float | None = None


class OverrideStore:
    """Reads and changes overrides."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._patch = link.client.register_script(_PATCH)

    async def patch(self, item_id: str, fields: dict[str, Any]) -> None:
        """Change some fields of one item's override."""
        with self._link.reaching():
            await self._patch(keys=[_OVERRIDES, _CHANGES], args=[item_id, json.dumps(fields)])

    async def changes(self) -> int:
        """A number that grows with every change."""
        return int(await self._link.read("GET", _CHANGES) or 0)

    async def read(self) -> tuple[int, dict[str, Override]]:
        """All overrides, and the number of changes that they contain."""
        with self._link.reaching() as redis:
            both = redis.pipeline(transaction=True)
            both.get(_CHANGES)
            both.hgetall(_OVERRIDES)
            count, fields = await both.execute()
        overrides = {item_id.decode(): Override(**json.loads(text)) for item_id, text in fields.items()}
        return int(count or 0), overrides
