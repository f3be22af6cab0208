"""Many carts at once: one pass over F serves them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.batch_scan import BatchForm, best_rows_of_each
from ndpp.conditional import Conditional, check_decoupling, check_rows, condition, distinct
from ndpp.evidence import decoupled, invert_stack, item_scales
from ndpp.gains import growths
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel
from ndpp.scan import Ranking
from ndpp.tilt import NO_TILT, Tilt
from ndpp.topk import gain_scoring


@dataclass(frozen=True, eq=False)
class ConditionalBatch:
    """Conditioned carts over one kernel; `states[i]` is the i-th cart's own Conditional."""

    kernel: Kernel
    states: tuple[Conditional, ...]

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def _form(self) -> BatchForm:
        return BatchForm(self.kernel, tuple(state.form for state in self.states))

    def gains(self, rows: slice | None = None) -> FloatArray:
        """Gains of every cart for a range of rows, (carts, rows), in the precision of F, never negative."""
        first, last, _ = (rows or slice(None)).indices(self.kernel.size)
        gains = np.empty((len(self), max(last - first, 0)), dtype=self.kernel.factors.dtype)
        for start in range(first, last if self.states else first, BLOCK):
            part = slice(start, min(start + BLOCK, last))
            raw = self._form.scan(self.kernel.factors[part], part)
            gains[:, start - first : part.stop - first] = np.maximum(raw, 0).T
        for number, state in enumerate(self.states):
            inside = state.cart[(state.cart >= first) & (state.cart < last)]
            gains[number, inside - first] = 0
        return gains

    def top_k(self, k: int, tilts: Sequence[Tilt | None] | None = None) -> list[Ranking]:
        """The exact top k of every cart, each with its own tilt."""
        given = [None] * len(self) if tilts is None else tilts
        if len(given) != len(self):
            raise ValueError(f"{len(self)} carts need one tilt each, got {len(given)}")
        chosen = [tilt or NO_TILT for tilt in given]
        for tilt in chosen:
            tilt.check(self.kernel.size)
        scorings = [gain_scoring(state) for state in self.states]
        return best_rows_of_each(self._form, scorings, k, chosen, [state.cart for state in self.states])


def condition_many(
    kernel: Kernel, carts: Iterable[ArrayLike], *, decoupling: float = 0.0
) -> ConditionalBatch:
    """Condition `kernel` on many carts at once: carts of one size share their linear algebra."""
    check_decoupling(decoupling)
    rows = [distinct(check_rows(cart, kernel.size, "cart row")) for cart in carts]
    states: dict[int, Conditional] = {}
    for size in {len(cart) for cart in rows}:
        group = [number for number, cart in enumerate(rows) if len(cart) == size]
        states.update(zip(group, _condition_group(kernel, [rows[i] for i in group], decoupling), strict=True))
    return ConditionalBatch(kernel, tuple(states[number] for number in range(len(rows))))


def _condition_group(kernel: Kernel, carts: list[Indices], decoupling: float) -> list[Conditional]:
    """`condition` for carts of one size as stacked products; carts with idle items one by one."""
    ordered = np.sort(np.array(carts, dtype=np.intp).reshape(len(carts), -1), axis=1)  # (g, n)
    factors = kernel.factors[ordered].astype(np.float64)  # (g, n, R)
    flat = factors.reshape(-1, kernel.rank)
    right, columns = ((flat @ core).reshape(factors.shape) for core in (kernel.core, kernel.core.T))
    diagonals = kernel.diagonal[ordered][:, :, None] * np.eye(ordered.shape[1])
    blocks = decoupled(right @ factors.transpose(0, 2, 1) + diagonals, decoupling)
    inverses = invert_stack(blocks, item_scales(kernel, factors, ordered))
    if inverses is None:
        return [condition(kernel, cart, decoupling=decoupling) for cart in carts]
    left = (inverses.transpose(0, 2, 1) @ columns).transpose(0, 2, 1)  # (g, R, n)
    states = [
        Conditional(kernel, cart, decoupling, *parts)
        for cart, *parts in zip(carts, ordered, inverses, left, right, strict=True)
    ]
    # What a scan will want of each form is found faster for all together.
    lengths = np.sqrt(np.einsum("grn,grn->gn", left, left) * np.einsum("gnr,gnr->gn", right, right))
    for state, spread in zip(states, kernel.core_norm + lengths.sum(axis=1), strict=True):
        state.form.__dict__["spread"] = float(spread)
    if kernel.size > BLOCK:
        for state, growth in zip(states, growths(left, right), strict=True):
            state.form.__dict__["growth"] = float(growth)
    return states
