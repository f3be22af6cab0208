"""First purchases of items that the model does not know, counted between two trainings.

`tripod:arrivals:baskets` is the number of purchases that a client with the admin key has recorded,
`tripod:arrivals:since` has its value when an item was first seen, `tripod:arrivals:bought` how many of them
held the item. `tripod:arrivals:changes` changes when processes should read these again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.redis.client import RedisLink

CHANGES = "tripod:arrivals:changes"
_BASKETS = "tripod:arrivals:baskets"
_SINCE = "tripod:arrivals:since"
_BOUGHT = "tripod:arrivals:bought"
_SCRIPT = Path(__file__).with_name("count_purchases.lua").read_text()
# KEYS: the numbers of baskets when items were first seen; how often they were bought; the number of changes.
# ARGV: items.
_FORGET = """
local gone = redis.call('HDEL', KEYS[1], unpack(ARGV)) + redis.call('HDEL', KEYS[2], unpack(ARGV))
if gone > 0 then
  local clock, number = redis.call('TIME'), redis.call('GET', KEYS[3]) or '0'
  redis.call('SET', KEYS[3], string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], number + 1)))
end
"""

Counts = Mapping[str, tuple[int, int]]  # by item: how often it was bought, in how many baskets


class PurchaseCounts:
    """Counts purchases of items that the model does not know."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._script = link.client.register_script(_SCRIPT)
        self._forget = link.client.register_script(_FORGET)

    async def advance(
        self,
        position: str,
        between: tuple[bytes, bytes],
        baskets: int,
        arrivals: Sequence[str],
        bought: Mapping[str, int],
    ) -> None:
        """Move the position in the purchase log and count what is between, unless it was moved already.

        `arrivals` are the items of the shop that the model does not know; `bought` is how often each item is
        in the baskets. Items that were arrivals before are counted on: a rollback may make them so again.
        """
        with self._link.call(writes=True):
            await self._script(
                keys=[position, _BASKETS, _SINCE, _BOUGHT, CHANGES],
                args=[*between, baskets, json.dumps(arrivals), json.dumps(bought)],
            )

    async def forget(self, item_ids: Sequence[str]) -> None:
        """Forget the purchases of items: others have got their ids."""
        if item_ids:
            with self._link.call(writes=True):
                await self._forget(keys=[_SINCE, _BOUGHT, CHANGES], args=item_ids)

    async def read(self) -> Counts:
        """The purchases of all items that were not known when they were first seen."""
        with self._link.call() as redis:
            pipeline = redis.pipeline(transaction=True)
            pipeline.get(_BASKETS)
            pipeline.hgetall(_SINCE)
            pipeline.hgetall(_BOUGHT)
            baskets, since, bought = await pipeline.execute()
        total = int(baskets or 0)
        return {
            item_id.decode(): (int(bought.get(item_id, 0)), total - int(start))
            for item_id, start in since.items()
        }
