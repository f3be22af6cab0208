"""How often one client may ask: a token bucket for each address, in Redis, so that all processes share it."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil

from app.errors import RedisAway, TooManyRequests
from app.redis_link import RedisLink

_FREE = ("/healthz", "/readyz", "/metrics")  # who watches the service must see it, above all when it is busy
_FREE_FILES = "/static/"  # a page is made of many small files

# The generic cell rate algorithm: a bucket of a minute's requests, which fills up evenly, is one moment in
# time, the one at which it will be full again. Returns the microseconds to wait, 0 if the request may pass.
_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local minute, step = 60000000, 60000000 / ARGV[1]
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + step
if full_at - now > minute then return math.ceil(full_at - now - minute) end
redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000))
return 0
"""


class RateLimiter:
    """Lets each client through so many times a minute. With Redis away it lets everyone through."""

    def __init__(self, link: RedisLink, per_minute: int) -> None:
        self._link = link
        self._per_minute = per_minute
        self._take = link.client.register_script(_TAKE)

    async def check(self, address: str, path: str) -> None:
        """TooManyRequests if the client at this address has asked too often."""
        # With Redis known to be away nobody waits for its deadline; the watchers notice when it is back.
        if path in _FREE or path.startswith(_FREE_FILES) or not self._link.answers:
            return
        try:
            with self._link.reaching(writes=True):
                wait = int(
                    await self._take(keys=[f"tripod:rate:{_client(address)}"], args=[self._per_minute])
                )
        except RedisAway:
            return
        if wait:
            seconds = ceil(wait / 1_000_000)
            raise TooManyRequests(
                f"More than {self._per_minute} requests in a minute came from your address: go on in "
                f"{seconds} s.",
                retry_after=seconds,
            )


def _client(address: str) -> str:
    """An IPv6 client has a whole network of addresses to ask from, so that counts as one."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    return str(IPv6Network((ip, 64), strict=False)) if isinstance(ip, IPv6Address) else str(ip)
