"""All that is learned for one model: the kernel, then the prior, the basket index and the mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from model_store import Knobs
from ndpp import BasketIndex, Mixture, NextItem, Relevance
from ndpp.mixture import at
from training.basket_index import index_baskets
from training.baskets import Baskets, merge
from training.checkpoint import Checkpoint
from training.fitting import FitResult, Progress, fit
from training.neighbours import learn_neighbours
from training.options import FitOptions, KernelKind
from training.splitting import Split
from training.tuning import Effort, Tune, Tuning, tune
from training.warm_start import Previous

_USUAL_CART = 3
_LEAST_EXPONENT = 0.1  # of the gain, to divide by
_LARGEST_RELEVANCE = 8.0


@dataclass(frozen=True)
class KernelTrial:
    """One fit that was tried: how it differs from the one asked for, and the best that tuning made of it."""

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
class Learned:
    """A kernel and how to serve it."""

    result: FitResult
    relevance: Relevance | None = None
    baskets: BasketIndex | None = None
    tuning: Tuning | None = None
    kernels: tuple[KernelTrial, ...] = ()
    interrupted: bool = False  # it was told to stop before all was done

    @property
    def mixture(self) -> Mixture | None:
        """How probabilities are made of the evidence; None without tuning."""
        return None if self.tuning is None else self.tuning.mixture

    @property
    def knobs(self) -> Knobs:
        """ω and the exponent of r relative to the gain's, for bundles and for readers of release 0.1."""
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


def learn(
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
) -> Learned:
    """Fit, then tune on queries from the validation baskets.

    `thorough` changes the fit's options one at a time as well, keeps what predicts held-out items better, and
    tunes that on more queries. A fit that was stopped is not tuned; a search that was stopped gives the best
    so far. `announce` hears the phase.
    """

    def fitted(chosen: FitOptions) -> Learned:
        announce("fitting")
        # Only the fit that was asked for can be resumed: the others begin after it.
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
            return Learned(result, interrupted=result.interrupted)
        return tuned(Learned(result), "quick")

    def tuned(learned: Learned, effort: Effort) -> Learned:
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
            tuning = before  # the finer search had not come that far
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
    return replace(_with_prior(best, parts, kernels if len(kernels) > 1 else []), interrupted=interrupted)


def _changes(options: FitOptions) -> list[dict[str, Any]]:
    """What a thorough search tries instead of the options that were asked for, with ranks filled in."""
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


def _kernel_trial(change: dict[str, Any], learned: Learned) -> KernelTrial:
    assert learned.tuning is not None
    return KernelTrial(change, learned.result.validation, learned.tuning.negative_log_likelihood)


def _with_prior(best: Learned, parts: Split, kernels: list[KernelTrial]) -> Learned:
    """The chosen prior and the index, now learned from the validation baskets as well."""
    return replace(with_evidence(best, merge(parts.train, parts.validation)), kernels=tuple(kernels))


def with_evidence(learned: Learned, baskets: Baskets) -> Learned:
    """The prior that tuning chose and the index of baskets, learned from these baskets."""
    if learned.tuning is None:
        return learned
    half_life = learned.result.options.half_life_days
    relevance = learn_neighbours(baskets, learned.tuning.choice.neighbours, half_life)
    return replace(learned, relevance=relevance, baskets=index_baskets(baskets))
