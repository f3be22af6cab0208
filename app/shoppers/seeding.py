"""`python -m app.shoppers.seeding`: brings the purchases of the training data into the profiles of shoppers.

The worker runs it when it starts and after each job. It does nothing if the data is the same as the last
time. A profile counts each basket once, so purchases that it already has may come again; those that were
cancelled or returned meanwhile do not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

import fsspec
import numpy as np
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from app.runtime.logs import configure_logs, get_logger
from app.settings import Settings, load_settings
from app.shoppers.store import (
    MOST_BASKETS,
    SCRIPT,
    BoughtBasket,
    ProfileChange,
    forgotten_key,
    profile_key,
)
from model_store import ModelStore

if TYPE_CHECKING:
    from training.reading import BasketData, ReadingRules, ShopperRules

_SEEDED = "tripod:shoppers:seeded"  # a fingerprint of the data that was read last
_SHOPPERS_AT_ONCE = 20  # Redis answers nobody else in between


def seed(settings: Settings, client: Redis) -> int | None:
    """Put the baskets of the training data into profiles; returns the number of shoppers, None: no news."""
    from training.purchase_log import purchases_folder  # noqa: PLC0415  only the worker has it
    from training.reading import ReadingRules, ShopperRules  # noqa: PLC0415

    if settings.data is None:
        return None
    models, key = ModelStore(settings.store), settings.shopper_key
    shoppers = ShopperRules.of(models, key.get_secret_value() if key else None)
    rules = _reading_rules(models)
    parts = {settings.data: rules, purchases_folder(settings.data): ReadingRules(rules.max_basket_size)}
    state = _fingerprint(list(parts), rules, shoppers)
    if client.get(_SEEDED) == state.encode():
        return None
    seeded = set[str]()
    for location, part in parts.items():
        seeded |= _seed_part(settings, client, location, replace(part, min_item_count=1), shoppers)
    client.set(_SEEDED, state)
    return len(seeded)


def _reading_rules(models: ModelStore) -> ReadingRules:
    """How the active version read the data."""
    from training.recipe import Recipe, inherited  # noqa: PLC0415

    active = models.active()
    return Recipe.of({} if active is None else inherited(models.manifest(active))).rules


def _fingerprint(locations: list[str], rules: ReadingRules, shoppers: ShopperRules) -> str:
    """Changes with the files, with how they are read, and with the key of the hashes."""
    files = [_files(location) for location in locations]
    key = shoppers.ids.mark("") if shoppers.ids else ""
    return blake2b(repr((files, rules, key)).encode(), digest_size=16).hexdigest()


def _files(location: str) -> list[tuple[str, ...]]:
    """The name, size and time of each file of a folder or URL."""
    filesystem, path = fsspec.core.url_to_fs(location, use_listings_cache=False)
    if not filesystem.exists(path):
        return []
    found = filesystem.ls(path, detail=True) if filesystem.isdir(path) else [filesystem.info(path)]
    keys = ("name", "size", "mtime", "LastModified", "ETag")  # file systems have some of them
    return sorted(tuple(str(file.get(key)) for key in keys) for file in found if file["type"] == "file")


def _seed_part(
    settings: Settings, client: Redis, location: str, rules: ReadingRules, shoppers: ShopperRules
) -> set[str]:
    """Put the baskets of one location into profiles; returns the hashes of their shoppers."""
    from training.reading import read_baskets  # noqa: PLC0415
    from training.reading.sources import has_data  # noqa: PLC0415

    assert shoppers.ids is not None
    if not has_data(location):
        return set()
    changes = _changes(read_baskets(location, rules, shoppers=shoppers), settings.shopper_ttl)
    script, seeded = client.register_script(SCRIPT), set[str]()
    while several := list(islice(changes, _SHOPPERS_AT_ONCE)):
        pipeline = client.pipeline(transaction=False)
        for shopper, change in several:
            keys = [profile_key(shopper), forgotten_key(shoppers.ids.mark(shopper))]
            script(keys=keys, args=[change.arguments(settings.shopper_ttl)], client=pipeline)
            seeded.add(shopper)
        pipeline.execute()
    return seeded


def _changes(data: BasketData, ttl: int) -> Iterator[tuple[str, ProfileChange]]:
    """Each shopper's hash and newest baskets, but for those not seen for `ttl` seconds before the last."""
    baskets = data.baskets
    if baskets.shoppers is None or baskets.timestamps is None:
        return
    seconds = baskets.timestamps.astype("datetime64[s]").astype(np.int64)
    known = np.flatnonzero(baskets.shoppers >= 0)
    order = known[np.lexsort((seconds[known], baskets.shoppers[known]))]
    owners, newest = baskets.shoppers[order], min(int(seconds.max(initial=0)), int(time.time()))
    for numbers in np.split(order, np.flatnonzero(np.diff(owners)) + 1):
        if not len(numbers) or seconds[numbers[-1]] < newest - ttl:
            continue
        change = ProfileChange(old=True)
        for number in numbers[-MOST_BASKETS:].tolist():
            item_ids = [baskets.catalogue[row] for row in baskets[number]]
            bought = int(seconds[number])
            change.add(BoughtBasket(data.basket_ids[number], bought, item_ids, bought * 1000))
        yield data.shopper_hashes[int(baskets.shoppers[numbers[0]])], change


def main() -> None:
    """Seed the profiles once."""
    settings = load_settings()
    configure_logs(settings.log_level)
    client = Redis.from_url(settings.redis_url or "", retry=Retry(ConstantBackoff(1), 60))
    try:
        found = seed(settings, client)
    except Exception as error:  # the worker goes on without it
        get_logger().warning("profiles of shoppers were not seeded", error=f"{type(error).__name__}: {error}")
        raise SystemExit(1) from None
    if found is not None:
        get_logger().info("profiles of shoppers were seeded", shoppers=found)


if __name__ == "__main__":
    main()
