"""A straightforward implementation of the paper's training step, as a baseline for ours.

Padded batches in float64, gradients by autograd, the normaliser as in the proof of Theorem 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from training.fitting.likelihood import EPSILON, SizeGroup


class PaddedNdpp:
    """V, B and the λ of C as autograd leaves."""

    def __init__(self, F: Tensor, rank: int) -> None:
        self.V = F[:, :rank].double().requires_grad_()
        self.B = F[:, rank:].double().requires_grad_()
        self.strengths = torch.ones(self.B.shape[1] // 2, dtype=torch.float64, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.V, self.B, self.strengths], lr=0.01)

    def _skew(self) -> Tensor:
        half = torch.diag(self.strengths)
        zero = torch.zeros_like(half)
        return torch.cat([torch.cat([zero, half], 1), torch.cat([-half, zero], 1)])

    def step(self, groups: list[SizeGroup]) -> float:
        """One step of Adam; returns the log-likelihood of the batch."""
        C = self._skew()
        value = self._mean_log_det(groups, C) - self._log_normaliser(C)
        self.optimizer.zero_grad()
        (-value).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return float(value.detach())

    def _mean_log_det(self, groups: list[SizeGroup], C: Tensor) -> Tensor:
        longest = max(group.rows.shape[1] for group in groups)
        rows = torch.cat(
            [torch.nn.functional.pad(group.rows, (0, longest - group.rows.shape[1])) for group in groups]
        )
        sizes = torch.cat([torch.full((len(group.rows),), group.rows.shape[1]) for group in groups])
        real = (torch.arange(longest) < sizes[:, None]).double()  # (n, longest)
        V, B = self.V[rows] * real[..., None], self.B[rows] * real[..., None]
        padding = torch.diag_embed(1 - real + EPSILON * real)
        log_dets: Tensor = torch.linalg.slogdet(V @ V.mT + B @ C @ B.mT + padding)[1]
        return log_dets.mean()

    def _log_normaliser(self, C: Tensor) -> Tensor:
        V, B = self.V, self.B
        inner = torch.eye(V.shape[1], dtype=torch.float64) + V.T @ V
        projected = B - V @ torch.linalg.solve(inner, V.T @ B)
        outer = torch.linalg.inv(C) + B.T @ projected
        total: Tensor = torch.logdet(inner) + torch.linalg.slogdet(outer)[1] + torch.linalg.slogdet(C)[1]
        return total
