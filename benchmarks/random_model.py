"""A random model with heavy-tailed popularity, for benchmarks that do not depend on what it has learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from model_store import Draft, Items, Knobs, ModelStore
from ndpp import Kernel, Mixture, Relevance
from ndpp.mixture import Habit, SimilarBaskets, Together
from training.baskets import Baskets
from training.next_item.basket_index import index_baskets

RANK = 100
NEIGHBOURS = 20
BASKETS = 100_000  # of 8 items each, in the index of training baskets
MIXTURE = Mixture(
    decoupling=0.9,
    together=Together((0.6, 0.0), (0.8, 0.0), (0.2, -0.1)),
    baskets=SimilarBaskets((0.7, 0.0), (-0.5, 0.2)),
    habit=Habit((0.5, 0.0), (0.4, 0.0), (0.3, -0.1), (-0.3, -0.4)),
    least_gain=1e-4,
)


def publish(store: Path, size: int, mixture: Mixture = MIXTURE) -> None:
    """Publish and activate a random model."""
    rng = np.random.default_rng(size)
    shares = 1 / np.arange(1, size + 1) ** 0.8
    shares *= 8 / shares.sum()
    half = RANK // 2
    rows = np.sqrt(shares)[:, None].astype(np.float32) / np.sqrt(half)
    V, B = (rows * rng.standard_normal((size, half), dtype=np.float32) for _ in range(2))
    C = np.kron(np.eye(half // 2), [[0.0, 1.0], [-1.0, 0.0]])
    offsets = NEIGHBOURS * np.arange(size + 1, dtype=np.int64)
    neighbours = rng.integers(0, size, offsets[-1], dtype=np.int32)
    weights = rng.uniform(0.01, 0.2, offsets[-1]).astype(np.float32)
    ids = tuple(f"item-{row}" for row in range(size))
    bought = np.searchsorted(np.cumsum(shares), 8 * rng.random((BASKETS, 8))).clip(max=size - 1)
    baskets = [np.unique(basket).astype(np.int32) for basket in bought]
    borders = np.cumsum([0, *(len(basket) for basket in baskets)])
    models = ModelStore(store)
    models.activate(
        models.publish(
            Draft(
                kernel=Kernel.scalable(V, B, C, shares),
                kind="scalable",
                items=Items(
                    ids=ids,
                    names=tuple(f"Item number {row}" for row in range(size)),
                    categories=tuple(f"Category {row % 50}" for row in range(size)),
                    prices=tuple(1.0 + row % 100 for row in range(size)),
                ),
                relevance=Relevance(offsets, neighbours, weights, floor=0.01),
                mixture=mixture,
                baskets=index_baskets(Baskets(ids, np.concatenate(baskets), borders)),
                knobs=Knobs(decoupling=0.9, relevance=2.0, popularity=0.0),
                hyperparameters={},
                metrics={},
                data_fingerprint="synthetic",
                seed=size,
            )
        )
    )
