"""log P(target) of many softmaxes over candidates, with its gradient, in one pass over the features."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_NUMBERS_AT_ONCE = 400_000  # of the features: few enough to stay in the cache


class _TargetLogShare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, exponents: Tensor, features: Tensor, log_count: Tensor) -> Tensor:
        logs, slopes = torch.empty(len(exponents), dtype=torch.float64), torch.empty_like(exponents)
        at_once = max(1, _NUMBERS_AT_ONCE // features[0].numel())
        for start in range(0, len(exponents), at_once):
            rows = slice(start, start + at_once)
            table = features[rows]  # (b, C, K)
            scores = torch.bmm(table, exponents[rows, :, None].to(table.dtype))[:, :, 0]
            target = scores[:, -1].clone()
            scores += log_count[rows]
            norms = torch.logsumexp(scores, dim=1)
            shares = scores.sub_(norms[:, None]).exp_()
            logs[rows] = target - norms
            slopes[rows] = (table[:, -1] - torch.bmm(shares[:, None, :], table)[:, 0]).to(slopes.dtype)
        ctx.save_for_backward(slopes)
        return logs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (slopes,) = ctx.saved_tensors
        return gradients[0][:, None] * slopes, None, None


def target_log_share(exponents: Tensor, features: Tensor, log_count: Tensor) -> Tensor:
    """log of exp(s_target) / Σ_c count_c · exp(s_c) with s = features · exponents, (n,).

    `exponents` are (n, K), `features` (n, C, K) and `log_count` (n, C). The last candidate is the target; it
    is part of the sum only if its count is not 0. Only the exponents have a gradient: the features of the
    target − Σ_c P(c) · features of c.
    """
    found: Tensor = _TargetLogShare.apply(exponents, features, log_count)  # type: ignore[no-untyped-call]
    return found
