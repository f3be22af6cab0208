"""A kernel while it is being learned: one matrix F for all its factors, the core's parameters, log d."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ndpp import Kernel
from training.baskets import Baskets
from training.core import Core, PairedCore, TiedCore
from training.options import FitOptions

_SYMMETRIC_SCALE = 3.0  # found by trial: V's rows start at 3√p, B's at √p, with p the item's share of baskets


class Trainable:
    """The parameters of one kernel; `options` must name its ranks."""

    def __init__(self, F: Tensor, core: Core, log_d: Tensor | None, rank: int) -> None:
        self.F = F  # (M, R): the rank columns of V, then those of B
        self.core = core
        self.log_d = log_d  # (M,), None for a kernel without a diagonal
        self.rank = rank

    def tensors(self) -> dict[str, Tensor]:
        """What is learned, by name."""
        tensors = {"F": self.F, "core": self.core.parameters}
        return tensors if self.log_d is None else {**tensors, "log_d": self.log_d}

    def diagonal(self) -> Tensor:
        """d, (M,)."""
        return torch.zeros(len(self.F)) if self.log_d is None else self.log_d.exp()

    def kernel(self) -> Kernel:
        """The learned kernel in the form that everything else uses; F is shared, not copied."""
        return Kernel(self.F.numpy(), self.core.matrix().double().numpy(), self.diagonal().double().numpy())


def initialise(baskets: Baskets, options: FitOptions) -> Trainable:
    """Random parameters to start from, the same for the same seed."""
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
    core: Core
    if options.kernel == "tied":
        D = torch.randn(options.rank, options.rank, generator=generator)
        core = TiedCore(D if options.init == "paper" else D / math.sqrt(options.rank))
    else:
        core = PairedCore(options.rank, torch.zeros(skew_rank // 2))
    return Trainable(F, core, share.log() if options.diagonal else None, options.rank)


def item_counts(baskets: Baskets) -> Tensor:
    """μ, the occurrences in the training set; an item that only others bought counts as bought once."""
    return torch.from_numpy(np.maximum(baskets.counts, 1)).float()
