"""Pub/sub message about an activated model, so that all processes load it at once."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from redis.asyncio.client import PubSub

from app.http.errors import RedisUnavailable
from app.redis.client import RedisLink
from app.redis.failures import failure_of

CHANNEL = "tripod:models:activated"
_LISTEN_SECONDS = 10.0


class Activations:
    """Publishes and receives the message."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._received = asyncio.Event()
        self._subscription: PubSub | None = None

    async def publish(self, version: str) -> None:
        """Publish the message. Without Redis, processes find the version when they poll the model store."""
        with suppress(RedisUnavailable), self._link.call() as redis:
            await redis.publish(CHANNEL, version)

    async def wait(self, seconds: float) -> None:
        """Wait for the message, at most this long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._received.wait(), seconds)
        self._received.clear()

    async def listen(self) -> None:
        """Subscribe if necessary, otherwise wait some time for a message."""
        try:
            await self._listen()
        except BaseException as error:
            if self._subscription is not None:
                await self._subscription.aclose()  # type: ignore[no-untyped-call]
                self._subscription = None
            if (failure := failure_of(error)) is not None:
                raise failure.problem() from error
            raise

    async def _listen(self) -> None:
        if self._subscription is None:
            self._subscription = self._link.client.pubsub()
            with self._link.call():
                await self._subscription.subscribe(CHANNEL)
            self._received.set()  # a message may have been missed before
        elif await self._subscription.get_message(ignore_subscribe_messages=True, timeout=_LISTEN_SECONDS):
            self._received.set()
