"""Bundles."""

from __future__ import annotations

from typing import Literal, TypedDict

from tripod_client.answers.carts import ConsideredCart
from tripod_client.answers.catalogue import RelatedPair
from tripod_client.answers.recommendations import Fallback


class GoesWith(TypedDict):
    """The given or chosen item that an item goes with best."""

    item_id: str
    name: str | None
    lift: float


class BundleItem(TypedDict):
    """An item chosen for a bundle."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None
    probability: float | None
    goes_with: GoesWith | None
    gain: float | None
    rules: list[str]
    image_url: str | None


class _Figures(TypedDict):
    """Counts behind a bundle."""

    baskets: int | None
    by_chance: float | None
    total_price: float | None


class BundleAnswer(_Figures):
    """A bundle, the counts behind it and the lifts of its pairs."""

    items: list[BundleItem]
    probability: float | None
    baskets_with_given: int | None
    log_det: float | None
    lifts: list[RelatedPair]


class BundlesAnswer(TypedDict):
    """Bundles, best first."""

    model_version: str
    cart: ConsideredCart
    objective: Literal["together", "map"]
    method: Literal["greedy", "local_search", "stochastic", "mcmc", "sample", "exact"] | None
    bundles: list[BundleAnswer]
    fallback: Fallback | None
    took_ms: float


class TopBundleItem(TypedDict):
    """An item of a bundle."""

    item_id: str
    name: str | None
    category: str | None
    price: float | None


class TopBundle(_Figures):
    """One of the best bundles of the catalogue."""

    rank: int
    items: list[TopBundleItem]


class TopBundlesAnswer(TypedDict):
    """A page of the best bundles of the catalogue; no two of them share an item."""

    model_version: str
    k: int
    bundles: list[TopBundle]
    next_cursor: str | None
