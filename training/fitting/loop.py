"""The training loop: Adam on the regularised log-likelihood; the kernel with the best validation is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from ndpp import Kernel
from training.baskets import Baskets
from training.errors import OptionError
from training.fitting.checkpoint import Checkpoint
from training.fitting.fit_state import FitState
from training.fitting.warm_start import Previous, like_previous
from training.options import FitOptions, suggest_ranks


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a fit, reported after every evaluation."""

    step: int
    steps: int
    validation: float  # current log-likelihood of the validation baskets
    best: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class FitResult:
    """The best kernel of a fit, with the options and the training curve."""

    kernel: Kernel
    options: FitOptions  # with the chosen ranks
    validation: float
    best_step: int
    steps_done: int
    seconds: float
    interrupted: bool
    curve: list[tuple[int, float]] = field(default_factory=list)  # (step, validation log-likelihood)


def resolve_options(options: FitOptions, train: Baskets, previous: Previous | None = None) -> FitOptions:
    """The options with missing ranks chosen from the data, or taken from the previous model."""
    if previous is not None:
        options = like_previous(options, previous)
    elif options.init == "previous":
        raise OptionError("--init previous needs an active model in the model store, and there is none")
    rank, skew_rank = suggest_ranks(train, options.rank)
    options = replace(options, rank=rank)
    return replace(options, skew_rank=(options.skew_rank or skew_rank) if options.has_pairs else 0)


def fit(
    train: Baskets,
    validation: Baskets,
    options: FitOptions,
    *,
    callback: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    checkpoint: Checkpoint | None = None,
    previous: Previous | None = None,
    may_be_empty: bool = False,
) -> FitResult:
    """Learn a kernel from `train` and return the one with the highest log-likelihood of `validation`.

    `should_stop` is called before every step; a stopped fit returns the best kernel so far. With a
    checkpoint, the state is saved periodically and at the end, and a saved state is resumed; a resumed fit
    gives the same kernel as an uninterrupted one. --init previous starts from `previous`.

    The likelihood is conditional on the basket not being empty; `may_be_empty` selects that of the paper,
    which includes the empty basket.
    """
    torch.set_num_threads(options.threads)
    options = resolve_options(options, train, previous)
    state = FitState(train, validation, options, previous, may_be_empty=may_be_empty)
    if checkpoint is not None:
        state.restore(checkpoint)
    started, first_step = time.monotonic(), state.step
    stopped = False
    while True:
        if state.is_evaluation_due():
            state.evaluate()
            if callback is not None:
                pace = (time.monotonic() - started) / max(state.step - first_step, 1)
                left = pace * (options.steps - state.step)
                callback(Progress(state.step, options.steps, state.curve[-1][1], state.best, left))
        if state.step == options.steps or state.is_exhausted():
            break
        if stopped := should_stop():
            break
        if checkpoint is not None and checkpoint.is_due():
            state.save(checkpoint)
        state.advance()
    if checkpoint is not None:  # even if finished, because the tuning after it may be interrupted
        state.save(checkpoint)
    return FitResult(
        kernel=state.best_kernel(),
        options=options,
        validation=state.best,
        best_step=state.best_step,
        steps_done=state.step,
        seconds=time.monotonic() - started,
        interrupted=stopped,
        curve=state.curve,
    )
