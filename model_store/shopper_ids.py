"""Keyed hashes of shopper ids: what Tripod keeps in place of the ids themselves.

A forgotten shopper leaves a mark, so that training skips their baskets in the shop's own data. It is
a hash of the hash: neither the id nor the hash under which purchases were kept can be found by it.
"""

from __future__ import annotations

from hashlib import blake2b

MIN_KEY_LENGTH = 16
HASH = "^[0-9a-f]{32}$"


class ShopperIds:
    """Hashes shopper ids with a secret key; training and service need the same one."""

    def __init__(self, key: str) -> None:
        self._key = blake2b(key.encode(), digest_size=32).digest()

    def hashed(self, shopper_id: str) -> str:
        """The name under which a shopper's data is kept: 32 hexadecimal digits."""
        return blake2b(shopper_id.encode(), key=self._key, digest_size=16).hexdigest()

    def mark(self, hashed: str) -> str:
        """The mark of a forgotten shopper, from the hash of the id."""
        return blake2b(hashed.encode(), key=self._key, digest_size=16, person=b"forgotten").hexdigest()
