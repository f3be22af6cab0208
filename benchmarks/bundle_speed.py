"""Time of a whole bundle for a cart, in units of one next-item list."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.random_model import publish
from model_store import ModelStore
from ndpp import RelatedItems
from ndpp.lifts import Prior
from ndpp.sets import Constraints, SetModel, SetPredictor, best_set
from training.baskets import Baskets, ItemRows
from training.sets.probability import START
from training.statistics.basket_sizes import learn_basket_sizes
from training.statistics.lifts import count_lifts
from training.statistics.pair_counts import PairCounts

BUNDLE, LIST = 5, 10  # items
CART = 3
CARTS = 60
SYNTHETIC_ITEMS = 50_000
_PRIOR = Prior(level=0.0, slope=0.5, weight=2.0)


def measure_speed(predictor: SetPredictor, carts: Sequence[ItemRows]) -> dict[str, float]:
    """Median processor seconds of both, measured in turns so that other load affects both alike."""
    everything = Constraints(np.ones(predictor.next_item.kernel.size))
    seconds: list[tuple[float, float]] = []
    for cart in [carts[0], *carts]:
        began = time.process_time()
        np.argpartition(-predictor.next_item.given(cart).probabilities, LIST)[:LIST]
        between = time.process_time()
        best_set(predictor.given(cart), BUNDLE, everything)
        seconds.append((between - began, time.process_time() - between))
    single, bundle = np.median(seconds[1:], axis=0)  # the first cart fills the caches
    return {
        "items": predictor.next_item.kernel.size,
        "list_seconds": float(single),
        "bundle_seconds": float(bundle),
        "ratio": float(bundle / single),
    }


def synthetic_predictor(items: int) -> tuple[SetPredictor, list[ItemRows]]:
    """A predictor on the model and the baskets of `benchmarks.random_model`, and carts from its baskets."""
    with tempfile.TemporaryDirectory() as scratch:
        publish(Path(scratch) / "store", items)
        stored = ModelStore(Path(scratch) / "store").open()
        index = stored.baskets
        assert index is not None
        baskets = Baskets(tuple(stored.items.ids), index.items.copy(), index.offsets.copy())
        lifts = count_lifts(PairCounts(baskets), stored.kernel, _PRIOR)
        predictor = SetPredictor(
            SetModel.of(START, START),
            stored.next_item,
            RelatedItems(stored.kernel, lifts),
            index,
            learn_basket_sizes(baskets, 0),
        )
    return predictor, draw_carts(baskets)


def draw_carts(baskets: Baskets) -> list[ItemRows]:
    """Random carts of CART items."""
    rng = np.random.default_rng(0)
    large = rng.permutation(np.flatnonzero(baskets.sizes >= CART))[:CARTS]
    return [rng.permutation(baskets[number])[:CART] for number in large]
