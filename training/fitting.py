"""The training loop: Adam on the regularised log-likelihood, best validation checkpoint kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from ndpp import Kernel
from training.baskets import Baskets
from training.checkpoint import Checkpoint
from training.errors import OptionError
from training.options import FitOptions, suggest_ranks
from training.state import FitState
from training.warm_start import Previous, like_previous


@dataclass(frozen=True, slots=True)
class Progress:
    """What a callback learns after every evaluation."""

    step: int
    steps: int
    validation: float  # log-likelihood of the validation baskets now
    best: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class FitResult:
    """The best kernel seen, and how it came about."""

    kernel: Kernel
    options: FitOptions  # with the ranks filled in
    validation: float
    best_step: int
    steps_done: int
    seconds: float
    interrupted: bool
    curve: list[tuple[int, float]] = field(default_factory=list)  # (step, validation log-likelihood)


def resolve_options(options: FitOptions, train: Baskets, previous: Previous | None = None) -> FitOptions:
    """The options with every None replaced by what suits the data, or by what the previous model had."""
    if previous is not None:
        options = like_previous(options, previous)
    elif options.init == "previous":
        raise OptionError("--init previous needs an active model in the store to start from: there is none")
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
    """Learn a kernel from `train`; keep the one with the best log-likelihood of `validation`.

    `should_stop` is asked before every step; a stopped fit still returns the best so far. With a checkpoint
    the state is saved now and then, when stopped and at the end, and a saved state is continued, to the same
    kernel as if there had been no interruption. `previous` is where --init previous starts.

    The likelihood is that of a basket that is not empty; `may_be_empty` is for the paper's, which counts the
    empty basket among the possible ones.
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
    if checkpoint is not None:  # also of a finished fit: the tuning after it may be interrupted
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
