"""The small shop with planted purchases, from which lifts, P(set | cart) and the best bundles are counted."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from model_store import Draft, ModelStore
from ndpp import Kernel, Lifts, RelatedItems
from ndpp.lifts import COMPLEMENT, SIZE_CLASSES, Prior
from ndpp.sets import Attraction, SetModel, SetPredictor, TopBundles
from tests.app.app_process import get_json, ids_of
from tests.app.app_shop import GROUPS, KINDS, draft, item_ids
from training.baskets import Baskets
from training.next_item.basket_index import index_baskets
from training.sets.probability import START
from training.statistics.lifts import count_lifts
from training.statistics.pair_counts import PairCounts

_PRIOR = Prior(level=0.0, slope=0.5, weight=5.0)


@cache
def purchases() -> list[frozenset[int]]:
    """Of each group whole sets of camera, tripod and film; parts of them; and many unrelated baskets.

    Fewer of later groups, so that popular items come first as in a trained model.
    """
    rng = np.random.default_rng(7)
    baskets: list[list[int]] = []
    for group in range(GROUPS):
        camera, tripod, compact, film = range(len(KINDS) * group, len(KINDS) * (group + 1))
        many = 45 - 2 * group
        baskets += [[camera, tripod, film]] * many
        baskets += [[camera, tripod]] * (many // 2) + [[camera, film]] * (many // 3)
        baskets += [[compact, film]] * (many // 4) + [[camera]] * 5 + [[compact]] * 10
    size = len(KINDS) * GROUPS
    baskets += [rng.choice(size, rng.integers(2, 6), replace=False).tolist() for _ in range(500)]
    return [frozenset(baskets[place]) for place in rng.permutation(len(baskets))]


def held_by(*names: str) -> int:
    """How many purchases hold all these items, counted one by one."""
    wanted = {item_ids().index(name) for name in names}
    return sum(wanted <= basket for basket in purchases())


def _baskets() -> Baskets:
    sizes = [len(basket) for basket in purchases()]
    items = [row for basket in purchases() for row in sorted(basket)]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Baskets(tuple(item_ids()), np.array(items, dtype=np.int32), offsets)


def counted_lifts(baskets: Baskets, kernel: Kernel) -> Lifts:
    """The lifts of the purchases; pairs that are surely above chance are complements."""
    lifts = count_lifts(PairCounts(baskets), kernel, _PRIOR)
    rows = np.repeat(np.arange(kernel.size), np.diff(lifts.offsets))
    low = RelatedItems(kernel, lifts).between(rows, lifts.partners).low
    return replace(lifts, relations=np.where(low > 1, COMPLEMENT, 0).astype(np.uint8))


def bundle_draft() -> Draft:
    """The planted shop with the parts that bundles need."""
    planted, baskets = draft(), _baskets()
    lifts, index = counted_lifts(baskets, planted.kernel), index_baskets(baskets)
    return replace(
        planted,
        lifts=lifts,
        baskets=index,
        sets=SetModel.of(START, START),
        top_bundles=TopBundles.find(Attraction(RelatedItems(planted.kernel, lifts), index)),
    )


def publish_bundles(store: Path) -> str:
    """Publish the shop and activate it."""
    models = ModelStore(store)
    version = models.publish(bundle_draft())
    models.activate(version)
    return version


def predictor(store: Path) -> SetPredictor:
    """P(set | cart) of the active version."""
    stored = ModelStore(store).open()
    assert stored.sets and stored.lifts and stored.baskets and stored.basket_sizes
    relations = RelatedItems(stored.kernel, stored.lifts)
    return SetPredictor(stored.sets, stored.next_item, relations, stored.baskets, stored.basket_sizes)


def find(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    """The answer of GET /bundles."""
    return get_json(shop, "/bundles", **query)


def only(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    """The only bundle of the answer."""
    (bundle,) = find(shop, **query)["bundles"]
    assert isinstance(bundle, dict)
    return bundle


def chosen(shop: httpx.Client, **query: Any) -> set[str]:
    """The items of the only bundle."""
    return set(ids_of(only(shop, **query)))


def rows_of(names: list[str]) -> list[int]:
    """The rows of these items."""
    return [item_ids().index(name) for name in names]


def by_chance(names: list[str]) -> float:
    """Σ_c N_c Π_i (n_ic / N_c) over the classes of basket sizes that can hold all of the items."""
    expected = 0.0
    for first, end in itertools.pairwise([*SIZE_CLASSES, 1_000]):
        of_class = [basket for basket in purchases() if first <= len(basket) < end]
        if end > len(names) and of_class:
            shares = [sum(row in basket for basket in of_class) / len(of_class) for row in rows_of(names)]
            expected += len(of_class) * float(np.prod(shares))
    return expected


def share_of_all(sets: SetPredictor, names: list[str]) -> float:
    """P(i) · P(the others | i) with the rarest item."""
    rarest = min(names, key=held_by)
    rows = sorted(rows_of([name for name in names if name != rarest]))
    prediction = sets.given(rows_of([rarest]), include=rows)
    places = np.searchsorted(prediction.candidates, rows).tolist()
    return held_by(rarest) / len(purchases()) * prediction.probability(places)
