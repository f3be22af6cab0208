"""What can be said about a cart: how large it will get, how coherent it is, how its items relate."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log

from app.baskets import Basket, KnownCart, known_cart
from app.carts.service import Carts
from app.compute import Compute
from app.items.catalogue import Catalogue
from app.items.service import Catalogues
from app.recommend.schemas import BasketSize, Coherence, InsightsAnswer
from app.relations import RelatedPair, pairs_among, surest

_PAIRS = 3


class Insights:
    """Looks into carts."""

    def __init__(self, carts: Carts, catalogues: Catalogues, compute: Compute, window: int) -> None:
        self._carts = carts
        self._catalogues = catalogues
        self._compute = compute
        self._window = window

    async def of(self, basket: Basket) -> InsightsAnswer:
        """Insights into a stored cart, a list of items, or an empty cart."""
        catalogue = self._catalogues.current()
        item_ids = basket.items
        if basket.cart_id is not None:
            item_ids = (await self._carts.get(basket.cart_id)).item_ids
        cart = known_cart(catalogue, basket.cart_id, item_ids, self._window)
        operations = float(catalogue.model.kernel.rank) * len(cart.rows) ** 2
        return await self._compute.run(operations, lambda: _look(catalogue, cart))


def _look(catalogue: Catalogue, cart: KnownCart) -> InsightsAnswer:
    pairs = pairs_among(catalogue, cart.rows)
    sizes = catalogue.model.stored.basket_sizes
    forecast = None if sizes is None else sizes.forecast([*cart.earlier, *cart.rows], len(cart.unknown))
    return InsightsAnswer(
        model_version=catalogue.model.version,
        cart=cart.considered(catalogue),
        probability_complete=None if forecast is None else forecast.complete,
        expected_further_items=None if forecast is None else forecast.further,
        basket_size=None
        if forecast is None
        else BasketSize(
            low=forecast.size.low, high=forecast.size.high, probability=forecast.size.probability
        ),
        coherence=_coherence(catalogue, len(cart.rows), pairs),
        complements=surest(pairs, "complement")[:_PAIRS],
        substitutes=surest(pairs, "substitute")[:_PAIRS],
    )


def _coherence(catalogue: Catalogue, size: int, pairs: Sequence[RelatedPair]) -> Coherence | None:
    scale = catalogue.model.stored.coherence
    if scale is None or not pairs:
        return None
    mean = fsum(log(pair.lift) for pair in pairs) / len(pairs)
    percentile = scale.percentile(mean, size)
    return None if percentile is None else Coherence(percentile=percentile, mean_lift=exp(mean))
