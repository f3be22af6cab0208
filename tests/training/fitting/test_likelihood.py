"""The linear-time likelihood and its gradient, against dense determinants and finite differences."""

import numpy as np
import pytest
import torch
from torch import Tensor

from training.baskets import Baskets
from training.fitting.likelihood import (
    EPSILON,
    Gradients,
    SizeGroup,
    group_by_size,
    log_likelihood,
    log_normaliser,
    mean_log_det,
    subtract_regulariser,
)
from training.fitting.middle_matrix import MiddleMatrix, PairedMiddleMatrix, TiedMiddleMatrix

ITEMS, RANK = 12, 4
SMALL = 0.2  # factors so small that the empty basket is not negligible
BASKETS = [[0, 3], [5], [1, 2, 7], [4, 9, 10, 11, 0, 6, 8], [2, 3], [3, 8, 11]]  # one is larger than the rank


def baskets() -> Baskets:
    offsets = np.cumsum([0, *map(len, BASKETS)])
    return Baskets(tuple(map(str, range(ITEMS))), np.concatenate(BASKETS).astype(np.int32), offsets)


def core_of(kind: str) -> MiddleMatrix:
    generator = torch.Generator().manual_seed(1)
    if kind == "tied":
        return TiedMiddleMatrix(torch.randn(RANK, RANK, generator=generator, dtype=torch.float64))
    pairs = {"symmetric": 0, "scalable": 3}[kind]
    return PairedMiddleMatrix(RANK, torch.randn(pairs, generator=generator, dtype=torch.float64))


def factors_of(core: MiddleMatrix) -> Tensor:
    return torch.randn(
        ITEMS, len(core.matrix()), generator=torch.Generator().manual_seed(2), dtype=torch.float64
    )


def diagonal_of(with_diagonal: bool) -> Tensor:
    return (
        torch.linspace(0.1, 0.9, ITEMS, dtype=torch.float64) if with_diagonal else torch.zeros(ITEMS).double()
    )


EMPTY = pytest.mark.parametrize("may_be_empty", [False, True])
CASES = pytest.mark.parametrize(
    ("kind", "with_diagonal"),
    [(kind, d) for kind in ("symmetric", "scalable", "tied") for d in (True, False)],
)


def dense_log_likelihood(F: Tensor, X: Tensor, d: Tensor, weights: Tensor, may_be_empty: bool) -> Tensor:
    """By definition: every determinant dense, the normaliser M×M."""
    L = F @ X @ F.T + torch.diag(d)
    terms = [
        torch.logdet(L[rows][:, rows] + EPSILON * torch.eye(len(rows), dtype=torch.float64))
        for rows in BASKETS
    ]
    normaliser = torch.det(torch.eye(ITEMS) + L) - (0 if may_be_empty else 1)
    return (torch.stack(terms) * weights).sum() / weights.sum() - torch.log(normaliser)


@EMPTY
@CASES
def test_log_likelihood_matches_dense_determinants(
    kind: str, with_diagonal: bool, may_be_empty: bool
) -> None:
    core, d = core_of(kind), diagonal_of(with_diagonal)
    F = SMALL * factors_of(core)
    weights = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    groups = group_by_size(baskets(), np.arange(len(BASKETS)), weights)
    dense = dense_log_likelihood(F, core.matrix(), d, torch.from_numpy(weights), may_be_empty)
    value = log_likelihood(F, core, d, groups, may_be_empty=may_be_empty)
    assert value == pytest.approx(float(dense), rel=1e-10)


@EMPTY
@CASES
def test_gradient_matches_autograd_of_dense_formula(
    kind: str, with_diagonal: bool, may_be_empty: bool
) -> None:
    core, d = core_of(kind), diagonal_of(with_diagonal)
    F = SMALL * factors_of(core)
    gradients = Gradients(torch.zeros_like(F), torch.zeros_like(core.parameters), torch.zeros_like(d))
    groups = group_by_size(baskets(), np.arange(len(BASKETS)))
    mean_log_det(F, core, d, groups, gradients)
    log_normaliser(F, core, d, gradients, may_be_empty=may_be_empty)

    for tensor in (F, core.parameters, d):
        tensor.requires_grad_()
    dense = dense_log_likelihood(F, core.matrix(), d, torch.ones(len(BASKETS)), may_be_empty)
    wanted = torch.autograd.grad(dense, [F, core.parameters, d], allow_unused=True, materialize_grads=True)
    for ours, theirs in zip((gradients.factors, gradients.core, gradients.diagonal), wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)


