"""Figure 1: the M×M normaliser of 2019 and the training curves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training.baskets import Baskets
from training.fitting.fit_state import FitState
from training.fitting.likelihood import Gradients
from training.options import FitOptions, KernelKind
from training.paper.training_time import (
    DENSE_2019,
    LINEAR_2019,
    SCALABLE,
    DenseNormaliserState,
    TrainingCurve,
    speed_up,
    training_curves,
)
from training.splitting import Split, split


@pytest.fixture(scope="module")
def parts() -> Split:
    rng = np.random.default_rng(0)
    baskets = [rng.choice(20, size=rng.integers(1, 6), replace=False) for _ in range(200)]
    offsets = np.cumsum([0, *map(len, baskets)], dtype=np.int64)
    items = np.concatenate(baskets).astype(np.int32)
    return split(Baskets(tuple(map(str, range(20))), items, offsets), holdout=20, seed=0)


def small(kernel: KernelKind, *, steps: int = 30, diagonal: bool = False) -> FitOptions:
    skew_rank = 4 if kernel == "ndpp2019" else None
    return FitOptions(
        kernel=kernel, rank=4, skew_rank=skew_rank, diagonal=diagonal, steps=steps, learning_rate=0.03
    )


@pytest.mark.parametrize("kernel", ["ndpp2019", "tied"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_dense_normaliser_has_the_gradient_of_the_linear_one(
    kernel: KernelKind, diagonal: bool, parts: Split
) -> None:
    found = []
    for state_type in (FitState, DenseNormaliserState):
        options = small(kernel, diagonal=diagonal)
        state = state_type(parts.train, parts.validation, options, may_be_empty=True)
        model = state.model
        gradients = Gradients(
            torch.zeros_like(model.F), torch.zeros_like(model.core.parameters), torch.zeros(len(model.F))
        )
        state.subtract_normaliser(gradients)
        found.append(gradients)
    linear, dense = found
    torch.testing.assert_close(dense.factors, linear.factors)
    torch.testing.assert_close(dense.core, linear.core)
    torch.testing.assert_close(dense.diagonal, linear.diagonal)
    assert dense.factors.abs().max() > 0


def test_both_normalisers_give_the_same_training_curve(parts: Split) -> None:
    curves = training_curves(parts, small("tied"), small("ndpp2019"))
    dense, linear = (curves[name].negative_log_likelihood for name in (DENSE_2019, LINEAR_2019))
    assert dense == pytest.approx(linear, rel=1e-3)
    for curve in curves.values():
        assert curve.seconds[0] == 0
        assert curve.seconds == sorted(curve.seconds)
        assert curve.negative_log_likelihood[-1] < curve.negative_log_likelihood[0]


def test_last_step_is_evaluated(parts: Split) -> None:
    curves = training_curves(parts, small("tied", steps=53), small("ndpp2019", steps=1))
    assert len(curves[SCALABLE].seconds) == 28  # steps 0, 2, …, 52 and 53
    assert len(curves[DENSE_2019].seconds) == 2


def test_seconds_to_converge() -> None:
    curve = TrainingCurve([0.0, 1.0, 2.0, 3.0], [20.0, 10.02, 10.005, 10.0])
    assert curve.seconds_to_converge() == 2


def test_speed_up_is_the_ratio_of_times_to_converge() -> None:
    curves = {
        SCALABLE: TrainingCurve([0, 2, 4], [9, 5, 5]),
        DENSE_2019: TrainingCurve([0, 5, 10], [9, 7, 5]),
        LINEAR_2019: TrainingCurve([0, 1, 3], [9, 7, 5]),
    }
    assert speed_up(curves) == 5
    assert speed_up(curves, LINEAR_2019) == 1.5
    assert speed_up({}) is None
