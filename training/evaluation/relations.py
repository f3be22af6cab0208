"""The strongest complements and substitutes that a kernel has learned, by name and with their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndpp import Kernel
from training.baskets import Baskets
from training.incidence import co_counts

POPULAR = 2000  # only pairs among so many of the most bought items: their lifts rest on many baskets
ENOUGH_BASKETS = 5  # baskets seen (complements) or expected (substitutes) with both items
SHOWN = 12
PAIRS_PER_ITEM = 2  # so that one item cannot fill the list


@dataclass(frozen=True)
class Pair:
    """Two items: the model's lift P(both) / (P(one) P(other)), and what the baskets say."""

    first: str
    second: str
    lift: float
    together: int  # baskets that hold both
    by_chance: float  # baskets that would, were the two bought independently


@dataclass(frozen=True)
class Relations:
    """Pairs with the highest and the lowest lift."""

    complements: tuple[Pair, ...]
    substitutes: tuple[Pair, ...]


def strongest_relations(kernel: Kernel, names: Sequence[str], baskets: Baskets) -> Relations:
    """Scan all pairs among the popular items of `baskets`, whose rows are the kernel's."""
    size = min(POPULAR, kernel.size)
    popular = np.sort(np.argsort(-baskets.counts, kind="stable")[:size])
    first, second = np.triu_indices(size, k=1)
    lift = marginal_lifts(kernel, popular)[first, second]
    together = co_counts(baskets)[popular][:, popular].toarray()[first, second].astype(np.int64)
    counts = baskets.counts[popular]
    by_chance = counts[first] * counts[second] / max(len(baskets), 1)

    def pairs(chosen: NDArray[np.intp]) -> tuple[Pair, ...]:
        candidates = (
            Pair(
                names[popular[first[i]]],
                names[popular[second[i]]],
                float(lift[i]),
                int(together[i]),
                float(by_chance[i]),
            )
            for i in chosen
        )
        return _varied(candidates)

    # A pair is shown only where the baskets do not contradict the model.
    attracted = (lift > 1) & (together >= ENOUGH_BASKETS) & (together > by_chance)
    replaced = (lift < 1) & (by_chance >= ENOUGH_BASKETS) & (together < by_chance)
    order = np.argsort(lift, kind="stable")
    return Relations(pairs(order[::-1][attracted[order[::-1]]]), pairs(order[replaced[order]]))


def marginal_lifts(kernel: Kernel, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """P(i and j in the basket) / (P(i) P(j)) = 1 − K_ij K_ji / (K_ii K_jj) with K = I − (I + L)⁻¹.

    Unlike the same ratio of L's entries, which compares baskets of exactly two items with baskets of one, it
    can be held against counts.
    """
    factors = kernel.factors.astype(np.float64)
    shrink = 1 / (1 + kernel.diagonal)
    gram = factors.T @ (shrink[:, None] * factors)
    inner = np.linalg.solve(np.eye(kernel.rank) + kernel.core @ gram, kernel.core)  # (R, R)
    chosen = shrink[rows, None] * factors[rows]  # (n, R)
    K = chosen @ inner @ chosen.T + np.diag(1 - shrink[rows])
    alone = np.maximum(np.diag(K), np.finfo(np.float64).tiny)
    lift: NDArray[np.float64] = np.maximum(1 - (K / alone[:, None]) * (K.T / alone[None, :]), 0)
    return lift


def _varied(candidates: Iterable[Pair]) -> tuple[Pair, ...]:
    """The first pairs in which no item comes too often."""
    seen: Counter[str] = Counter()
    shown: list[Pair] = []
    for pair in candidates:
        if seen[pair.first] < PAIRS_PER_ITEM and seen[pair.second] < PAIRS_PER_ITEM:
            shown.append(pair)
            seen.update((pair.first, pair.second))
        if len(shown) == SHOWN:
            break
    return tuple(shown)
