"""The paper's experiments on one data set: Tables 2 to 4, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from training.baselines import Popularity
from training.evaluation.assess import questions_from
from training.evaluation.queries import Protocol
from training.evaluation.scoring import Metrics, evaluate_models
from training.evaluation.tripod import TripodModel
from training.fitting import FitResult, fit
from training.options import FitOptions, KernelKind
from training.paper.datasets import DATASETS, DataSet
from training.paper.greedy_ratio import GreedyExperiment, greedy_experiment
from training.paper.map_inference import MapQuality, map_quality
from training.paper.training_time import TrainingCurve, speed_up, training_curves
from training.recommender import Recommender
from training.splitting import Split, split

_HOT, _COOL, _SHORTER = 0.03, 0.003, 5
OUR_OWN = "tripod"  # Tripod's defaults, next to the paper's three kernels
FIGURE_2_DATA_SET = "amazon_3category"


@dataclass(frozen=True)
class Effort:
    """How much is computed; the paper has 10 kernels, 100 random trials on each, and 10,000 small kernels."""

    steps: int = 1000
    kernels: int = 10
    trials: int = 100
    small_kernels: int = 10_000


@dataclass(frozen=True)
class Predictive:
    """A model's row of Table 2, with the protocol of the published code and that of the paper's text."""

    published: Metrics
    paper: Metrics
    seconds: float  # of the fit


def short_schedule(data: DataSet, kind: KernelKind, steps: int, seed: int) -> FitOptions:
    """A kernel of the paper's form and size, without a diagonal: few steps with a high learning rate."""
    setting = data.settings[kind]
    return FitOptions(
        kernel=kind,
        rank=setting.rank,
        skew_rank=setting.skew_rank,
        diagonal=False,
        alpha=setting.alpha,
        beta=0.0,
        batch_size=setting.batch_size,
        learning_rate=_HOT,
        steps=max(1, steps // _SHORTER),
        patience=steps,  # no early stopping: the likelihood may fall until the learning rate decreases
        seed=seed,
    )


def fit_kernel(data: DataSet, kind: KernelKind, parts: Split, steps: int, seed: int = 0) -> FitResult:
    """Fit a kernel of the paper's form and size with the paper's likelihood.

    Small catalogues do best with few steps and a high learning rate, which overfits least; large ones with
    many steps and a low rate. Both are tried, and the one with the better validation likelihood is kept.
    """
    short = short_schedule(data, kind, steps, seed)
    long = replace(short, learning_rate=_COOL, steps=steps)
    tried = [fit(parts.train, parts.validation, schedule, may_be_empty=True) for schedule in (short, long)]
    return max(tried, key=lambda result: result.validation)


def predictive_quality(results: dict[str, FitResult], parts: Split, seed: int) -> dict[str, Predictive]:
    """Table 2, and plain popularity."""
    models: dict[str, Recommender] = {
        name: TripodModel.of_kernel(result.kernel) for name, result in results.items()
    }
    models["popularity"] = Popularity().fit(parts.train)
    asked = {
        protocol: questions_from(parts.test, parts.test.catalogue, protocol, seed)
        for protocol in (Protocol.PAPER, Protocol.PUBLISHED)
    }

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


@dataclass(frozen=True)
class PaperResults:
    """The results on one data set."""

    name: str
    baskets: int
    items: int
    predictive: dict[str, Predictive]  # Table 2
    bundles: dict[str, MapQuality]  # Tables 3 and 4
    curves: dict[str, TrainingCurve]  # Figure 1
    speed_up: float | None  # Figure 1: seconds of the NDPP 2019 over those of the scalable NDPP
    small_kernels: GreedyExperiment | None  # Figure 2


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
    curves: dict[str, TrainingCurve] = {}
    if "ndpp2019" in data.settings:
        progress(f"{data.title}: training time, with the M×M normaliser of 2019 too")
        scalable, earlier = (short_schedule(data, kind, effort.steps, seed) for kind in ("tied", "ndpp2019"))
        curves = training_curves(parts, scalable, earlier)
    small_kernels = None
    if name == FIGURE_2_DATA_SET:
        progress(f"{data.title}: greedy and exact MAP inference for random 5×5 kernels")
        small_kernels = greedy_experiment(fits["tied"].kernel, effort.small_kernels, seed)
    return PaperResults(
        name,
        len(baskets),
        len(baskets.catalogue),
        predictive,
        bundles,
        curves,
        speed_up(curves),
        small_kernels,
    )
