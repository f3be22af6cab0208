"""The state of a fit: parameters, optimiser, basket order, best kernel so far; can be saved and restored."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ndpp import Kernel
from training.baskets import Baskets
from training.errors import OptionError
from training.fitting.checkpoint import Checkpoint
from training.fitting.likelihood import (
    Gradients,
    SizeGroup,
    group_by_size,
    log_likelihood,
    log_normaliser,
    mean_log_det,
    subtract_regulariser,
)
from training.fitting.parameters import initialise, item_counts
from training.fitting.warm_start import Previous, start_from
from training.options import FitOptions
from training.recency import recency_weights

_WARM_UP = 0.3  # share of the steps in which the learning rate rises
_FULL_RATE_SHARE = 0.05  # items in at least this share of the baskets learn at the full rate
_ADAM_KEYS = ("step", "exp_avg", "exp_avg_sq")


class FitState:
    """Everything that changes from step to step."""

    def __init__(
        self,
        train: Baskets,
        validation: Baskets,
        options: FitOptions,
        previous: Previous | None = None,
        *,
        may_be_empty: bool = False,
    ) -> None:
        self.train = train
        self.options = options
        self.may_be_empty = may_be_empty
        self.model = initialise(train, options)
        if previous is not None:
            start_from(self.model, train.catalogue, previous)
        self.counts = item_counts(train)
        self.row_rates = rate_of_rows(train)  # (M, 1)
        weights = recency_weights(train, options.half_life_days)
        # Cumulative weights, to draw baskets by recency.
        self.cumulative = None if weights is None else np.cumsum(weights) / weights.sum()
        self.validation_groups = group_by_size(
            validation, np.arange(len(validation)), recency_weights(validation, options.half_life_days)
        )
        self.rng = np.random.default_rng(options.seed)
        self.queue: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # baskets left in this epoch
        self.step = 0
        self.best, self.best_step = -math.inf, 0
        self.best_tensors = {name: tensor.clone() for name, tensor in self.model.tensors().items()}
        self.curve: list[tuple[int, float]] = []
        for tensor in self.learned().values():
            tensor.grad = torch.zeros_like(tensor)
        self.optimizer = torch.optim.Adam(self.learned().values(), lr=0.0, betas=(0.9, 0.99), fused=True)

    def learned(self) -> dict[str, Tensor]:
        """The tensors that are optimised; the strengths λ of the 2019 kernel stay at 1."""
        tensors = self.model.tensors()
        if len(tensors["core"]) == 0 or self.options.kernel == "ndpp2019":
            del tensors["core"]
        return tensors

    def advance(self) -> None:
        """One step of Adam on the next batch."""
        groups = group_by_size(self.train, self._next_batch())
        self._set_gradients(groups)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.options)
        before = self.model.F.clone()
        self.optimizer.step()
        self.model.F.sub_(before).mul_(self.row_rates).add_(before)
        self.step += 1

    def _next_batch(self) -> NDArray[np.int64]:
        """Each basket once per epoch; with a half-life, baskets drawn with probability ∝ recency weight."""
        size = min(self.options.batch_size, len(self.train))
        if self.cumulative is not None:
            drawn = np.searchsorted(self.cumulative, self.rng.random(size), side="right")
            return drawn.clip(max=len(self.train) - 1)
        if len(self.queue) < size:
            self.queue = self.rng.permutation(len(self.train))
        batch, self.queue = self.queue[:size], self.queue[size:]
        return batch

    def _set_gradients(self, groups: list[SizeGroup]) -> None:
        """Store the gradient of the *negative* regularised log-likelihood in the tensors' .grad."""
        model, d = self.model, self.model.diagonal()
        assert model.F.grad is not None
        gradients = Gradients(
            model.F.grad.zero_(), torch.zeros_like(model.core.parameters), torch.zeros_like(d)
        )
        mean_log_det(model.F, model.core, d, groups, gradients)
        self.subtract_normaliser(gradients)
        strength = torch.full((model.F.shape[1],), self.options.beta)
        strength[: model.rank] = self.options.alpha
        subtract_regulariser(model.F, strength, self.counts, gradients)
        gradients.factors.neg_()
        model.core.parameters.grad = -gradients.core
        if model.log_d is not None:
            model.log_d.grad = -gradients.diagonal * d  # ∂/∂log d = d ∂/∂d

    def subtract_normaliser(self, gradients: Gradients) -> None:
        """Subtract the gradient of the log-normaliser."""
        model = self.model
        log_normaliser(model.F, model.core, model.diagonal(), gradients, may_be_empty=self.may_be_empty)

    def is_evaluation_due(self) -> bool:
        """Whether the validation log-likelihood is due at this step and not computed yet."""
        due = self.step % self.options.evaluate_every == 0 or self.step == self.options.steps
        return due and (not self.curve or self.curve[-1][0] != self.step)

    def evaluate(self) -> None:
        """Record the validation log-likelihood; keep a copy of the parameters if it is the best so far."""
        value = log_likelihood(
            self.model.F,
            self.model.core,
            self.model.diagonal(),
            self.validation_groups,
            may_be_empty=self.may_be_empty,
        )
        self.curve.append((self.step, value))
        if value > self.best:
            self.best, self.best_step = value, self.step
            for name, tensor in self.model.tensors().items():
                self.best_tensors[name].copy_(tensor)

    def is_exhausted(self) -> bool:
        """Whether the validation log-likelihood has not risen for `patience` evaluations."""
        return self.step - self.best_step >= self.options.patience * self.options.evaluate_every

    def best_kernel(self) -> Kernel:
        """The kernel of the best evaluation."""
        if not math.isfinite(self.best):
            raise OptionError("the validation log-likelihood was never finite; lower --learning-rate")
        for name, tensor in self.model.tensors().items():
            tensor.copy_(self.best_tensors[name])
        return self.model.kernel()

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the complete state, so that a resumed fit gives the same result."""
        tensors = {f"now.{name}": tensor for name, tensor in self.model.tensors().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best_tensors.items()}
        for name, tensor in self.learned().items():
            if tensor in self.optimizer.state:
                moments = self.optimizer.state[tensor]
                tensors |= {f"adam.{key}.{name}": moments[key] for key in _ADAM_KEYS}
        tensors["queue"] = torch.from_numpy(self.queue)
        facts = {
            "step": self.step,
            "best": self.best,
            "best_step": self.best_step,
            "curve": self.curve,
            "random": self.rng.bit_generator.state,
        }
        checkpoint.save(tensors, facts)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the saved state, if there is one."""
        saved = checkpoint.load()
        if saved is None:
            return
        tensors, facts = saved
        for name, tensor in self.model.tensors().items():
            tensor.copy_(tensors[f"now.{name}"])
            self.best_tensors[name].copy_(tensors[f"best.{name}"])
        for name, tensor in self.learned().items():
            if f"adam.step.{name}" in tensors:
                self.optimizer.state[tensor] = {key: tensors[f"adam.{key}.{name}"] for key in _ADAM_KEYS}
        self.queue = tensors["queue"].numpy()
        self.step, self.best, self.best_step = facts["step"], facts["best"], facts["best_step"]
        self.curve = [(int(step), float(value)) for step, value in facts["curve"]]
        self.rng.bit_generator.state = facts["random"]


def learning_rate(step: int, options: FitOptions) -> float:
    """One-cycle schedule: a cosine up to the peak, then a cosine down to nearly zero."""
    done = step / options.steps
    share = done / _WARM_UP if done < _WARM_UP else 1 - (done - _WARM_UP) / (1 - _WARM_UP)
    return options.learning_rate * (0.04 + 0.96 * (1 - math.cos(math.pi * share)) / 2)


def rate_of_rows(train: Baskets) -> Tensor:
    """The share of Adam's step that each row of F takes: ∝ √popularity, like the size of the rows.

    Adam moves every entry by about the learning rate, however small its gradient is. For a rare item a full
    step is many times the size of its row, and in a large catalogue, where most items are rare, the fit would
    not recover from it.
    """
    popularity = torch.from_numpy(train.counts / max(len(train), 1)).float()
    return (popularity / _FULL_RATE_SHARE).clamp(max=1).sqrt()[:, None]
