"""Generated kernels similar to trained ones: popularity falls as 1/rank, and items belong to topics."""

from __future__ import annotations

import numpy as np

from ndpp import Kernel

TOPICS = 200


def zipf_kernel(items: int, rank: int) -> Kernel:
    """A scalable kernel in float32: ‖v_i‖² ~ 9 p_i, ‖b_i‖² ~ p_i and d_i = p_i, as training begins."""
    rng = np.random.default_rng(0)
    shares = 0.3 / np.arange(1, items + 1)
    symmetric = rank // 2
    lengths = np.sqrt(shares).astype(np.float32)[:, None]
    factors = rng.standard_normal((items, rank), dtype=np.float32)
    topics = rng.standard_normal((TOPICS, rank), dtype=np.float32)
    topic_of = rng.integers(0, TOPICS, items)
    for start in range(0, items, 65_536):  # in blocks, to avoid a second copy of a large catalogue
        rows = slice(start, start + 65_536)
        factors[rows] += topics[topic_of[rows]]
        factors[rows] *= lengths[rows] / np.float32(np.sqrt(2))
    factors[:, :symmetric] *= np.float32(3 / np.sqrt(symmetric))
    factors[:, symmetric:] *= np.float32(1 / np.sqrt(rank - symmetric))
    core = np.eye(rank)
    core[symmetric:, symmetric:] = 0
    for first in range(symmetric, rank - 1, 2):
        core[first, first + 1], core[first + 1, first] = 1.0, -1.0
    return Kernel(factors, core, shares)


def popular_carts(items: int, size: int, count: int) -> list[list[int]]:
    """Random carts in which rows occur in proportion to 1/rank, as popular items do in shops."""
    rng = np.random.default_rng(1)
    carts = []
    for _ in range(count):
        rows = np.exp(rng.uniform(0, np.log(items), 4 * size)).astype(np.intp) - 1
        carts.append([int(row) for row in dict.fromkeys(rows.tolist())][:size])
    return carts
