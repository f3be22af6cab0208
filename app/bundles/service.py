"""Finds sets of items that belong together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from time import perf_counter

import numpy as np

from app import fallback, metrics
from app.baskets import KnownCart, known_cart
from app.bundles.schemas import BundleAnswer, BundleItem, BundleQuery, BundleRequest, BundlesAnswer
from app.carts.service import Carts
from app.compute import Compute
from app.fallback import fallback_of
from app.filters import Knobs, decoupling_of, popularity_of, wishes_of
from app.items.catalogue import Catalogue
from app.items.service import Catalogues
from app.relations import pairs_among
from ndpp import (
    Bundle,
    Kernel,
    Tilt,
    condition,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
    sample_k,
)
from ndpp.bundles.problem import Problem

# A swap of the chain takes some 50 µs, whatever the catalogue's size. M·k·log(10k) of them, which a draw from
# exactly the model's distribution would want, are too many to wait for in a large catalogue.
_SAMPLE_STEPS = 4_000

AnyRequest = BundleQuery | BundleRequest


class Bundles:
    """Answers which items belong together."""

    def __init__(self, carts: Carts, catalogues: Catalogues, compute: Compute, window: int) -> None:
        self._carts = carts
        self._catalogues = catalogues
        self._compute = compute
        self._window = window

    async def find(self, request: AnyRequest) -> BundlesAnswer:
        """Bundles from nothing, around given items, or completing a cart."""
        start = perf_counter()
        catalogue = self._catalogues.current()
        item_ids = request.items
        if request.cart_id is not None:
            item_ids = (await self._carts.get(request.cart_id)).item_ids
        cart = known_cart(catalogue, request.cart_id, item_ids, self._window)
        operations = request.alternatives * request.k * catalogue.model.operations(len(cart.rows) + request.k)
        answer = await self._compute.run(operations, lambda: _find(catalogue, cart, request))
        fallback.count(answer.fallback)
        answer.took_ms = round((perf_counter() - start) * 1000, 3)
        return answer


def _find(catalogue: Catalogue, cart: KnownCart, request: AnyRequest) -> BundlesAnswer:
    boosts, knobs = (request.boosts, request.knobs) if isinstance(request, BundleRequest) else (None, None)
    form = _Form.of(catalogue, cart, request, knobs)
    form = replace(form, tilt=form.tilt * wishes_of(catalogue, request, boosts, cart).tilt)
    rng = np.random.default_rng(request.seed)
    bundles: list[Bundle] = []
    while len(bundles) < request.alternatives:
        metrics.GAINS.inc(catalogue.model.kernel.size * request.k)
        bundle = _choose(catalogue.model.kernel, cart, request, form, rng)
        if not len(bundle.items):
            break
        bundles.append(bundle)
        form = replace(form, tilt=form.tilt * Tilt.excluding(bundle.items))
    return BundlesAnswer(
        model_version=catalogue.model.version,
        cart=cart.considered(catalogue, condition(catalogue.model.kernel, cart.rows)),
        method=request.method,
        bundles=[_answer(catalogue, cart, bundle, form.unit) for bundle in bundles],
        fallback=fallback_of(cart, _shortage(bundles, request)),
        took_ms=0.0,
    )


@dataclass(frozen=True)
class _Form:
    """How the determinant is served: ω, and L_ii^(−γ) r_i^β as a tilt but for a factor, its unit."""

    decoupling: float
    tilt: Tilt
    unit: float

    @classmethod
    def of(cls, catalogue: Catalogue, cart: KnownCart, request: AnyRequest, knobs: Knobs | None) -> _Form:
        model, learned = catalogue.model, catalogue.model.knobs
        gamma = learned.popularity + popularity_of(request, knobs)
        beta = learned.relevance if knobs is None or knobs.relevance is None else knobs.relevance
        tilt, unit, relevance = Tilt.popularity(model.kernel, gamma), 1.0, model.stored.relevance
        if relevance is not None and cart.rows:
            tilt, unit = tilt * Tilt.relevance(relevance, cart.rows, beta), relevance.floor**beta
        return cls(decoupling_of(learned.decoupling, request, knobs), tilt, unit)


def _choose(
    kernel: Kernel, cart: KnownCart, request: AnyRequest, form: _Form, rng: np.random.Generator
) -> Bundle:
    k, rows, tilt, omega = request.k, cart.rows, form.tilt, form.decoupling
    match request.method:
        case "greedy":
            return map_greedy(kernel, k, cart=rows, tilt=tilt, decoupling=omega)
        case "local_search":
            return map_local_search(kernel, k, cart=rows, tilt=tilt, decoupling=omega)
        case "stochastic":
            return map_stochastic_greedy(kernel, k, rng=rng, cart=rows, tilt=tilt, decoupling=omega)
        case "mcmc":
            return map_mcmc(kernel, k, rng=rng, cart=rows, tilt=tilt, decoupling=omega)
        case "sample":
            drawn = sample_k(
                kernel,
                k,
                rng=rng,
                steps=min(_SAMPLE_STEPS, kernel.size * k),
                cart=rows,
                tilt=tilt,
                decoupling=omega,
            )
            return Problem.of(kernel, k, rows, tilt, omega).bundle(drawn.tolist())


def _answer(catalogue: Catalogue, cart: KnownCart, bundle: Bundle, unit: float) -> BundleAnswer:
    rows = bundle.items.tolist()
    prices = [catalogue.price(row) for row in rows]
    known = [price for price in prices if price is not None]
    return BundleAnswer(
        items=[
            BundleItem(
                item_id=catalogue.item_id(row),
                name=catalogue.name(row),
                category=catalogue.category(row),
                price=price,
                gain=unit * gain,
            )
            for row, price, gain in zip(rows, prices, bundle.gains.tolist(), strict=True)
        ],
        log_det=bundle.log_det + len(rows) * log(unit),
        total_price=round(sum(known), 6) if len(known) == len(prices) else None,
        lifts=pairs_among(catalogue, [*cart.rows, *rows]),
    )


def _shortage(bundles: list[Bundle], request: AnyRequest) -> str | None:
    if not bundles:
        return "No item fits the cart and the filters."
    if len(bundles) < request.alternatives:
        return f"Too few items fit: {len(bundles)} instead of {request.alternatives} bundles."
    smallest = min(len(bundle.items) for bundle in bundles)
    if smallest < request.k:
        return f"Too few items fit: a bundle of {smallest} instead of {request.k} items."
    return None
