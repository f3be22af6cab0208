"""The parameters of a kernel while it is learned: the factors F, those of the middle matrix X, and log d."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ndpp import Kernel
from training.baskets import Baskets
from training.fitting.middle_matrix import MiddleMatrix, PairedMiddleMatrix, TiedMiddleMatrix
from training.options import FitOptions

_SYMMETRIC_SCALE = 3.0  # tuned by trial: V's rows start at 3√p, B's at √p; p is the item's share of baskets


class KernelParameters:
    """The parameters of one kernel."""

    def __init__(self, F: Tensor, core: MiddleMatrix, log_d: Tensor | None, rank: int) -> None:
        self.F = F  # (M, R): the rank columns of V, then those of B
        self.core = core
        self.log_d = log_d  # (M,), None for a kernel without a diagonal
        self.rank = rank

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name."""
        tensors = {"F": self.F, "core": self.core.parameters}
        return tensors if self.log_d is None else {**tensors, "log_d": self.log_d}

    def diagonal(self) -> Tensor:
        """d, (M,)."""
        return torch.zeros(len(self.F)) if self.log_d is None else self.log_d.exp()

    def kernel(self) -> Kernel:
        """The kernel as NumPy arrays; F is shared, not copied."""
        return Kernel(self.F.numpy(), self.core.matrix().double().numpy(), self.diagonal().double().numpy())


def initialise(baskets: Baskets, options: FitOptions) -> KernelParameters:
    """Random initial parameters, seeded; the ranks in `options` must be set."""
    assert options.rank is not None
    generator = torch.Generator().manual_seed(options.seed)
    share = torch.from_numpy((baskets.counts + 0.5) / len(baskets)).float()  # p, (M,)
    skew_rank = (options.skew_rank or 0) if options.has_pairs else 0
    if options.init == "paper":
        F = torch.rand(len(share), options.rank + skew_rank, generator=generator)
    else:
        F = torch.randn(len(share), options.rank + skew_rank, generator=generator)
        F[:, : options.rank] *= _SYMMETRIC_SCALE / math.sqrt(options.rank)
        F[:, options.rank :] /= math.sqrt(max(skew_rank, 1))
        F *= share.sqrt()[:, None]
    core: MiddleMatrix
    if options.kernel == "tied":
        D = torch.randn(options.rank, options.rank, generator=generator)
        core = TiedMiddleMatrix(D if options.init == "paper" else D / math.sqrt(options.rank))
    else:
        core = PairedMiddleMatrix(options.rank, torch.zeros(skew_rank // 2))
    return KernelParameters(F, core, share.log() if options.diagonal else None, options.rank)


def item_counts(baskets: Baskets) -> Tensor:
    """μ, each item's number of training baskets; at least 1, to divide by it."""
    return torch.from_numpy(np.maximum(baskets.counts, 1)).float()
