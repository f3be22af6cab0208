"""Recommendations and insights."""

from __future__ import annotations

from typing import Literal, TypedDict

from tripod_client.answers.carts import ConsideredCart
from tripod_client.answers.catalogue import RelatedPair


class Reason(TypedDict):
    """One source of a recommended item's probability. The shares of all sources add up to 1."""

    source: Literal["cart_item", "similar_baskets", "habit", "own"]
    item_id: str | None
    name: str | None
    share: float
    times_bought: int | None
    last_bought_days: int | None


class RecommendedItem(TypedDict):
    """One recommendation."""

    rank: int
    item_id: str
    name: str | None
    category: str | None
    price: float | None
    probability: float | None
    times_usual: float | None
    relation: Literal["complement", "substitute", "neutral"]
    because: list[Reason]
    cold: bool
    rules: list[str]
    image_url: str | None


class Fallback(TypedDict):
    """Why the model alone could not answer the request in full."""

    reason: Literal["only_unknown_items", "too_few_candidates"]
    message: str
    filled: int


class Recommendations(TypedDict):
    """Recommended items, best first."""

    model_version: str
    cart: ConsideredCart
    items: list[RecommendedItem]
    exact: bool
    probability_error: float
    fallback: Fallback | None
    took_ms: float


class BatchAnswer(TypedDict):
    """Recommendations for several carts, in the order of the request."""

    model_version: str
    results: list[Recommendations]
    took_ms: float


class Coherence(TypedDict):
    """How well the items of a cart go together."""

    percentile: float
    mean_lift: float


class BasketSize(TypedDict):
    """Predicted range of the number of different items in the finished basket."""

    low: int
    high: int
    probability: float


class InsightsAnswer(TypedDict):
    """Predicted size, coherence and related pairs of a cart."""

    model_version: str
    cart: ConsideredCart
    probability_complete: float | None
    expected_further_items: float | None
    basket_size: BasketSize | None
    coherence: Coherence | None
    complements: list[RelatedPair]
    substitutes: list[RelatedPair]
