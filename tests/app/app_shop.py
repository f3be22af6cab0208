"""A small shop with planted relations, published as a model, so that tests know the right results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from model_store import Draft, Items, Knobs, ModelStore
from ndpp import BasketIndex, Kernel, Lifts, Mixture, Relevance
from ndpp.basket_sizes import FEATURES, BasketSizes
from ndpp.coherence import CoherenceScale
from ndpp.lifts import COMPLEMENT, SUBSTITUTE
from ndpp.mixture import Habit, SimilarBaskets, Together

GROUPS = 15
KINDS = (
    "camera",
    "tripod",
    "compact",
    "film",
)  # camera and tripod are complements, camera and compact substitutes
CATEGORIES = ("Photo", "Accessories")


def item_ids() -> list[str]:
    return [f"{kind}-{group}" for group in range(GROUPS) for kind in KINDS]


def planted_kernel(strength: float = 1.0) -> Kernel:
    """camera-g and compact-g share a column of V; block g of C connects camera-g and tripod-g."""
    size = len(KINDS) * GROUPS
    rng = np.random.default_rng(5)
    V = 0.02 * rng.normal(size=(size, GROUPS))
    B = np.zeros((size, 2 * GROUPS))
    C = np.zeros((2 * GROUPS, 2 * GROUPS))
    scale = 1 / np.sqrt(1 + np.arange(size))  # popular items first
    for group in range(GROUPS):
        camera, tripod, compact = (len(KINDS) * group + kind for kind in range(3))
        V[camera, group] += scale[camera]
        V[compact, group] += scale[compact]
        B[camera, 2 * group] = scale[camera]
        B[tripod, 2 * group + 1] = scale[tripod]
        C[2 * group, 2 * group + 1], C[2 * group + 1, 2 * group] = strength, -strength
    return Kernel.scalable(V.astype(np.float32), B.astype(np.float32), C, 0.5 * scale**2)


def planted_relevance() -> Relevance:
    """A camera in the cart makes the film of its group more relevant."""
    size = len(KINDS) * GROUPS
    cameras = np.arange(size) % len(KINDS) == 0
    offsets = np.concatenate([[0], np.cumsum(cameras)]).astype(np.int64)
    films = (np.flatnonzero(cameras) + 3).astype(np.int32)
    return Relevance(offsets, films, np.full(len(films), 0.2, dtype=np.float32), floor=0.01)


def planted_sizes() -> BasketSizes:
    """Half of all carts are complete; fewer of those with cameras, which occur in larger baskets."""
    size = len(KINDS) * GROUPS
    coefficients = np.zeros((2, FEATURES))
    coefficients[:, -2] = -1, 1  # per unit of log size above the average
    return BasketSizes(
        item_log_sizes=np.where(np.arange(size) % len(KINDS) == 0, 1.0, 0.8).astype(np.float32),
        usual_log_size=0.8,
        complete=coefficients[0],
        further=coefficients[1],
        dispersion=1.0,
        counts=np.array([0, 50, 30, 15, 5]),
    )


def planted_coherence() -> CoherenceScale:
    """Baskets of two to four items have mean lifts from 0.5 to 2; there are no larger baskets."""
    quantiles = np.full((6, 21), np.nan)
    quantiles[:2] = np.log(np.geomspace(0.5, 2, 21))
    return CoherenceScale(quantiles, np.array([300, 200, 0, 0, 0, 0]))


def planted_lifts() -> Lifts:
    """Each item is in 200 of 2,000 baskets of three or four items: 20 have a given pair by chance."""
    size = len(KINDS) * GROUPS
    counts = np.zeros((size, 7), dtype=np.int32)
    counts[:, 2] = 200
    pairs = []
    for camera in range(0, size, len(KINDS)):
        tripod, compact, film = camera + 1, camera + 2, camera + 3
        pairs += [(camera, tripod, 80, COMPLEMENT), (camera, film, 50, COMPLEMENT)]
        pairs += [(camera, compact, 2, SUBSTITUTE), (compact, film, 22, 0)]
    both = sorted(pairs + [(second, first, *rest) for first, second, *rest in pairs])
    rows, partners, together, relations = (np.array(column) for column in zip(*both, strict=True))
    return Lifts(
        class_counts=counts,
        class_totals=np.array([0, 0, 2000, 0, 0, 0, 0]),
        offsets=np.searchsorted(rows, np.arange(size + 1)),
        partners=partners.astype(np.int32),
        together=together.astype(np.int32),
        relations=relations.astype(np.uint8),
        least=1,
        level=0.0,
        slope=0.5,
        weight=5.0,
    )


MIXTURE = Mixture(
    decoupling=0.4,
    together=Together(gain=(0.9, 0.05), relevance=(0.6, 0.1), popularity=(0.1, -0.05)),
    baskets=SimilarBaskets(power=(0.8, 0.0), weight=(-1.0, 0.2)),
    habit=Habit(gain=(0.3, 0.0), popularity=(0.5, 0.0), first=(0.2, 0.0), weight=(-0.5, -0.2)),
    least_gain=1e-4,
)


def planted_baskets() -> BasketIndex:
    """Two baskets per group: camera, tripod and film; compact and film."""
    size = len(KINDS) * GROUPS
    baskets = [rows for c in range(0, size, len(KINDS)) for rows in ([c, c + 1, c + 3], [c + 2, c + 3])]
    holding = [[number for number, rows in enumerate(baskets) if item in rows] for item in range(size)]
    return BasketIndex(
        offsets=np.concatenate([[0], np.cumsum([len(rows) for rows in baskets])]),
        items=np.array([item for rows in baskets for item in rows], dtype=np.int32),
        starts=np.concatenate([[0], np.cumsum([len(numbers) for numbers in holding])]),
        postings=np.array([number for numbers in holding for number in numbers], dtype=np.int32),
        rarity=np.array([np.log((len(baskets) + 1) / len(n)) for n in holding], dtype=np.float32),
        log_first=np.full(size, -np.log(size), dtype=np.float32),
    )


def draft(knobs: Knobs | None = None, strength: float = 1.0) -> Draft:
    ids = item_ids()
    items = Items(
        ids=tuple(ids),
        names=tuple(item_id.replace("-", " ").capitalize() for item_id in ids),
        categories=tuple(CATEGORIES[row % 2] for row in range(len(ids))),
        prices=tuple(None if row == 7 else 10.0 + row for row in range(len(ids))),
        in_stock=tuple(row != 5 for row in range(len(ids))),  # tripod-1 is sold out
        counts=tuple(1000 - row for row in range(len(ids))),
    )
    return Draft(
        kernel=planted_kernel(strength),
        kind="scalable",
        items=items,
        relevance=planted_relevance(),
        lifts=planted_lifts(),
        knobs=knobs or Knobs(),
        hyperparameters={},
        metrics={"hit@10": 0.5},
        data_fingerprint="planted",
        seed=5,
        mixture=MIXTURE,
        baskets=planted_baskets(),
        basket_sizes=planted_sizes(),
        coherence=planted_coherence(),
    )


def publish(store: Path, *, knobs: Knobs | None = None, strength: float = 1.0, activate: bool = True) -> str:
    models = ModelStore(store)
    version = models.publish(draft(knobs, strength))
    if activate:
        models.activate(version)
    return version
