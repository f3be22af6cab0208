"""Insights into a cart: its expected size, its coherence, and how its items relate."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log

from app.catalogue.relations import RelatedPair, most_certain, pairs_among
from app.catalogue.snapshot import Snapshot
from app.recommend.question import Question, Questions
from app.recommend.request import Basket
from app.recommend.schemas import BasketSize, Coherence, InsightsAnswer
from app.runtime.compute import Compute

_PAIRS = 3


class Insights:
    """Describes carts."""

    def __init__(self, questions: Questions, compute: Compute) -> None:
        self._questions = questions
        self._compute = compute

    async def of(self, basket: Basket) -> InsightsAnswer:
        """Insights into a stored cart, a list of items, or an empty cart."""
        question = await self._questions.about(basket, basket)
        operations = float(question.snapshot.model.kernel.rank) * len(question.cart.rows) ** 2
        return await self._compute.run(operations, lambda: _insights(question))


def _insights(question: Question[Basket]) -> InsightsAnswer:
    snapshot, cart = question.snapshot, question.cart
    pairs = pairs_among(snapshot, cart.rows)
    sizes = snapshot.model.stored.basket_sizes
    forecast = None if sizes is None else sizes.forecast([*cart.earlier, *cart.rows], len(cart.unknown))
    size = None if forecast is None else BasketSize.model_validate(forecast.size, from_attributes=True)
    return InsightsAnswer(
        model_version=snapshot.model.version,
        cart=cart.considered(snapshot),
        probability_complete=None if forecast is None else forecast.complete,
        expected_further_items=None if forecast is None else forecast.further,
        basket_size=size,
        coherence=_coherence(snapshot, len(cart.rows), pairs),
        complements=most_certain(pairs, "complement")[:_PAIRS],
        substitutes=most_certain(pairs, "substitute")[:_PAIRS],
    )


def _coherence(snapshot: Snapshot, size: int, pairs: Sequence[RelatedPair]) -> Coherence | None:
    scale = snapshot.model.stored.coherence
    if scale is None or not pairs:
        return None
    mean = fsum(log(pair.lift) for pair in pairs) / len(pairs)
    percentile = scale.percentile(mean, size)
    return None if percentile is None else Coherence(percentile=percentile, mean_lift=exp(mean))