@CASES
def test_gradient_matches_finite_differences(kind: str, with_diagonal: bool) -> None:
    core, d = core_of(kind), diagonal_of(with_diagonal)
    F = factors_of(core)
    groups = group_by_size(baskets(), np.arange(len(BASKETS)))
    gradients = Gradients(torch.zeros_like(F), torch.zeros_like(core.parameters), torch.zeros_like(d))
    mean_log_det(F, core, d, groups, gradients)
    log_normaliser(F, core, d, gradients)
    for tensor, gradient in (
        (F, gradients.factors),
        (core.parameters, gradients.core),
        (d, gradients.diagonal),
    ):
        direction = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        step = 1e-7
        with_step = []
        for sign in (1, -1):
            tensor.add_(direction, alpha=sign * step)
            with_step.append(log_likelihood(F, core, d, groups))
            tensor.add_(direction, alpha=-sign * step)
        slope = (with_step[0] - with_step[1]) / (2 * step)
        assert slope == pytest.approx(float((gradient * direction).sum()), rel=2e-3, abs=1e-6)


def test_regulariser_and_its_gradient() -> None:
    F = factors_of(core_of("scalable")).requires_grad_()
    counts = torch.arange(1, ITEMS + 1).double()
    strength = torch.linspace(0.1, 1.0, F.shape[1]).double()
    wanted = (strength * F**2 / counts[:, None]).sum()
    gradients = Gradients(torch.zeros_like(F), torch.zeros(0), torch.zeros(ITEMS))
    with torch.no_grad():
        value = subtract_regulariser(F, strength, counts, gradients)
    assert value == pytest.approx(float(wanted.detach()), rel=1e-12)
    torch.testing.assert_close(gradients.factors, -torch.autograd.grad(wanted, F)[0])


@pytest.mark.parametrize("kind", ["symmetric", "scalable", "tied"])
def test_products_with_middle_matrix_match_dense_products(kind: str) -> None:
    core = core_of(kind)
    A = torch.randn(2, 5, len(core.matrix()), dtype=torch.float64)
    torch.testing.assert_close(core.times(A), A @ core.matrix())
    torch.testing.assert_close(core.times_transposed(A), A @ core.matrix().T)


def test_middle_matrix_is_identity_plus_skew_part() -> None:
    for kind in ("symmetric", "scalable", "tied"):
        X = core_of(kind).matrix()
        symmetric = torch.diag(torch.tensor([1.0] * RANK + [0.0] * (len(X) - RANK), dtype=torch.float64))
        torch.testing.assert_close((X + X.T) / 2, symmetric)


def test_nearly_singular_basket_falls_back_to_double_precision() -> None:
    """Ten copies of one large row: in float32 the rounding swamps ε and the sign of the determinant."""
    rows = torch.arange(10)[None]
    F = 300 * torch.ones(10, 1) + torch.linspace(0, 1e-4, 10)[:, None]
    core = PairedMiddleMatrix(1, torch.zeros(0))
    groups = [SizeGroup(rows, torch.ones(1).double())]
    signs = torch.linalg.slogdet(F @ F.T + EPSILON * torch.eye(10))[0]
    exact = torch.linalg.slogdet(F.double() @ F.double().T + EPSILON * torch.eye(10).double())[1]
    assert signs <= 0  # otherwise this test shows nothing
    assert mean_log_det(F, core, torch.zeros(10), groups) == pytest.approx(float(exact), rel=1e-6)


def test_group_by_size_contains_every_basket_once() -> None:
    chosen = np.array([5, 0, 3, 4])
    groups = group_by_size(baskets(), chosen)
    assert [group.rows.shape[1] for group in groups] == [2, 3, 7]
    assert sorted(row for group in groups for row in group.rows.tolist()) == sorted(
        BASKETS[b] for b in chosen
    )
