"""How a shopper's history changes which items are chosen for a bundle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.bundles.schemas import BundleRequest
from app.recommend.request import Question, factors_of
from ndpp.kernel import Vector

_LEAST, _MOST = 0.1, 100.0


def personal_factors(question: Question[BundleRequest], given: Sequence[int]) -> Vector:
    """The factors of filters and boosts, times P(item | given, history) / P(item | given) within bounds."""
    factors, history = factors_of(question), question.history
    if history is None:
        return factors
    model = question.snapshot.model.next_item
    usual = model.given(given).probabilities
    own = model.given(given, history).probabilities
    ratios = np.divide(own, usual, out=np.ones_like(usual), where=usual > 0)  # 0 / 0 for the given items
    personal: Vector = factors * np.clip(ratios, _LEAST, _MOST)
    return personal
