"""The log-likelihood of baskets under L = Diag(d) + F X Fᵀ and its gradient, in time linear in the catalogue.

The gradients are written out instead of using autograd: that halves the work of the two large products, and
the only extra memory is one gradient of the size of F. Tests compare them with finite differences and with
the dense M×M determinant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.baskets import Baskets
from training.errors import DivergedError
from training.fitting.middle_matrix import MiddleMatrix

EPSILON = 1e-5  # the paper's ε: keeps log det(L_Y + εI) finite when L_Y is singular
ROWS_AT_ONCE = 2_048  # rows of F per product: few enough for the temporaries to stay in the cache


@dataclass(frozen=True, slots=True)
class SizeGroup:
    """Baskets of one size, whose determinants are computed in one batch without padding."""

    rows: Tensor  # (n, s) int64
    weights: Tensor  # (n,)


def group_by_size(
    baskets: Baskets, chosen: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> list[SizeGroup]:
    """The chosen baskets in groups of equal size; weights default to 1 each."""
    sizes = baskets.sizes[chosen]
    order = np.argsort(sizes, kind="stable")
    starts = np.flatnonzero(np.diff(sizes[order], prepend=-1))
    groups = []
    for members in np.split(order, starts[1:]):
        size = int(sizes[members[0]])
        positions = baskets.offsets[chosen[members]][:, None] + np.arange(size)  # (n, s)
        rows = torch.from_numpy(baskets.items[positions].astype(np.int64))
        weight = np.ones(len(members)) if weights is None else weights[chosen[members]]
        groups.append(SizeGroup(rows, torch.from_numpy(weight)))
    return groups


@dataclass(slots=True)
class Gradients:
    """Accumulated gradients with respect to F, the parameters of X, and d."""

    factors: Tensor  # (M, R)
    core: Tensor  # shaped like the parameters of X
    diagonal: Tensor  # (M,)


def log_likelihood(
    F: Tensor, core: MiddleMatrix, d: Tensor, groups: list[SizeGroup], *, may_be_empty: bool = False
) -> float:
    """The weighted mean over baskets of log det(L_Y + εI) minus the log-normaliser."""
    return mean_log_det(F, core, d, groups) - log_normaliser(F, core, d, may_be_empty=may_be_empty)


def mean_log_det(
    F: Tensor, core: MiddleMatrix, d: Tensor, groups: list[SizeGroup], gradients: Gradients | None = None
) -> float:
    """The weighted mean of log det(L_Y + εI); its gradient is added to `gradients`."""
    total_weight = sum(float(group.weights.sum()) for group in groups)
    total = 0.0
    for group in groups:
        A = F[group.rows]  # (n, s, R)
        L, AX, log_det = _basket_log_dets(A, core, d[group.rows])
        scale = group.weights / total_weight  # (n,)
        total += float(log_det.double() @ scale)
        if gradients is not None:
            # L = A X Aᵀ + Diag(d):  ∂A = G A Xᵀ + Gᵀ A X,  ∂X = Aᵀ G A,  ∂d = diag G
            G = torch.linalg.inv(L).mT * scale.to(L.dtype)[:, None, None]  # ∂/∂L, (n, s, s)
            G = G.to(F.dtype)
            GA = G @ A
            rows = group.rows.reshape(-1)
            gradients.factors.index_add_(0, rows, (core.times_transposed(GA) + G.mT @ AX).flatten(0, 1))
            gradients.core += core.gradient(A.flatten(0, 1), GA.flatten(0, 1))
            gradients.diagonal.index_add_(0, rows, G.diagonal(dim1=1, dim2=2).reshape(-1))
    return total


def _basket_log_dets(A: Tensor, core: MiddleMatrix, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L_Y + εI (n, s, s), A X (n, s, R) and log det (n,) for the rows A (n, s, R) of baskets of one size."""
    AX = core.times(A)
    L = AX @ A.mT + torch.diag_embed(d + EPSILON)
    sign, log_det = torch.linalg.slogdet(L)
    if bool((sign <= 0).any()) and A.dtype != torch.float64:
        # Rounding can make a nearly singular determinant negative; in double precision ε keeps it positive.
        exact = A.double()
        L = exact @ core.matrix().double() @ exact.mT + torch.diag_embed(d.double() + EPSILON)
        sign, log_det = torch.linalg.slogdet(L)
    if bool((sign <= 0).any()):
        raise DivergedError("a basket's determinant")
    return L, AX, log_det


def log_normaliser(
    F: Tensor,
    core: MiddleMatrix,
    d: Tensor,
    gradients: Gradients | None = None,
    *,
    may_be_empty: bool = False,
) -> float:
    """log(det(I + L) − 1), without the empty basket; log det(I + L), as in the paper, with it.

    det(I + L) = Π(1 + dᵢ) · det(I + X Fᵀ Diag(1/(1+d)) F). The gradient is *subtracted*, because the
    normaliser enters the log-likelihood with a minus sign.
    """
    w = 1 / (1 + d)  # (M,)
    gram = torch.zeros(F.shape[1], F.shape[1], dtype=torch.float64)
    half = F.shape[1] // 2
    for block in _row_blocks(len(F)):
        weighted = w[block, None] * F[block]
        gram[:half] += (F[block, :half].T @ weighted).double()
        gram[half:, half:] += (F[block, half:].T @ weighted[:, half:]).double()
    gram[half:, :half] = gram[:half, half:].T  # the gram matrix is symmetric
    X = core.matrix().double()
    inner = torch.eye(len(X), dtype=torch.float64) + X @ gram  # (R, R)
    sign, log_det = torch.linalg.slogdet(inner)
    whole = float(log_det) + float(torch.log1p(d.double()).sum())  # log det(I + L)
    if float(sign) <= 0 or whole <= 0:
        raise DivergedError("the normaliser")
    share = 1.0 if may_be_empty else -math.expm1(-whole)  # P(not empty) = 1 − 1/det(I + L)
    if gradients is not None:
        inverse = torch.linalg.inv(inner)
        H = inverse @ X  # ∂/∂(gram)ᵀ
        _subtract_normaliser_gradient(gradients, F, w, H, 1 / share)
        gradients.core -= core.matrix_gradient((gram @ inverse).mT.to(F.dtype)) / share
    return whole + math.log(share)


def _subtract_normaliser_gradient(
    gradients: Gradients, F: Tensor, w: Tensor, H: Tensor, scale: float
) -> None:
    symmetric = (H + H.mT).to(F.dtype)
    for block in _row_blocks(len(F)):
        pulled = F[block] @ symmetric  # (b, R)
        quadratic = torch.linalg.vecdot(F[block], pulled) / 2  # fᵢ H fᵢᵀ
        gradients.factors[block].addcmul_(pulled, w[block, None], value=-scale)
        gradients.diagonal[block] -= scale * (w[block] - w[block] ** 2 * quadratic)


def subtract_regulariser(F: Tensor, strength: Tensor, counts: Tensor, gradients: Gradients) -> float:
    """Σ_columns strength_c Σᵢ f_ic² / μᵢ (the paper's R(V, B)); its gradient is subtracted."""
    total = 0.0
    for block in _row_blocks(len(F)):
        pull = F[block] * strength / counts[block, None]
        total += float((pull * F[block]).sum())
        gradients.factors[block].sub_(pull, alpha=2)
    return total


def _row_blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, rows, ROWS_AT_ONCE))
