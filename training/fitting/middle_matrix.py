"""The middle matrix X of L = Diag(d) + F X Fᵀ while it is learned, and products with it.

Multiplying by a skew part of 2×2 blocks only swaps and scales columns, so it needs no matrix product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class MiddleMatrix(ABC):
    """X and its gradient, as the likelihood uses them."""

    parameters: Tensor  # learned; may be empty

    @abstractmethod
    def matrix(self) -> Tensor:
        """X, (R, R)."""

    @abstractmethod
    def times(self, A: Tensor) -> Tensor:
        """A X for A of shape (…, R)."""

    @abstractmethod
    def times_transposed(self, A: Tensor) -> Tensor:
        """A Xᵀ for A of shape (…, R)."""

    @abstractmethod
    def matrix_gradient(self, dX: Tensor) -> Tensor:
        """The gradient with respect to the parameters, given the one with respect to X."""

    @abstractmethod
    def gradient(self, A: Tensor, GA: Tensor) -> Tensor:
        """The gradient with respect to the parameters for ∂X = Aᵀ (G A), given A and G A of shape (t, R)."""


class PairedMiddleMatrix(MiddleMatrix):
    """X = blockdiag(I_K, [[0, Λ], [−Λ, 0]]): the paper's C up to the order of B's columns.

    Column j of B is paired with column j + S/2, which keeps both halves contiguous. With no pairs X is the
    identity (the symmetric kernel); with Λ fixed at 1 it is the 2019 NDPP, whose B and C are the two halves.
    """

    def __init__(self, rank: int, log_strengths: Tensor) -> None:
        self.rank = rank
        self.parameters = log_strengths  # log λ, (S/2,)

    @property
    def strengths(self) -> Tensor:
        """λ > 0, (S/2,)."""
        return self.parameters.exp()

    def matrix(self) -> Tensor:
        """X, (R, R)."""
        skew = torch.diag(self.strengths)
        zero = torch.zeros_like(skew)
        X = torch.eye(self.rank + 2 * len(skew), dtype=skew.dtype)
        X[self.rank :, self.rank :] = torch.cat([torch.cat([zero, skew], 1), torch.cat([-skew, zero], 1)])
        return X

    def _split(self, A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        pairs = len(self.parameters)
        return A[..., : self.rank], A[..., self.rank : self.rank + pairs], A[..., self.rank + pairs :]

    def times(self, A: Tensor) -> Tensor:
        """A X: the two halves are swapped, one with a minus sign."""
        plain, left, right = self._split(A)
        return torch.cat([plain, -right * self.strengths, left * self.strengths], -1)

    def times_transposed(self, A: Tensor) -> Tensor:
        """A Xᵀ."""
        plain, left, right = self._split(A)
        return torch.cat([plain, right * self.strengths, -left * self.strengths], -1)

    def matrix_gradient(self, dX: Tensor) -> Tensor:
        """∂λ_j = ∂X[j, j'] − ∂X[j', j], times λ_j for the logarithm."""
        pairs = len(self.parameters)
        skew = dX[self.rank :, self.rank :]
        return self.strengths * (skew[:pairs, pairs:].diagonal() - skew[pairs:, :pairs].diagonal())

    def gradient(self, A: Tensor, GA: Tensor) -> Tensor:
        """As `matrix_gradient` of Aᵀ GA, without forming it."""
        _, left, right = self._split(A)
        _, g_left, g_right = self._split(GA)
        return self.strengths * ((left * g_right).sum(0) - (right * g_left).sum(0))


class TiedMiddleMatrix(MiddleMatrix):
    """X = I + D − Dᵀ on the columns of V, the form used in the paper's experiments."""

    def __init__(self, D: Tensor) -> None:
        self.parameters = D  # (K, K)

    def matrix(self) -> Tensor:
        """X, (K, K)."""
        return (
            torch.eye(len(self.parameters), dtype=self.parameters.dtype)
            + self.parameters
            - self.parameters.mT
        )

    def times(self, A: Tensor) -> Tensor:
        """A X."""
        return A @ self.matrix()

    def times_transposed(self, A: Tensor) -> Tensor:
        """A Xᵀ."""
        return A @ self.matrix().mT

    def matrix_gradient(self, dX: Tensor) -> Tensor:
        """∂D = ∂X − ∂Xᵀ."""
        return dX - dX.mT

    def gradient(self, A: Tensor, GA: Tensor) -> Tensor:
        """As `matrix_gradient` of Aᵀ GA."""
        return self.matrix_gradient(A.mT @ GA)
