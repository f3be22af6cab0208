"""Hashes of shopper ids, with the key of the settings or of the model store."""

from __future__ import annotations

import asyncio

from app.http.errors import Unavailable
from model_store import ModelStore, ModelStoreError
from model_store.shopper_ids import ShopperIds


class ShopperHashes:
    """Hashes shopper ids. The model store's key is read, or made, when it is first needed."""

    def __init__(self, models: ModelStore, key: str | None) -> None:
        self._models = models
        self._key = key
        self._ids: ShopperIds | None = None

    async def of(self, shopper_id: str) -> str:
        """The hash under which the shopper's data is kept."""
        return (await self.ids()).hashed(shopper_id)

    async def ids(self) -> ShopperIds:
        """The hashes and marks of shopper ids."""
        if self._ids is None:
            try:
                self._ids = await asyncio.to_thread(self._models.shopper_ids, self._key)
            except ModelStoreError as error:
                raise Unavailable(f"The key of shopper ids cannot be read: {error}.") from error
        return self._ids
