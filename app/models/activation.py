"""The message that a model was activated: whoever serves looks at the store at once, not at the next poll."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from redis.exceptions import RedisError

from app.errors import RedisAway
from app.redis_link import RedisLink

CHANNEL = "tripod:models:activated"
_LISTEN_SECONDS = 10.0
_PAUSE_SECONDS = 1.0


class ActivationNews:
    """Sends and hears the message."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._heard = asyncio.Event()

    async def tell(self, version: str) -> None:
        """Send it; with Redis away everyone's next look at the store finds the version."""
        with suppress(RedisAway), self._link.reaching() as redis:
            await redis.publish(CHANNEL, version)

    async def wait(self, seconds: float) -> None:
        """Until the message comes, or that much time has passed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), seconds)
        self._heard.clear()

    async def listen(self) -> None:
        """Hear messages until cancelled."""
        while True:
            with suppress(RedisError, OSError):
                await self._listen()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _listen(self) -> None:
        async with self._link.client.pubsub() as subscription:
            await subscription.subscribe(CHANNEL)
            self._heard.set()  # a message may have been missed until now
            while True:
                message = await subscription.get_message(
                    ignore_subscribe_messages=True, timeout=_LISTEN_SECONDS
                )
                if message is not None:
                    self._heard.set()
