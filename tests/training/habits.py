"""Baskets of shoppers with planted habits: most of what a shopper buys are the same few items."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from training.baskets import Baskets

ITEMS, FAVOURITES = 60, 5


def habitual_baskets(shoppers: int = 80, each: int = 10, seed: int = 0) -> Baskets:
    """A basket a week: three of the shopper's favourites and two items that anybody buys."""
    rng = np.random.default_rng(seed)
    favourites = [rng.choice(ITEMS, FAVOURITES, replace=False) for _ in range(shoppers)]
    rows, owners, times = [], [], []
    for week in range(each):
        for shopper in rng.permutation(shoppers).tolist():
            own = rng.choice(favourites[shopper], 3, replace=False)
            rows.append(np.unique(np.concatenate([own, rng.integers(0, ITEMS, 2)])))
            owners.append(shopper)
            times.append(
                np.datetime64("2026-01-01", "us")
                + np.timedelta64(int(86_400 * (7 * week + rng.random())), "s")
            )
    return Baskets(
        catalogue=tuple(f"item-{row:02}" for row in range(ITEMS)),
        items=np.concatenate(rows).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum([len(basket) for basket in rows])]),
        timestamps=np.array(times, dtype="datetime64[us]"),
        keys=rng.random(len(rows)),
        shoppers=np.array(owners),
    )


def write_table(baskets: Baskets, path: Path) -> None:
    """A CSV table as a shop would export it."""
    assert baskets.shoppers is not None
    assert baskets.timestamps is not None
    lines = ["basket_id,item_id,shopper_id,timestamp"]
    for number, basket in enumerate(baskets):
        who, when = baskets.shoppers[number], str(baskets.timestamps[number])[:19]
        lines += [f"{number},{baskets.catalogue[row]},shopper-{who},{when}" for row in basket]
    path.write_text("\n".join(lines) + "\n")
