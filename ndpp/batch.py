"""Many carts at once: one pass over F serves them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.conditional import Conditional, condition
from ndpp.kernel import FloatArray, Kernel
from ndpp.scan import Ranking
from ndpp.tilt import Tilt
from ndpp.topk import top_k


@dataclass(frozen=True, eq=False)
class ConditionalBatch:
    """Conditioned carts over one kernel; `states[i]` is the i-th cart's own Conditional."""

    kernel: Kernel
    states: tuple[Conditional, ...]

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def _columns(self) -> FloatArray:
        """Every cart's left and right columns side by side, in the precision of F."""
        parts = [side for state in self.states for side in (state.left, state.right.T)]
        stacked = np.hstack(parts) if parts else np.empty((self.kernel.rank, 0))
        return np.ascontiguousarray(stacked, dtype=self.kernel.factors.dtype)

    def gains(self, rows: slice | None = None) -> FloatArray:
        """Gains of every cart for a range of rows, (carts, rows), in the precision of F, never negative."""
        first, last, _ = (rows or slice(None)).indices(self.kernel.size)
        out = np.empty((len(self), last - first), dtype=self.kernel.factors.dtype)
        for start in range(first, last, 2048):
            part = slice(start, min(start + 2048, last))
            images = self.kernel.factors[part] @ self._columns
            weights = self.kernel.weights[part]
            offset = 0
            for number, state in enumerate(self.states):
                width = len(state.used)
                left = images[:, offset : offset + width]
                right = images[:, offset + width : offset + 2 * width]
                used_up = np.einsum("im,im->i", left, right)
                out[number, start - first : part.stop - first] = weights - used_up
                offset += 2 * width
        np.maximum(out, 0, out=out)
        for number, state in enumerate(self.states):
            inside = state.cart[(state.cart >= first) & (state.cart < last)]
            out[number, inside - first] = 0
        return out

    def top_k(self, k: int, tilts: Sequence[Tilt | None] | None = None) -> list[Ranking]:
        """The exact top k of every cart, each with its own tilt."""
        given = [None] * len(self) if tilts is None else tilts
        if len(given) != len(self):
            raise ValueError(f"{len(self)} carts need one tilt each, got {len(given)}")
        return [top_k(state, k, tilt) for state, tilt in zip(self.states, given, strict=True)]


def condition_many(
    kernel: Kernel, carts: Iterable[ArrayLike], *, decoupling: float = 0.0
) -> ConditionalBatch:
    """Condition `kernel` on many carts at once."""
    return ConditionalBatch(kernel, tuple(condition(kernel, cart, decoupling=decoupling) for cart in carts))
