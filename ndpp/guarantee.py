"""How good greedy MAP is guaranteed to be: Theorem 2 of the paper and its corollary, for small kernels."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ndpp.kernel import Matrix

MOST_SETS = 500_000
_SHARE = 4 * (1 - math.exp(-1 / 4))  # 4(1 − e^{−1/4}), the best possible ratio


@dataclass(frozen=True)
class Guarantee:
    """Bounds on log det(L_G) of greedy's set from log det(L_*) of the best set of k items."""

    k: int
    smallest: float  # σ_min over all principal blocks of up to 2k items
    largest: float  # σ_max

    @property
    def ratio(self) -> float | None:
        """Theorem 2: log det(L_G) ≥ ratio · log det(L_*); None unless σ_min > 1, which it assumes."""
        if self.smallest <= 1:
            return None
        return _SHARE / (2 * math.log(self.largest) / math.log(self.smallest) - 1)

    @property
    def log_condition(self) -> float:
        """log(σ_max / σ_min); infinite for singular blocks, for which the corollary says nothing."""
        return math.log(self.largest / self.smallest) if self.smallest > 0 else math.inf

    def lower_bound(self, best_log_det: float) -> float:
        """Corollary 1: the least log det(L_G) can be, without an assumption on σ_min."""
        if self.smallest <= 0:
            return -math.inf
        ratio = _SHARE / (2 * self.log_condition + 1)
        return ratio * best_log_det - (1 - ratio) * self.k * (1 - math.log(self.smallest))


def greedy_guarantee(L: Matrix, k: int, *, block_size: int | None = None) -> Guarantee:
    """The guarantee for a dense kernel, from the singular values of all its blocks of up to 2k items.

    `block_size` replaces 2k: the paper's appendix has kernels of rank k, whose larger blocks are singular.
    """
    size = len(L)
    top = min(size, 2 * k if block_size is None else block_size)
    count = sum(math.comb(size, n) for n in range(1, top + 1))
    if k < 1 or count > MOST_SETS:
        raise ValueError(
            f"the guarantee for k = {k} of {size} items looks at {count:,} blocks; "
            f"it needs k ≥ 1 and at most {MOST_SETS:,} blocks: choose a smaller kernel or k"
        )
    smallest, largest = math.inf, 0.0
    for n in range(1, top + 1):
        sets = np.array(list(itertools.combinations(range(size), n)), dtype=np.intp)
        values = np.linalg.svd(L[sets[:, :, None], sets[:, None, :]], compute_uv=False)
        smallest, largest = min(smallest, float(values.min())), max(largest, float(values.max()))
    return Guarantee(k, smallest, largest)
