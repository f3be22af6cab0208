"""The training pipeline of one model: fit the kernel, tune the mixture, learn the prior and basket index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from model_store import Knobs
from ndpp import BasketIndex, Mixture, NextItem, Relevance
from ndpp.mixture import at
from training.baskets import Baskets, merge
from training.fitting import FitResult, Progress, fit
from training.fitting.checkpoint import Checkpoint
from training.fitting.warm_start import Previous
from training.histories import Histories
from training.next_item.basket_index import index_baskets
from training.next_item.own import OwnFit, fit_own
from training.next_item.relevance_prior import learn_relevance_prior
from training.next_item.tuning import Tuning, tune
from training.options import Effort, FitOptions, KernelKind, Tune
from training.splitting import Split

_USUAL_CART = 3
_LEAST_EXPONENT = 0.1  # smallest exponent of the gain, to divide by it
_LARGEST_RELEVANCE = 8.0


@dataclass(frozen=True)
class KernelTrial:
    """One fit of a thorough search: the changed options, and its result after tuning."""

    change: dict[str, Any]
    validation: float
    negative_log_likelihood: float

    def as_dict(self) -> dict[str, Any]:
        """For `tuning.json`."""
        return {
            "change": self.change,
            "validation_log_likelihood": round(self.validation, 4),
            "negative_log_likelihood": round(self.negative_log_likelihood, 4),
        }


@dataclass(frozen=True)
class TrainedModel:
    """A kernel with everything needed to serve it."""

    result: FitResult
    relevance: Relevance | None = None
    baskets: BasketIndex | None = None
    tuning: Tuning | None = None
    own: OwnFit | None = None  # None if too few validation baskets have a shopper with a history
    kernels: tuple[KernelTrial, ...] = ()
    interrupted: bool = False

    @property
    def mixture(self) -> Mixture | None:
        """The fitted mixture of experts; None without tuning."""
        if self.tuning is None or self.own is None:
            return None if self.tuning is None else self.tuning.mixture
        return replace(self.tuning.mixture, own=self.own.own, own_first=self.own.own_first)

    @property
    def knobs(self) -> Knobs:
        """ω, and the exponent of r relative to that of the gain; used by bundles and by release 0.1."""
        if self.mixture is None:
            return Knobs()
        together = self.mixture.together
        gain, relevance = (at(line, _USUAL_CART) for line in (together.gain, together.relevance))
        beta = relevance / max(gain, _LEAST_EXPONENT)
        return Knobs(self.mixture.decoupling, min(max(beta, 0.0), _LARGEST_RELEVANCE))

    @property
    def next_item(self) -> NextItem:
        """The model as it is served."""
        mixture = self.mixture or Mixture.plain()
        return NextItem(self.result.kernel, mixture, self.relevance, self.baskets)

    @property
    def before_validation(self) -> NextItem | None:
        """The model with prior and index of the training baskets only, to measure on validation baskets."""
        if self.tuning is None or self.mixture is None:
            return None
        return replace(self.tuning.trained, mixture=self.mixture)


def train_model(
    parts: Split,
    options: FitOptions,
    *,
    effort: Tune,
    announce: Callable[[str], None] = lambda _: None,
    callback: Callable[[Progress], None] = lambda _: None,
    tuning_callback: Callable[[int, int], None] = lambda _done, _all: None,
    should_stop: Callable[[], bool] = lambda: False,
    checkpoint: Checkpoint | None = None,
    previous: Previous | None = None,
) -> TrainedModel:
    """Fit a kernel, then tune on queries from the validation baskets.

    `thorough` also tries other options of the fit, one at a time, keeps the best, and tunes it on more
    queries. A stopped fit is not tuned; a stopped search returns the best so far. `announce` is called with
    the name of each phase.
    """

    def fitted(chosen: FitOptions) -> TrainedModel:
        announce("fitting")
        # Only the first fit can be resumed; the fits of a thorough search start after it.
        own = checkpoint if chosen is options else None
        result = fit(
            parts.train,
            parts.validation,
            chosen,
            callback=callback,
            should_stop=should_stop,
            checkpoint=own,
            previous=previous,
        )
        if effort == "none" or result.interrupted:
            return TrainedModel(result, interrupted=result.interrupted)
        return tuned(TrainedModel(result), "quick")

    def tuned(learned: TrainedModel, effort: Effort) -> TrainedModel:
        announce("tuning")
        options = learned.result.options
        tuning = tune(
            learned.result.kernel,
            parts.train,
            parts.validation,
            effort=effort,
            half_life_days=options.half_life_days,
            seed=options.seed,
            progress=tuning_callback,
            should_stop=should_stop,
        )
        if tuning is None or not tuning.interrupted:
            return replace(learned, tuning=tuning)
        before = learned.tuning
        if before is not None and before.negative_log_likelihood < tuning.negative_log_likelihood:
            tuning = before  # the interrupted search had not reached the result of the quick one
        return replace(learned, tuning=tuning, interrupted=True)

    best = fitted(options)
    if best.tuning is None:
        return best
    interrupted = best.interrupted
    asked, kernels = best.result.options, [_kernel_trial({}, best)]
    for change in _changes(asked) if effort == "thorough" and previous is None else []:
        if interrupted:
            break
        candidate = fitted(replace(asked, **change))
        interrupted = candidate.interrupted
        if candidate.tuning is not None:
            kernels.append(_kernel_trial(change, candidate))
            if candidate.tuning.negative_log_likelihood < best.tuning.negative_log_likelihood:
                best = candidate
    if effort == "thorough" and not interrupted:
        best = tuned(best, "thorough")
        interrupted = best.interrupted
    best = _with_own(best, parts)
    # Now learn the chosen prior and the index from the validation baskets as well.
    complete = with_prior_and_index(best, merge(parts.train, parts.validation))
    tried = tuple(kernels) if len(kernels) > 1 else ()
    return replace(complete, kernels=tried, interrupted=interrupted)


def _with_own(learned: TrainedModel, parts: Split) -> TrainedModel:
    """The model with the expert `own`, fitted to validation baskets and the baskets before each of them."""
    known = Histories(merge(parts.train, parts.validation))
    if learned.tuning is None:
        return learned
    histories = known.before_each(parts.validation)
    seed = learned.result.options.seed
    return replace(
        learned,
        own=fit_own(learned.tuning.trained, parts.validation, histories, known.usual_gap(), seed),
    )


def _changes(options: FitOptions) -> list[dict[str, Any]]:
    """The changes of the options that a thorough search tries."""
    assert options.rank is not None
    changes: list[dict[str, Any]] = [
        {"learning_rate": 2 * options.learning_rate},
        {"learning_rate": options.learning_rate / 2},
        {"rank": max(1, options.rank // 2)},
        {"alpha": 0.1, "beta": 0.1},
    ]
    if options.has_pairs and options.skew_rank:
        other: KernelKind = "ndpp2019" if options.kernel == "scalable" else "scalable"
        changes += [{"skew_rank": max(2, options.skew_rank // 4 * 2)}, {"kernel": other}]
    return changes


def _kernel_trial(change: dict[str, Any], learned: TrainedModel) -> KernelTrial:
    assert learned.tuning is not None
    return KernelTrial(change, learned.result.validation, learned.tuning.negative_log_likelihood)


def with_prior_and_index(learned: TrainedModel, baskets: Baskets) -> TrainedModel:
    """The model with the tuned relevance prior and the basket index learned from these baskets."""
    if learned.tuning is None:
        return learned
    half_life = learned.result.options.half_life_days
    relevance = learn_relevance_prior(baskets, learned.tuning.choice.prior, half_life)
    return replace(learned, relevance=relevance, baskets=index_baskets(baskets))
