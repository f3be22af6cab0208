"""The inverse of L_Y for a small set Y, without the items that add no information to the others."""

from __future__ import annotations

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector

_TOLERANCE = 1e-10  # pivots below this share of an item's scale are rounding errors


def decoupled(block: Matrix, weights: Vector, decoupling: float) -> Matrix:
    """L̃_Y = (1−ω) L_Y + ω Diag(L_Y) from F_Y X F_Yᵀ and the L_ii, of one set or a stack of sets.

    ω = 0 is exact conditioning; with ω = 1 the items of Y do not interact.
    """
    n = block.shape[-1]
    result = (1 - decoupling) * block
    result.reshape(*block.shape[:-2], n * n)[..., :: n + 1] = weights
    return result


def invert(block: Matrix, scales: Vector) -> tuple[Indices, Matrix]:
    """The positions of informative items, ascending, and the inverse of `block` restricted to them.

    The kernel's symmetric part is positive semidefinite, so linearly independent rows give an invertible
    principal submatrix, and every maximal choice of them conditions the other items in the same way.
    """
    if scales.all():
        products = scales[:, None] * scales
        inverse = _safe_inverse(block / products)
        if inverse is not None:
            inverse /= products
            return np.arange(len(block)), inverse
    kept = np.flatnonzero(scales)
    scaled = block[np.ix_(kept, kept)] / np.outer(scales[kept], scales[kept])
    order = _independent_rows(scaled)
    while len(order):
        chosen = np.sort(order)
        inverse = _safe_inverse(scaled[np.ix_(chosen, chosen)])
        if inverse is not None:
            return kept[chosen], inverse / np.outer(scales[kept[chosen]], scales[kept[chosen]])
        order = order[:-1]
    return order, np.zeros((0, 0))


def invert_stack(blocks: Matrix, scales: Vector) -> Matrix | None:
    """The inverses of a stack (g, n, n), or None if any of the sets has an item that adds no information."""
    if not scales.all():
        return None
    products = scales[:, :, None] * scales[:, None, :]
    inverses = _safe_inverse(blocks / products)
    return None if inverses is None else inverses / products


def _safe_inverse(scaled: Matrix) -> Matrix | None:
    """The inverse of a matrix or of each in a stack; None if one would consist mostly of rounding errors."""
    try:
        inverse: Matrix = np.linalg.inv(scaled).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    largest = np.abs(inverse).max(initial=0.0)
    return inverse if largest <= 1 / _TOLERANCE else None  # the comparison is false for NaN


def _independent_rows(scaled: Matrix) -> Indices:
    """Rows in the order of a pivoted Gram-Schmidt: largest remainder first, ties to the lower row."""
    remainder = np.hstack([scaled, scaled.T])
    order: list[int] = []
    for _ in range(len(scaled)):
        lengths = np.einsum("ij,ij->i", remainder, remainder)
        lengths[order] = 0.0
        pivot = int(np.argmax(lengths))
        if lengths[pivot] <= _TOLERANCE**2:
            break
        direction = remainder[pivot] / np.sqrt(lengths[pivot])
        remainder = remainder - np.outer(remainder @ direction, direction)
        order.append(pivot)
    return np.array(order, dtype=np.intp)
