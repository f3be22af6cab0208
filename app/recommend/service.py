"""Recommendations for one cart or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from app import metrics
from app.baskets import Basket, KnownCart, known_cart
from app.carts.service import Carts
from app.compute import Compute
from app.filters import Boosts, Wishes, decoupling_of, wishes_of
from app.items.catalogue import Catalogue
from app.items.schemas import Relation
from app.items.service import Catalogues
from app.recommend.ranking import Scored, best_items
from app.recommend.schemas import (
    BatchAnswer,
    BatchRequest,
    Fallback,
    Options,
    Reason,
    Recommendations,
    RecommendedItem,
    RecommendQuery,
    RecommendRequest,
)
from ndpp import Conditional, condition, condition_many
from ndpp.kernel import FloatArray, Indices

_NOTABLE = 0.05  # a change of the gain below this share is neither complement nor substitute
_NEGLIGIBLE = 0.001
_REASONS = 3
_CARTS_AT_ONCE = 32


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
        question = (*item_ids, request.model_dump_json(exclude={"cart_id", "items"}))
        answer: Recommendations | None = catalogue.answers.get(question)
        if answer is None:
            answer = await self._compute_answer(catalogue, item_ids, request)
            catalogue.answers.put(question, answer)
        else:
            metrics.REUSED.inc()
        _count_fallback(answer)
        took = round((perf_counter() - start) * 1000, 3)
        return replace(answer, cart=replace(answer.cart, cart_id=request.cart_id), took_ms=took)

    async def _compute_answer(
        self, catalogue: Catalogue, item_ids: list[str], request: RecommendQuery | RecommendRequest
    ) -> Recommendations:
        cart = known_cart(catalogue, None, item_ids, self._window)
        boosts = request.boosts if isinstance(request, RecommendRequest) else None
        return await self._compute.run(
            catalogue.model.operations(len(cart.rows)), lambda: _recommend(catalogue, cart, request, boosts)
        )

    async def recommend_batch(self, request: BatchRequest) -> BatchAnswer:
        """Recommendations for many carts, with the batched engine."""
        start = perf_counter()
        catalogue = self._catalogues.current()
        carts = await self._known_carts(catalogue, request.carts)
        operations = sum(catalogue.model.operations(len(cart.rows)) for cart in carts)
        results = await self._compute.run(operations, lambda: _recommend_batch(catalogue, carts, request))
        took = round((perf_counter() - start) * 1000, 3)
        for result in results:
            _count_fallback(result)
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


def _recommend(
    catalogue: Catalogue, cart: KnownCart, options: Options, boosts: Boosts | None
) -> Recommendations:
    wishes = wishes_of(catalogue, options, boosts, cart)
    state = condition(catalogue.model.kernel, cart.rows, decoupling=decoupling_of(catalogue, options))
    return _answer(catalogue, cart, options, state, wishes)


def _recommend_batch(
    catalogue: Catalogue, carts: list[KnownCart], request: BatchRequest
) -> list[Recommendations]:
    """Some carts at a time share one pass over F; all at once would need too much memory for their gains."""
    kernel, decoupling = catalogue.model.kernel, decoupling_of(catalogue, request)
    answers = []
    for start in range(0, len(carts), _CARTS_AT_ONCE):
        part = carts[start : start + _CARTS_AT_ONCE]
        batch = condition_many(kernel, [cart.rows for cart in part], decoupling=decoupling)
        for cart, state, gains in zip(part, batch.states, batch.gains(), strict=True):
            wishes = wishes_of(catalogue, request, request.boosts, cart)
            answers.append(_answer(catalogue, cart, request, state, wishes, gains=gains))
    return answers


def _answer(
    catalogue: Catalogue,
    cart: KnownCart,
    options: Options,
    state: Conditional,
    wishes: Wishes,
    *,
    gains: FloatArray | None = None,
) -> Recommendations:
    metrics.GAINS.inc(catalogue.model.kernel.size)
    best = best_items(state, 0 if cart.only_unknown else options.k, wishes, gains)
    fallback = None
    if len(best.rows) < options.k:
        extra = _popular(catalogue, cart, best.rows, options) if options.fill else np.empty(0, dtype=np.intp)
        fallback = _fallback(cart, len(best.rows), len(extra), options.k)
        best = _with_popular(best, extra, state, wishes)
    return Recommendations(
        model_version=catalogue.model.version,
        cart=cart.considered(catalogue, state),
        items=_items(catalogue, state, best, explain=options.explain),
        fallback=fallback,
        took_ms=0.0,
    )


def _with_popular(best: Scored, extra: Indices, state: Conditional, wishes: Wishes) -> Scored:
    """Popular items keep the score and the probability that they have, if only 0."""
    gains = state.gains(extra)
    return Scored(
        np.concatenate([best.rows, extra]),
        np.concatenate([best.scores, wishes.tilt.at(extra) * gains]),
        np.concatenate([best.gains, gains]),
        best.total,
    )


def _items(catalogue: Catalogue, state: Conditional, best: Scored, *, explain: bool) -> list[RecommendedItem]:
    # Rounding may lift a share a hair above one.
    shares = np.minimum(best.scores / best.total, 1.0) if best.total > 0 else np.zeros(len(best.rows))
    alone = catalogue.model.kernel.weights[best.rows]
    numbers = (array.tolist() for array in (best.rows, best.scores, shares, best.gains, alone))
    return [
        RecommendedItem(
            rank=rank,
            item_id=catalogue.item_id(row),
            name=catalogue.name(row),
            category=catalogue.category(row),
            price=catalogue.price(row),
            score=score,
            probability=share,
            relation=_relation(gain, weight) if len(state.used) else "neutral",
            because=_reasons(catalogue, state, row) if explain else [],
        )
        for rank, (row, score, share, gain, weight) in enumerate(zip(*numbers, strict=True), 1)
    ]


def _relation(gain: float, alone: float) -> Relation:
    """Whether the cart as a whole raises or lowers an item's gain."""
    if abs(gain - alone) <= _NOTABLE * alone:
        return "neutral"
    return "complement" if gain > alone else "substitute"


