"""Recommendations for one cart or many."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from app import metrics
from app.baskets import Basket, KnownCart, known_cart
from app.carts.service import Carts
from app.compute import Compute
from app.filters import Boosts, decoupling_of, tilt_for
from app.items.catalogue import Catalogue
from app.items.schemas import Relation
from app.items.service import Catalogues
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
from ndpp import Conditional, Ranking, Tilt, condition, condition_many, top_k
from ndpp.kernel import Indices, Vector

_NOTABLE = 0.05  # a change of the gain below this share is neither complement nor substitute
_NEGLIGIBLE = 0.001
_REASONS = 3


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
        cart = known_cart(catalogue, request.cart_id, item_ids, self._window)
        boosts = request.boosts if isinstance(request, RecommendRequest) else None
        answer = await self._compute.run(
            catalogue.model.operations(len(cart.rows)), lambda: _recommend(catalogue, cart, request, boosts)
        )
        answer.took_ms = round((perf_counter() - start) * 1000, 3)
        return answer

    async def recommend_batch(self, request: BatchRequest) -> BatchAnswer:
        """Recommendations for many carts, with the batched engine."""
        start = perf_counter()
        catalogue = self._catalogues.current()
        carts = await self._known_carts(catalogue, request.carts)
        operations = sum(catalogue.model.operations(len(cart.rows)) for cart in carts)
        results = await self._compute.run(operations, lambda: _recommend_batch(catalogue, carts, request))
        took = round((perf_counter() - start) * 1000, 3)
        for result in results:
            result.took_ms = took
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
    tilt = tilt_for(catalogue, options, boosts, cart)
    state = condition(catalogue.model.kernel, cart.rows, decoupling=decoupling_of(catalogue, options))
    ranking = top_k(state, options.k, tilt)
    return _answer(catalogue, cart, options, state=state, ranking=ranking, tilt=tilt)


def _recommend_batch(
    catalogue: Catalogue, carts: list[KnownCart], request: BatchRequest
) -> list[Recommendations]:
    tilts = [tilt_for(catalogue, request, request.boosts, cart) for cart in carts]
    batch = condition_many(
        catalogue.model.kernel, [cart.rows for cart in carts], decoupling=decoupling_of(catalogue, request)
    )
    rankings = batch.top_k(request.k, tilts)
    return [
        _answer(catalogue, cart, request, state=state, ranking=ranking, tilt=tilt)
        for cart, state, ranking, tilt in zip(carts, batch.states, rankings, tilts, strict=True)
    ]


def _answer(
    catalogue: Catalogue,
    cart: KnownCart,
    options: Options,
    *,
    state: Conditional,
    ranking: Ranking,
    tilt: Tilt,
) -> Recommendations:
    metrics.GAINS.inc(catalogue.model.kernel.size)
    possible = ranking.scores > 0
    if cart.only_unknown:
        possible = np.zeros_like(possible)
    rows, scores = ranking.rows[possible], ranking.scores[possible]
    fallback = None
    if len(rows) < options.k:
        extra = _popular(catalogue, cart, rows, options) if options.fill else np.empty(0, dtype=np.intp)
        fallback = _fallback(cart, len(rows), len(extra), options.k)
        rows = np.concatenate([rows, extra])
        scores = np.concatenate([scores, tilt.at(extra) * state.gains(extra)])
    return Recommendations(
        model_version=catalogue.model.version,
        cart=cart.considered(catalogue, state),
        items=_items(catalogue, state, rows, scores, tilt, explain=options.explain),
        fallback=fallback,
        took_ms=0.0,
    )


def _items(
    catalogue: Catalogue, state: Conditional, rows: Indices, scores: Vector, tilt: Tilt, *, explain: bool
) -> list[RecommendedItem]:
    if not len(rows):
        return []
    total = state.total(tilt)
    # Rounding may lift a share a hair above one.
    shares = np.minimum(scores / total, 1.0) if total > 0 else np.zeros(len(rows))
    relations = _relations(state, rows)
    return [
        RecommendedItem(
            rank=rank,
            item_id=catalogue.item_id(row),
            name=catalogue.name(row),
            category=catalogue.category(row),
            price=catalogue.price(row),
            score=score,
            probability=share,
            relation=relation,
            because=_reasons(catalogue, state, row) if explain else [],
        )
        for rank, (row, score, share, relation) in enumerate(
            zip(rows.tolist(), scores.tolist(), shares.tolist(), relations, strict=True), 1
        )
    ]


def _relations(state: Conditional, rows: Indices) -> list[Relation]:
    """Whether the cart as a whole raises or lowers each item's gain."""
    if not len(state.used):
        return ["neutral"] * len(rows)
    alone = state.kernel.weights[rows]
    change = state.gains(rows) - alone
    return [
        "complement" if up else "substitute" if down else "neutral"
        for up, down in zip(change > _NOTABLE * alone, change < -_NOTABLE * alone, strict=True)
    ]


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


def _fallback(cart: KnownCart, found: int, filled: int, k: int) -> Fallback:
    if cart.only_unknown:
        metrics.FALLBACKS.labels("only_unknown_items").inc()
        message = "The model knows no item of the cart, so it has nothing to go by."
        return Fallback(reason="only_unknown_items", message=message, filled=filled)
    metrics.FALLBACKS.labels("too_few_candidates").inc()
    message = f"Only {found} items fit the cart and the filters, {k} were asked for."
    return Fallback(reason="too_few_candidates", message=message, filled=filled)
