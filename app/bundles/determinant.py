"""Bundles with `objective=map`: the largest determinant of the kernel given the cart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from app.bundles.personal import personal_factors
from app.bundles.schemas import BundleRequest
from app.recommend.question import Question
from app.runtime import metrics
from ndpp import (
    Bundle,
    Tilt,
    map_exact,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
    sample_k,
)
from ndpp.bundles import Method, operations
from ndpp.bundles.mcmc import default_steps

# A step of the chain takes about 60 µs. Many more would be needed to mix in a large catalogue.
_MOST_SAMPLE_STEPS = 10_000


def method_of(request: BundleRequest) -> Method:
    """The requested method, or greedy."""
    return request.method or "greedy"


def map_operations(question: Question[BundleRequest], candidates: int) -> float:
    """Estimated multiply-adds of the search among this many items."""
    kernel, request, cart = question.snapshot.model.kernel, question.options, len(question.cart.rows)
    steps = _sample_steps(kernel.size, request.k) if request.method == "sample" else None
    size = candidates if request.method == "exact" else kernel.size
    one = operations(
        method_of(request), size, kernel.rank, min(request.k, max(candidates, 0)), cart, steps=steps
    )
    return one * (request.skip + request.alternatives)


def find_map(question: Question[BundleRequest]) -> tuple[list[Bundle], float]:
    """The bundles after the skipped ones, best first and disjoint, and the unit of their gains."""
    request, size = question.options, question.snapshot.model.kernel.size
    objective = _Objective.of(question)
    rng = np.random.default_rng(request.seed)
    bundles: list[Bundle] = []
    while len(bundles) < request.skip + request.alternatives:
        metrics.GAINS.inc(size * request.k)
        bundle = _choose(question, objective, rng)
        if not len(bundle.items):
            break
        bundles.append(bundle)
        objective = replace(objective, tilt=objective.tilt * Tilt.excluding(bundle.items))
    return bundles[request.skip :], objective.unit


@dataclass(frozen=True)
class _Objective:
    """The objective of a bundle: det with decoupling ω times factor_i · L_ii^(−γ) · r_i^β / unit per item."""

    decoupling: float
    tilt: Tilt
    unit: float

    @classmethod
    def of(cls, question: Question[BundleRequest]) -> _Objective:
        model, request, rows = question.snapshot.model, question.options, question.cart.rows
        learned, relevance, beta = model.knobs, model.stored.relevance, request.relevance()
        beta = learned.relevance if beta is None else beta
        tilt, unit = Tilt.popularity(model.kernel, learned.popularity + request.popularity()), 1.0
        if relevance is not None and rows:
            tilt, unit = tilt * Tilt.relevance(relevance, rows, beta), relevance.floor**beta
        tilt = tilt * Tilt(personal_factors(question, rows))
        return cls(request.decoupling(learned.decoupling), tilt, unit)


def _choose(question: Question[BundleRequest], objective: _Objective, rng: np.random.Generator) -> Bundle:
    kernel, k, rows = question.snapshot.model.kernel, question.options.k, question.cart.rows
    tilt, omega = objective.tilt, objective.decoupling
    match method_of(question.options):
        case "greedy":
            return map_greedy(kernel, k, cart=rows, tilt=tilt, decoupling=omega)
        case "local_search":
            return map_local_search(kernel, k, cart=rows, tilt=tilt, decoupling=omega)
        case "stochastic":
            return map_stochastic_greedy(kernel, k, rng=rng, cart=rows, tilt=tilt, decoupling=omega)
        case "mcmc":
            return map_mcmc(kernel, k, rng=rng, cart=rows, tilt=tilt, decoupling=omega)
        case "sample":
            steps = _sample_steps(kernel.size, k)
            return sample_k(kernel, k, rng=rng, steps=steps, cart=rows, tilt=tilt, decoupling=omega)
        case "exact":
            return map_exact(kernel, k, cart=rows, tilt=tilt, decoupling=omega)


def _sample_steps(size: int, k: int) -> int:
    return min(_MOST_SAMPLE_STEPS, default_steps(size, k))