def _reasons(catalogue: Catalogue, state: Conditional, row: int) -> list[Reason]:
    """The cart items with the strongest effect on a recommended item, either way."""
    alone = float(state.kernel.weights[row])
    if not len(state.cart) or alone <= 0:
        return []
    effects = state.contributions(row) / alone
    strongest = np.argsort(-np.abs(effects), kind="stable")[:_REASONS]
    return [
        Reason(item_id=catalogue.item_id(other), name=catalogue.name(other), effect=effect)
        for other, effect in zip(state.cart[strongest].tolist(), effects[strongest].tolist(), strict=True)
        if abs(effect) >= _NEGLIGIBLE
    ]


def _popular(catalogue: Catalogue, cart: KnownCart, chosen: Indices, options: Options) -> Indices:
    """The most popular items that may appear. Category and price are set aside: they left too few."""
    allowed = np.ones(catalogue.model.kernel.size, dtype=np.bool_)
    if options.in_stock:
        allowed[catalogue.out_of_stock] = False
    allowed[catalogue.rows_of(options.exclude)] = False
    allowed[catalogue.boosted[catalogue.boost_factors == 0]] = False
    allowed[cart.rows + cart.earlier] = False
    allowed[chosen] = False
    return np.flatnonzero(allowed)[: options.k - len(chosen)]  # rows are in the order of popularity


def _count_fallback(answer: Recommendations) -> None:
    if answer.fallback is not None:
        metrics.FALLBACKS.labels(answer.fallback.reason).inc()


def _fallback(cart: KnownCart, found: int, filled: int, k: int) -> Fallback:
    if cart.only_unknown:
        message = "The model knows no item of the cart, so it has nothing to go by."
        return Fallback(reason="only_unknown_items", message=message, filled=filled)
    message = f"Only {found} items fit the cart and the filters, {k} were asked for."
    return Fallback(reason="too_few_candidates", message=message, filled=filled)
