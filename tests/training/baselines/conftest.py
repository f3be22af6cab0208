from __future__ import annotations

import numpy as np
import pytest

from training.baskets import Baskets


@pytest.fixture(scope="session")
def baskets() -> Baskets:
    """200 random baskets over 12 items, where 0–1, 2–3, … are often bought together."""
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(200):
        first = rng.integers(6) * 2
        rows.append(np.unique(np.concatenate([[first, first + 1], rng.integers(12, size=rng.integers(3))])))
    offsets = np.concatenate([[0], np.cumsum([len(basket) for basket in rows])])
    catalogue = tuple(f"item-{row}" for row in range(12))
    return Baskets(catalogue, np.concatenate(rows).astype(np.int32), offsets.astype(np.int64))
