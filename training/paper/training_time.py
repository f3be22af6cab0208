"""Figure 1 of the paper: the training likelihood against wall-clock time, with the M×M normaliser of 2019."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from training.fitting.fit_state import FitState
from training.fitting.likelihood import Gradients, group_by_size, log_likelihood
from training.options import FitOptions
from training.splitting import Split

_EVALUATIONS = 25
SCALABLE, DENSE_2019, LINEAR_2019 = "scalable", "ndpp2019_dense", "ndpp2019_linear"


@dataclass(frozen=True)
class TrainingCurve:
    """The negative log-likelihood of all training baskets during a fit; evaluating it takes no time here."""

    seconds: list[float]
    negative_log_likelihood: list[float]

    def seconds_to_converge(self, tolerance: float = 1e-3) -> float:
        """Seconds until the negative log-likelihood was within a thousandth of its lowest value."""
        close = min(self.negative_log_likelihood) * (1 + tolerance)
        pairs = zip(self.seconds, self.negative_log_likelihood, strict=True)
        return next(seconds for seconds, value in pairs if value <= close)


class DenseNormaliserState(FitState):
    """A fit that computes log det(L + I) from the M×M matrix, as Gartrell et al. did in 2019: O(M³)."""

    def subtract_normaliser(self, gradients: Gradients) -> None:
        """Subtract the gradient of log det(L + I): ∂L = (L + I)⁻ᵀ."""
        F, core, d = self.model.F, self.model.core, self.model.diagonal()
        FX = core.times(F)
        G = torch.linalg.inv(FX @ F.mT + torch.diag(1 + d)).mT  # (M, M)
        GF = G @ F
        gradients.factors -= core.times_transposed(GF) + G.mT @ FX
        gradients.core -= core.gradient(F, GF)
        gradients.diagonal -= G.diagonal()


def training_curves(parts: Split, scalable: FitOptions, earlier: FitOptions) -> dict[str, TrainingCurve]:
    """The scalable NDPP, and the NDPP of 2019 with its own normaliser and with Tripod's, linear in M."""
    return {
        SCALABLE: _curve(FitState, parts, scalable),
        DENSE_2019: _curve(DenseNormaliserState, parts, earlier),
        LINEAR_2019: _curve(FitState, parts, earlier),
    }


def speed_up(curves: dict[str, TrainingCurve], of: str = DENSE_2019) -> float | None:
    """The time to converge of the NDPP of 2019 over that of the scalable NDPP."""
    if not curves:
        return None
    return curves[of].seconds_to_converge() / max(curves[SCALABLE].seconds_to_converge(), 1e-9)


def _curve(state_type: type[FitState], parts: Split, options: FitOptions) -> TrainingCurve:
    torch.set_num_threads(options.threads)
    state = state_type(parts.train, parts.validation, options, may_be_empty=True)
    baskets = group_by_size(parts.train, np.arange(len(parts.train)))
    pause = max(1, options.steps // _EVALUATIONS)
    elapsed, seconds, values = 0.0, [], []
    while True:
        if state.step % pause == 0 or state.step == options.steps:
            model = state.model
            value = log_likelihood(model.F, model.core, model.diagonal(), baskets, may_be_empty=True)
            seconds.append(elapsed)
            values.append(-value)
        if state.step == options.steps:
            return TrainingCurve(seconds, values)
        started = time.perf_counter()
        state.advance()
        elapsed += time.perf_counter() - started
