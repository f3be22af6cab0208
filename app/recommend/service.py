"""Recommendations for one cart or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from app import fallback, metrics
from app.baskets import Basket, KnownCart, known_cart
from app.carts.service import Carts
from app.compute import Compute
from app.items.catalogue import Catalogue
from app.items.service import Catalogues
from app.recommend.answering import Question, answer_many, answer_one
from app.recommend.schemas import (
    BatchAnswer,
    BatchRequest,
    Recommendations,
    RecommendQuery,
    RecommendRequest,
)


class Recommender:
    """Answers what a cart should get next."""

    def __init__(self, carts: Carts, catalogues: Catalogues, compute: Compute, window: int) -> None:
        self._carts = carts
        self._catalogues = catalogues
        self._compute = compute
        self._window = window

    async def recommend(self, request: RecommendQuery | RecommendRequest) -> Recommendations:
        """Recommendations for one cart, a list of items, or an empty cart."""
        start = perf_counter()
        catalogue = self._catalogues.current()
        item_ids = request.items
        if request.cart_id is not None:
            item_ids = (await self._carts.get(request.cart_id)).item_ids
        asked = (*item_ids, request.model_dump_json(exclude={"cart_id", "items"}))
        answer: Recommendations | None = catalogue.answers.get(asked)
        if answer is None:
            cart = known_cart(catalogue, None, item_ids, self._window)
            given = (request.boosts, request.knobs) if isinstance(request, RecommendRequest) else ()
            question = Question(catalogue, cart, request, *given)
            answer = await self._compute.run(question.operations, lambda: answer_one(question))
            catalogue.answers.put(asked, answer)
        else:
            metrics.REUSED.inc()
        fallback.count(answer.fallback)
        took = round((perf_counter() - start) * 1000, 3)
        return replace(answer, cart=replace(answer.cart, cart_id=request.cart_id), took_ms=took)

    async def recommend_batch(self, request: BatchRequest) -> BatchAnswer:
        """Recommendations for many carts, with the batched engine."""
        start = perf_counter()
        catalogue = self._catalogues.current()
        carts = await self._known_carts(catalogue, request.carts)
        questions = [Question(catalogue, cart, request, request.boosts, request.knobs) for cart in carts]
        operations = sum(catalogue.model.operations(len(cart.rows)) for cart in carts)
        results = await self._compute.run(operations, lambda: answer_many(questions))
        took = round((perf_counter() - start) * 1000, 3)
        for result in results:
            fallback.count(result.fallback)
        results = [replace(result, took_ms=took) for result in results]
        return BatchAnswer(model_version=catalogue.model.version, results=results, took_ms=took)

    async def _known_carts(self, catalogue: Catalogue, baskets: Sequence[Basket]) -> list[KnownCart]:
        named = list(dict.fromkeys(basket.cart_id for basket in baskets if basket.cart_id is not None))
        stored = dict(zip(named, await self._carts.get_many(named), strict=True))
        return [
            known_cart(
                catalogue,
                basket.cart_id,
                basket.items if basket.cart_id is None else stored[basket.cart_id].item_ids,
                self._window,
            )
            for basket in baskets
        ]
