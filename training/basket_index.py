"""The index of training baskets that the `baskets` expert searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndpp.basket_index import BasketIndex
from training.baskets import Baskets

_UNSEEN = 0.1  # baskets that are added to those of every item, for items hardly ever bought
MOST_POSTINGS = 1_000  # baskets listed for an item, the newest; 10,000 gain less than 0.01 nats


def index_baskets(baskets: Baskets, most: int = MOST_POSTINGS) -> BasketIndex:
    """Index the baskets of two items and more; without timestamps the last ones count as the newest."""
    order = np.arange(len(baskets))
    if baskets.timestamps is not None:
        order = np.argsort(baskets.timestamps, kind="stable")
    newest_first = order[::-1]
    several = baskets.select(newest_first[baskets.sizes[newest_first] > 1])
    size = len(baskets.catalogue)
    owners = np.repeat(np.arange(len(several)), several.sizes)
    by_item = np.argsort(several.items, kind="stable")  # baskets stay in order within an item
    counts = several.counts
    starts = np.concatenate([[0], np.cumsum(counts)])
    place = np.arange(len(by_item)) - np.repeat(starts[:-1], counts)  # within the item's list
    listed = by_item[place < most]
    # Baskets that no item lists any more can never be found.
    used = np.zeros(len(several), dtype=np.bool_)
    used[owners[listed]] = True
    kept, number = several.select(np.flatnonzero(used)), np.cumsum(used) - 1
    return BasketIndex(
        offsets=kept.offsets.astype(np.int64),
        items=kept.items.astype(np.int32),
        starts=np.concatenate([[0], np.cumsum(np.minimum(counts, most))]).astype(np.int64),
        postings=number[owners[listed]].astype(np.int32),
        log_first=np.log(_first_shares(baskets)).astype(np.float32),
        rarity=np.log((len(several) + 1) / np.maximum(counts, 1)).astype(np.float32).reshape(size),
    )


def _first_shares(baskets: Baskets) -> NDArray[np.float64]:
    """How often each item follows an empty cart, if every basket is cut off at a random place, as shares.

    One of its |b| places is the beginning, and there any of its items comes next: Σ_b 1/|b|².
    """
    sizes = np.repeat(baskets.sizes, baskets.sizes)
    places = np.bincount(baskets.items, 1.0 / sizes**2, minlength=len(baskets.catalogue))
    places += _UNSEEN * places.sum() / max(len(baskets), 1)
    return np.asarray(places / places.sum())
