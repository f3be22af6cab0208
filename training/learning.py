"""All that is learned for one model: the kernel, then the relevance prior and the knobs to serve it with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from model_store import Knobs
from ndpp import Relevance
from training.baskets import Baskets, merge
from training.checkpoint import Checkpoint
from training.fitting import FitResult, Progress, fit
from training.neighbours import learn_neighbours
from training.options import FitOptions, KernelKind
from training.splitting import Split
from training.tuning import Effort, Trial, Tune, Tuning, tune
from training.warm_start import Previous


@dataclass(frozen=True)
class KernelTrial:
    """One fit that was tried: how it differs from the one asked for, and the best that tuning made of it."""

    change: dict[str, Any]
    validation: float
    best: Trial

    def as_dict(self) -> dict[str, Any]:
        """For `tuning.json`."""
        return {
            "change": self.change,
            "validation_log_likelihood": round(self.validation, 4),
            "best": self.best.as_dict(),
        }


@dataclass(frozen=True)
class Learned:
    """A kernel and how to serve it."""

    result: FitResult
    knobs: Knobs = field(default_factory=Knobs)
    relevance: Relevance | None = None
    tuning: Tuning | None = None
    kernels: tuple[KernelTrial, ...] = ()
    interrupted: bool = False  # it was told to stop before all was done


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
    tunes that on a finer grid. A fit that was stopped is not tuned; a search that was stopped gives the best
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
        if before is not None and before.best.merit > tuning.best.merit:  # a finer grid may begin worse
            tuning = before
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
            if candidate.tuning.best.merit > best.tuning.best.merit:
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
    return KernelTrial(change, learned.result.validation, learned.tuning.best)


def _with_prior(best: Learned, parts: Split, kernels: list[KernelTrial]) -> Learned:
    """The chosen prior, now learned from the validation baskets as well: it has been chosen."""
    assert best.tuning is not None
    return replace(
        best,
        knobs=best.tuning.best.knobs,
        relevance=prior(best, merge(parts.train, parts.validation)),
        kernels=tuple(kernels),
    )


def prior(learned: Learned, baskets: Baskets) -> Relevance | None:
    """The prior that tuning chose, learned from these baskets."""
    if learned.tuning is None or learned.tuning.best.neighbours is None:
        return None
    return learn_neighbours(baskets, learned.tuning.best.neighbours, learned.result.options.half_life_days)
