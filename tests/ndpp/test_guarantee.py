"""The guarantee calculator: its singular values, and that greedy really keeps what it promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from ndpp_reference import KINDS, make_kernel

from ndpp import Kernel, greedy_guarantee, map_exact, map_greedy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lift", [0.0, 3.0])
def test_greedy_keeps_the_guarantee(kind: str, seed: int, lift: float) -> None:
    kernel = make_kernel(np.random.default_rng(seed), 7, kind, rank=5, diagonal=True)
    kernel = Kernel(kernel.factors, kernel.core, kernel.diagonal + lift)
    guarantee = greedy_guarantee(kernel.submatrix(np.arange(7)), 2)
    greedy, best = map_greedy(kernel, 2).log_det, map_exact(kernel, 2).log_det
    assert greedy >= guarantee.lower_bound(best) - 1e-9
    assert (guarantee.ratio is None) == (guarantee.smallest <= 1)
    if lift:
        assert guarantee.ratio is not None
        assert greedy >= guarantee.ratio * best - 1e-9


def test_singular_values_are_those_of_all_blocks() -> None:
    L = make_kernel(np.random.default_rng(1), 5, "scalable").submatrix(np.arange(5))
    guarantee = greedy_guarantee(L, 1)
    blocks = [L[np.ix_(s, s)] for n in (1, 2) for s in itertools.combinations(range(5), n)]
    values = np.concatenate([np.linalg.svd(block, compute_uv=False) for block in blocks])
    assert guarantee.smallest == pytest.approx(values.min())
    assert guarantee.largest == pytest.approx(values.max())
    assert guarantee.log_condition == pytest.approx(np.log(values.max() / values.min()))


def test_the_best_ratio_is_that_of_equal_singular_values() -> None:
    assert greedy_guarantee(3 * np.eye(4), 2).ratio == pytest.approx(4 * (1 - math.exp(-0.25)))


def test_singular_kernels_have_no_guarantee() -> None:
    guarantee = greedy_guarantee(np.diag([0.0, 1.0, 2.0]), 1)
    assert guarantee.ratio is None
    assert guarantee.lower_bound(1.0) == -math.inf
    assert guarantee.log_condition == math.inf


def test_too_much_work_is_refused_clearly() -> None:
    with pytest.raises(ValueError, match="choose a smaller kernel or k"):
        greedy_guarantee(np.eye(60), 5)
    with pytest.raises(ValueError, match="it needs k ≥ 1"):
        greedy_guarantee(np.eye(6), 0)
