"""Build the index of training baskets that the `baskets` expert searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndpp.basket_index import BasketIndex
from training.baskets import Baskets

_PSEUDO_COUNT = 0.1  # baskets added to the count of every item, for rare items
MOST_POSTINGS = 20_000  # newest baskets listed per item
MOST_ENTRIES = 20_000_000  # in all lists together: 80 MB


def index_baskets(baskets: Baskets, most: int = MOST_POSTINGS) -> BasketIndex:
    """Index the baskets of two or more items; without timestamps the last ones count as the newest.

    At most `most` baskets are listed per item, fewer if the lists would have more than MOST_ENTRIES.
    """
    order = np.arange(len(baskets))
    if baskets.timestamps is not None:
        order = np.argsort(baskets.timestamps, kind="stable")
    newest_first = order[::-1]
    several = baskets.select(newest_first[baskets.sizes[newest_first] > 1])
    size = len(baskets.catalogue)
    owners = np.repeat(np.arange(len(several)), several.sizes)
    by_item = np.argsort(several.items, kind="stable")  # keeps baskets newest first within an item
    counts = several.counts
    while most > 1 and np.minimum(counts, most).sum() > MOST_ENTRIES:
        most //= 2
    starts = np.concatenate([[0], np.cumsum(counts)])
    place = np.arange(len(by_item)) - np.repeat(starts[:-1], counts)  # within the item's list
    listed = by_item[place < most]
    # Drop baskets that no item lists: they cannot be found.
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
        most=most,
    )


def _first_shares(baskets: Baskets) -> NDArray[np.float64]:
    """P(item | empty cart) for prefixes of random length of shuffled baskets.

    The empty prefix has probability 1/|b|, and each item of b then comes next with 1/|b|: Σ_b 1/|b|².
    """
    sizes = np.repeat(baskets.sizes, baskets.sizes)
    places = np.bincount(baskets.items, 1.0 / sizes**2, minlength=len(baskets.catalogue))
    places += _PSEUDO_COUNT * places.sum() / max(len(baskets), 1)
    return np.asarray(places / places.sum())
