"""The message that a model was activated: whoever serves looks at the store at once, not at the next poll."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from redis.asyncio.client import PubSub

from app.errors import RedisAway
from app.redis_link import RedisLink
from app.redis_trouble import trouble_of

CHANNEL = "tripod:models:activated"
_LISTEN_SECONDS = 10.0


class ActivationNews:
    """Sends and hears the message."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._heard = asyncio.Event()
        self._subscription: PubSub | None = None

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
        """Subscribe if need be, or else wait a while for a message."""
        try:
            await self._listen()
        except BaseException as error:
            if self._subscription is not None:
                await self._subscription.aclose()  # type: ignore[no-untyped-call]
                self._subscription = None
            if (trouble := trouble_of(error)) is not None:
                raise trouble.problem() from error
            raise

    async def _listen(self) -> None:
        if self._subscription is None:
            self._subscription = self._link.client.pubsub()
            with self._link.reaching():
                await self._subscription.subscribe(CHANNEL)
            self._heard.set()  # a message may have been missed until now
        elif await self._subscription.get_message(ignore_subscribe_messages=True, timeout=_LISTEN_SECONDS):
            self._heard.set()
