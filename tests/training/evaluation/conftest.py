from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ndpp import Kernel
from training.baskets import Baskets, ItemRows
from training.recommender import Pasts, Recommender, Scores


def make_baskets(rows: Sequence[Sequence[int]], catalogue: Sequence[str]) -> Baskets:
    offsets = np.concatenate([[0], np.cumsum([len(basket) for basket in rows])]).astype(np.int64)
    return Baskets(tuple(catalogue), np.array([row for basket in rows for row in basket], np.int32), offsets)


class FixedScores(Recommender):
    """The same given scores for every cart."""

    name = "fixed"

    def __init__(self, scores: Sequence[float]) -> None:
        self.fixed = np.array(scores, dtype=np.float64)

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:  # noqa: ARG002
        return np.tile(self.fixed, (len(carts), 1))


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    """A nonsymmetric kernel with a diagonal over 9 items."""
    rng = np.random.default_rng(3)
    D = rng.normal(size=(4, 4))
    return Kernel.tied(rng.normal(size=(9, 4)), D - D.T, rng.uniform(0.1, 1, size=9))


@pytest.fixture(scope="session")
def baskets() -> Baskets:
    """300 random baskets of 1 to 30 of 60 items, the first items far more popular."""
    rng = np.random.default_rng(5)
    share = 1 / np.arange(1, 61)
    rows = [
        sorted(rng.choice(60, size=int(rng.integers(1, 31)), replace=False, p=share / share.sum()))
        for _ in range(300)
    ]
    return make_baskets(rows, [str(1000 - row) for row in range(60)])
