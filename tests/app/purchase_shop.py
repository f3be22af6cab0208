"""A service with a Valkey of its own, whose keys a test can read."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import httpx
import redis

from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey
from tests.app.app_shop import publish

LOG = "tripod:purchases"


class Shop:
    """The running service, its store and its Valkey."""

    def __init__(self, folder: Path) -> None:
        publish(folder / "store")
        self.store = ModelStore(folder / "store")
        self.valkey = Valkey(folder / "valkey")
        self.redis = redis.Redis.from_url(self.valkey.url, decode_responses=True)
        self.service = Service(folder / "store", REDIS_URL=self.valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY)
        self.client: httpx.Client = self.service.ready().client
        self.client.headers["X-Admin-Key"] = ADMIN_KEY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.service.stop()
        self.valkey.kill()

    def hashed(self, shopper_id: str) -> str:
        return self.store.shopper_ids(None).hashed(shopper_id)

    def entries(self) -> list[dict[str, str]]:
        """The fields of all entries of the purchase log."""
        return [fields for _, fields in self.redis.xrange(LOG)]
