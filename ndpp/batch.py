"""Many carts at once: one pass over F serves them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.batch_form import BatchForm, CartGroup
from ndpp.batch_scan import best_rows_of_each
from ndpp.conditional import Conditional, check_decoupling, check_rows, condition, distinct
from ndpp.evidence import decoupled, invert_stack
from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel
from ndpp.scan import Ranking
from ndpp.tilt import NO_TILT, Tilt


@dataclass(frozen=True, eq=False)
class ConditionalBatch:
    """Conditioned carts over one kernel; `states[i]` is the i-th cart's own Conditional."""

    form: BatchForm
    carts: tuple[Indices, ...]  # as given, each row once
    decoupling: float

    @property
    def kernel(self) -> Kernel:
        """The kernel that was conditioned."""
        return self.form.kernel

    def __len__(self) -> int:
        return len(self.carts)

    @cached_property
    def states(self) -> tuple[Conditional, ...]:
        """The carts one by one."""
        states: dict[int, Conditional] = {}
        for group in self.form.groups:
            stacked = zip(group.used, group.inverse, group.left, group.right, strict=True)
            for number, parts in zip(group.numbers.tolist(), stacked, strict=True):
                states[number] = Conditional(self.kernel, self.carts[number], self.decoupling, *parts)
        return tuple(states[number] for number in range(len(self)))

    def gains(self, rows: slice | None = None) -> FloatArray:
        """Gains of every cart for a range of rows, (carts, rows), in the precision of F, never negative."""
        first, last, _ = (rows or slice(None)).indices(self.kernel.size)
        gains = np.empty((len(self), max(last - first, 0)), dtype=self.kernel.factors.dtype)
        for start in range(first, last if self.carts else first, BLOCK):
            part = slice(start, min(start + BLOCK, last))
            raw = self.form.scan(self.kernel.factors[part], part)
            np.maximum(raw, 0, out=gains[:, start - first : part.stop - first])
        for number, cart in enumerate(self.carts):
            inside = cart[(cart >= first) & (cart < last)]
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
        return best_rows_of_each(self.form, k, chosen, self.carts)


def condition_many(
    kernel: Kernel, carts: Iterable[ArrayLike], *, decoupling: float = 0.0
) -> ConditionalBatch:
    """Condition `kernel` on many carts at once: carts of one size share their linear algebra."""
    check_decoupling(decoupling)
    rows = tuple(distinct(check_rows(cart, kernel.size, "cart row")) for cart in carts)
    numbers_of: dict[int, list[int]] = {}
    for number, cart in enumerate(rows):
        numbers_of.setdefault(len(cart), []).append(number)
    groups = [
        group
        for numbers in numbers_of.values()
        for group in _condition_group(
            kernel,
            np.array(numbers, dtype=np.intp),
            np.array([rows[number] for number in numbers], dtype=np.intp),
            decoupling,
        )
    ]
    return ConditionalBatch(BatchForm(kernel, len(rows), tuple(groups)), rows, decoupling)


def _condition_group(kernel: Kernel, numbers: Indices, carts: Indices, decoupling: float) -> list[CartGroup]:
    """`condition` for carts (g, n) of one size as stacked products.

    Carts with items that add nothing are conditioned alone; halving the group finds them.
    """
    ordered = np.sort(carts, axis=1)
    factors = kernel.factors[ordered].astype(np.float64)  # (g, n, R)
    right = kernel.times_core(factors)
    blocks = decoupled(right @ factors.transpose(0, 2, 1), kernel.weights[ordered], decoupling)
    inverses = invert_stack(blocks, kernel.item_scales[ordered])
    if inverses is not None:
        left = inverses.transpose(0, 2, 1) @ kernel.times_core_transposed(factors)  # (g, n, R)
        return [CartGroup(numbers, ordered, inverses, left.transpose(0, 2, 1), right)]
    if len(numbers) == 1:
        alone = condition(kernel, carts[0], decoupling=decoupling)
        return [
            CartGroup(numbers, alone.used[None], alone.inverse[None], alone.left[None], alone.right[None])
        ]
    halves = zip(np.array_split(numbers, 2), np.array_split(carts, 2), strict=True)
    return [group for half in halves for group in _condition_group(kernel, *half, decoupling)]
