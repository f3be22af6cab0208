"""How a shopper's history changes which items are chosen for a bundle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.bundles.schemas import BundleRequest
from app.recommend.question import Question, factors_of
from ndpp.kernel import Vector

_LEAST, _MOST = 0.1, 100.0


def known_factors(question: Question[BundleRequest]) -> Vector:
    """The factors of filters, boosts and rules on the items that the model knows: bundles hold no others."""
    found = factors_of(question)
    if question.effects.factors is not None:
        found = found * question.effects.factors
    return found[: question.snapshot.model.kernel.size]


def personal_factors(question: Question[BundleRequest], given: Sequence[int]) -> Vector:
    """The factors of filters and boosts, times P(item | given, history) / P(item | given) within bounds."""
    factors, history = known_factors(question), question.history
    if history is None:
        return factors
    model = question.snapshot.model.next_item
    usual = model.given(given).probabilities
    own = model.given(given, history).probabilities
    ratios = np.divide(own, usual, out=np.ones_like(usual), where=usual > 0)  # 0 / 0 for the given items
    personal: Vector = factors * np.clip(ratios, _LEAST, _MOST)
    return personal
