"""Drawing a whole basket from the distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ndpp.conditional import condition
from ndpp.kernel import BLOCK, Indices, Kernel, Matrix, Vector, add_identity
from ndpp.tilt import NO_TILT, Tilt


def sample(
    kernel: Kernel,
    rng: np.random.Generator,
    *,
    cart: ArrayLike = (),
    tilt: Tilt | None = None,
    decoupling: float = 0.0,
) -> Indices:
    """The items that complete a basket around `cart`, ascending: exact, in O(M R²).

    Goes through the items once; each is in or out by its probability given all decisions before it
    (Poulson 2019, on the low-rank marginal kernel). With ω > 0 the conditional kernel may not be a proper
    one; probabilities are then cut to [0, 1].
    """
    state = condition(kernel, cart, decoupling=decoupling)
    tilt = tilt or NO_TILT
    tilt.check(kernel.size)
    weights = tilt.dense(kernel.size)
    weights[state.cart] = 0.0
    closed = 1 / (1 + weights * kernel.diagonal)  # 1/(1+d)
    core = _marginal_core(kernel, kernel.core - state.left @ state.right, weights * closed)
    scale = np.sqrt(weights) * closed
    chosen: list[int] = []
    for start in range(0, kernel.size, BLOCK):
        rows = slice(start, min(start + BLOCK, kernel.size))
        factors = kernel.factors[rows] * scale[rows, None]
        chosen += [start + offset for offset in _decide(factors, 1 - closed[rows], core, rng)]
    return np.array(chosen, dtype=np.intp)


def _marginal_core(kernel: Kernel, core: Matrix, weights: Vector) -> Matrix:
    """Z with K = I − (L + I)⁻¹ = Diag(d/(1+d)) + F' Z F'ᵀ."""
    gram = np.zeros((kernel.rank, kernel.rank))
    for rows in kernel.blocks():
        block = kernel.factors[rows].astype(np.float64)
        gram += block.T @ (block * weights[rows, None])
    return add_identity(core, gram, kernel.core_norm, float(np.trace(gram)))[1]


def _decide(factors: Matrix, diagonal: Vector, core: Matrix, rng: np.random.Generator) -> list[int]:
    """Items of one block that are in; `core` is updated in place with every decision."""
    chosen = []
    for offset, (factor, own, chance) in enumerate(
        zip(factors, diagonal, rng.random(len(factors)), strict=True)
    ):
        column, row = core @ factor, factor @ core
        probability = min(max(float(own + factor @ column), 0.0), 1.0)
        if chance < probability:
            chosen.append(offset)
            core -= np.outer(column, row / probability)
        elif probability < 1:
            core += np.outer(column, row / (1 - probability))
    return chosen
