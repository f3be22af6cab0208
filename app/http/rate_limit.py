"""Rate limit per client address, kept in Redis and so shared by all processes."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from pathlib import Path

from app.http.errors import RedisUnavailable, TooManyRequests
from app.redis.client import RedisLink

_UNLIMITED = ("/healthz", "/readyz", "/metrics")  # monitoring must work when the service is busy
_STATIC_FILES = "/static/"  # a page consists of many small files
_SCRIPT = Path(__file__).with_name("rate_limit.lua").read_text()


class RateLimiter:
    """Allows each client a number of requests per minute. While Redis is unavailable there is no limit."""

    def __init__(self, link: RedisLink, per_minute: int) -> None:
        self._link = link
        self._per_minute = per_minute
        self._script = link.client.register_script(_SCRIPT)

    async def check(self, address: str, path: str) -> None:
        """Raise TooManyRequests if the client at this address has used up its requests."""
        # While Redis is known to be unreachable, no request waits for it; the watchers notice its return.
        if path in _UNLIMITED or path.startswith(_STATIC_FILES) or not self._link.reachable:
            return
        key = f"tripod:rate:{_client(address)}"
        try:
            with self._link.call(writes=True):
                microseconds = int(await self._script(keys=[key], args=[self._per_minute]))
        except RedisUnavailable:
            return
        if microseconds:
            seconds = ceil(microseconds / 1_000_000)
            raise TooManyRequests(
                f"More than {self._per_minute} requests a minute came from your address: try again in "
                f"{seconds} s.",
                retry_after=seconds,
            )


def _client(address: str) -> str:
    """An IPv6 client usually has a whole /64 network of addresses, so the network counts as one client."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    return str(IPv6Network((ip, 64), strict=False)) if isinstance(ip, IPv6Address) else str(ip)
