"""Baskets of shoppers with planted habits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from training.baskets import NOBODY, Baskets

ITEMS = 12


def with_shoppers(baskets: Baskets, shoppers: int = 5) -> Baskets:
    """The same baskets, bought in turn by some shoppers, one a day; every seventh by nobody known."""
    numbers = np.arange(len(baskets))
    days = np.datetime64("2024-01-01", "us") + numbers * np.timedelta64(1, "D")
    return replace(baskets, shoppers=np.where(numbers % 7 == 6, NOBODY, numbers % shoppers), timestamps=days)


def habits(shoppers: int = 30, trips: int = 8, seed: int = 3) -> Baskets:
    """Shopper s buys items s % 6 and s % 6 + 6 nearly every time, and one random item."""
    rng = np.random.default_rng(seed)
    rows, owners = [], []
    for _ in range(trips):
        for shopper in range(shoppers):
            own = [item for item in (shopper % 6, shopper % 6 + 6) if rng.random() < 0.9]
            rows.append(np.unique([*own, rng.integers(ITEMS)]))
            owners.append(shopper)
    offsets = np.concatenate([[0], np.cumsum([len(basket) for basket in rows])]).astype(np.int64)
    times = np.datetime64("2024-01-01", "us") + np.arange(len(rows)) * np.timedelta64(1, "h")
    return Baskets(
        tuple(f"item-{row}" for row in range(ITEMS)),
        np.concatenate(rows).astype(np.int32),
        offsets,
        timestamps=times,
        shoppers=np.array(owners, dtype=np.int64),
    )
