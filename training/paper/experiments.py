"""The paper's experiments on one data set: fit its kernels, measure them, time MAP inference."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ndpp import Bundle, Kernel, map_greedy, map_local_search, map_mcmc, map_stochastic_greedy
from training.baselines import Popularity
from training.evaluation.assess import questions_from
from training.evaluation.queries import Protocol
from training.evaluation.scoring import Metrics, evaluate_models
from training.evaluation.tripod import TripodModel
from training.fitting import FitResult, fit
from training.options import FitOptions, KernelKind
from training.paper.datasets import DATASETS, DataSet
from training.recommender import Recommender
from training.splitting import Split, split

BUNDLE = 10  # the paper's k
_HOT, _COOL, _SHORTER = 0.03, 0.003, 5
OUR_OWN = "tripod"  # our defaults, beside the paper's three kernels


@dataclass(frozen=True)
class Effort:
    """How much to spend: the paper learns 10 kernels and runs 100 random trials on each."""

    steps: int = 1000
    kernels: int = 10
    trials: int = 100


@dataclass(frozen=True)
class Spread:
    """A mean with half its 95 % interval."""

    value: float
    half_interval: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """From repeated measurements."""
        half = 1.96 * float(np.std(values, ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), float(half))


@dataclass(frozen=True)
class Predictive:
    """A model's part of Table 2: under the published protocol, and under the paper's text."""

    published: Metrics
    paper: Metrics
    seconds: float  # of the fit


@dataclass(frozen=True)
class MapQuality:
    """An algorithm's part of Tables 3 and 4."""

    error: Spread
    milliseconds: float  # the median run


def fit_kernel(data: DataSet, kind: KernelKind, parts: Split, steps: int, seed: int = 0) -> FitResult:
    """Fit a kernel of the paper's form and size, without a diagonal, by the paper's likelihood.

    Small catalogues learn best from a short, hot schedule, which overfits least; large ones from a long, cool
    one. Both are tried and the validation baskets choose, as they choose the hyperparameters in the paper.
    """
    setting = data.settings[kind]
    options = FitOptions(
        kernel=kind,
        rank=setting.rank,
        skew_rank=setting.skew_rank,
        diagonal=False,
        alpha=setting.alpha,
        beta=0.0,
        batch_size=setting.batch_size,
        learning_rate=_COOL,
        steps=steps,
        patience=steps,  # to the end: the likelihood may fall until the learning rate does
        seed=seed,
    )
    hot = replace(options, learning_rate=_HOT, steps=max(1, steps // _SHORTER))
    tried = [fit(parts.train, parts.validation, schedule, may_be_empty=True) for schedule in (hot, options)]
    return max(tried, key=lambda result: result.validation)


def predictive_quality(results: dict[str, FitResult], parts: Split, seed: int) -> dict[str, Predictive]:
    """Table 2, with plain popularity beside it."""
    models: dict[str, Recommender] = {
        name: TripodModel.of_kernel(result.kernel) for name, result in results.items()
    }
    models["popularity"] = Popularity().fit(parts.train)
    asked = {p: questions_from(parts.test, parts.test.catalogue, p, seed) for p in Protocol}

    def metrics(model: Recommender, protocol: Protocol) -> Metrics:
        questions = asked[protocol]
        items = len(parts.test.catalogue)
        evaluation = evaluate_models(
            [model], questions.queries, questions.sets, items, protocol=protocol, seed=seed
        )
        return evaluation.models[model.name]

    return {
        name: Predictive(
            published=metrics(model, Protocol.PUBLISHED),
            paper=metrics(model, Protocol.PAPER),
            seconds=results[name].seconds if name in results else 0.0,
        )
        for name, model in models.items()
    }


_ALGORITHMS: dict[str, Callable[[Kernel, np.random.Generator], Bundle]] = {
    "local_search": lambda kernel, _: map_local_search(kernel, BUNDLE),
    "greedy": lambda kernel, _: map_greedy(kernel, BUNDLE),
    "stochastic": lambda kernel, rng: map_stochastic_greedy(kernel, BUNDLE, rng=rng),
    "mcmc": lambda kernel, rng: map_mcmc(kernel, BUNDLE, rng=rng),
}
_RANDOM = ("stochastic", "mcmc")


def map_quality(kernels: list[Kernel], trials: int, seed: int) -> dict[str, MapQuality]:
    """Tables 3 and 4: errors relative to greedy local search, and wall-clock times, for k = 10."""
    rng = np.random.default_rng(seed)
    errors: dict[str, list[float]] = {name: [] for name in _ALGORITHMS}
    times: dict[str, list[float]] = {name: [] for name in _ALGORITHMS}
    for kernel in kernels:
        best = map_local_search(kernel, BUNDLE).log_det
        for name, algorithm in _ALGORITHMS.items():
            for _ in range(trials if name in _RANDOM else 1):
                start = time.perf_counter()
                bundle = algorithm(kernel, rng)
                times[name].append(time.perf_counter() - start)
                errors[name].append(abs((best - bundle.log_det) / best))
    return {
        name: MapQuality(Spread.of(errors[name]), 1000 * float(np.median(times[name])))
        for name in _ALGORITHMS
    }


def seconds_to_converge(result: FitResult, tolerance: float = 1e-3) -> float:
    """When the validation log-likelihood was first within a thousandth of its best."""
    reached = next(step for step, value in result.curve if value >= result.validation * (1 + tolerance))
    return result.seconds * reached / max(result.steps_done, 1)


@dataclass(frozen=True)
class PaperResults:
    """What was measured on one data set."""

    name: str
    baskets: int
    items: int
    predictive: dict[str, Predictive]  # Table 2
    bundles: dict[str, MapQuality]  # Tables 3 and 4
    speed_up: float | None  # Figure 1: seconds of the NDPP 2019 over those of the scalable NDPP


def run(name: str, path: Path, effort: Effort, seed: int, progress: Callable[[str], None]) -> PaperResults:
    """All experiments on one data set."""
    data = DATASETS[name]
    progress(f"{data.title}: reading")
    baskets = data.read(path)
    parts = split(baskets, holdout=min(2000, len(baskets) // 5), seed=seed)
    fits: dict[str, FitResult] = {}
    for kind in data.settings:
        progress(f"{data.title}: fitting the {kind} kernel")
        fits[kind] = fit_kernel(data, kind, parts, effort.steps, seed)
    progress(f"{data.title}: fitting with Tripod's defaults")
    fits[OUR_OWN] = fit(parts.train, parts.validation, FitOptions(steps=effort.steps, seed=seed))
    kernels = [fits["tied"].kernel]
    for number in range(1, effort.kernels):
        progress(f"{data.title}: fitting kernel {number + 1} of {effort.kernels} for MAP inference")
        kernels.append(fit_kernel(data, "tied", parts, effort.steps, seed + number).kernel)
    progress(f"{data.title}: MAP inference")
    bundles = map_quality(kernels, effort.trials, seed)
    progress(f"{data.title}: evaluating")
    predictive = predictive_quality(fits, parts, seed)
    speed_up = None
    if "ndpp2019" in fits:
        speed_up = seconds_to_converge(fits["ndpp2019"]) / max(seconds_to_converge(fits["tied"]), 1e-9)
    return PaperResults(name, len(baskets), len(baskets.catalogue), predictive, bundles, speed_up)
