"""What the model says about a cart as it is: how complete, how coherent, who attracts or replaces whom."""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from app.baskets import KnownCart, known_cart
from app.carts.service import Carts
from app.compute import Compute
from app.items.catalogue import Catalogue
from app.items.service import Catalogues
from app.models.loaded import LoadedModel
from app.recommend.schemas import Coherence, InsightsAnswer
from app.relations import pairs_among, surest
from ndpp import condition
from ndpp.kernel import Kernel, Vector

_REFERENCE_CARTS = 200
_PAIRS = 3


class Insights:
    """Looks into carts. Reference carts are drawn once for each model and size, and kept."""

    def __init__(self, carts: Carts, catalogues: Catalogues, compute: Compute, window: int) -> None:
        self._carts = carts
        self._catalogues = catalogues
        self._compute = compute
        self._window = window
        self._references: WeakKeyDictionary[LoadedModel, dict[int, Vector]] = WeakKeyDictionary()
        self._filling = Lock()

    async def of_cart(self, cart_id: str) -> InsightsAnswer:
        """Insights into a stored cart."""
        catalogue = self._catalogues.current()
        item_ids = (await self._carts.get(cart_id)).item_ids
        cart = known_cart(catalogue, cart_id, item_ids, self._window)
        # A new size draws its reference carts first, whatever the catalogue's size.
        operations = _REFERENCE_CARTS * catalogue.model.operations(len(cart.rows))
        return await self._compute.run(operations, lambda: self._look(catalogue, cart))

    def _look(self, catalogue: Catalogue, cart: KnownCart) -> InsightsAnswer:
        state = condition(catalogue.model.kernel, cart.rows)
        pairs = pairs_among(catalogue, state.used.tolist())
        return InsightsAnswer(
            model_version=catalogue.model.version,
            cart=cart.considered(catalogue, state),
            probability_complete=min(state.completeness, 1.0),
            expected_further_items=state.expected_further,
            coherence=self._coherence(catalogue.model, state.log_probability, len(state.used)),
            complements=surest(pairs, "complement")[:_PAIRS],
            substitutes=surest(pairs, "substitute")[:_PAIRS],
        )

    def _coherence(self, model: LoadedModel, log_likelihood: float, size: int) -> Coherence | None:
        if size == 0:
            return None
        with self._filling:
            references = self._references.setdefault(model, {})
            if size not in references:
                references[size] = _reference_likelihoods(model.kernel, size)
            reference = references[size]
        return Coherence(
            log_likelihood=log_likelihood,
            percentile=100 * float(np.mean(reference < log_likelihood)),
            reference_mean=float(reference.mean()),
            reference_size=len(reference),
        )


def _reference_likelihoods(kernel: Kernel, size: int) -> Vector:
    """Log-likelihoods of carts of `size` different items, drawn independently by their weight L_ii."""
    rng = np.random.default_rng(size)
    shares = np.cumsum(kernel.weights)
    values = []
    for _ in range(_REFERENCE_CARTS):
        draws = np.searchsorted(shares, shares[-1] * rng.random(20 * size))
        # Repeated draws are dropped; should so many be equal that too few are left, popular items follow.
        rows = list(dict.fromkeys([*draws.tolist(), *range(size)]))[:size]
        values.append(condition(kernel, rows).log_probability)
    return np.array(values)
