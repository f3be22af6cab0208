"""What each of many carts may be answered, as arrays over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.kernel import BLOCK, Indices, Kernel, Matrix, Vector
from ndpp.scan import SLACK, BoolVector, is_among
from ndpp.tilt import Tilt


@dataclass(frozen=True, eq=False)
class BatchTilt:
    """The carts' tilts together with the rows that are banned from their answers (the carts themselves)."""

    kernel: Kernel
    tilts: Sequence[Tilt]
    banned: Sequence[Indices]

    @cached_property
    def listed(self) -> tuple[Indices, Indices, Vector]:
        """Carts, rows and factors of all sparse parts."""
        carts = _numbered([len(tilt.rows) for tilt in self.tilts])
        rows = np.concatenate([tilt.rows for tilt in self.tilts])
        return carts, rows, np.concatenate([tilt.factors for tilt in self.tilts])

    @cached_property
    def _banned_pairs(self) -> tuple[Indices, Indices]:
        return _numbered([len(rows) for rows in self.banned]), np.concatenate(self.banned)

    @cached_property
    def _bases(self) -> tuple[list[Vector | None], Indices]:
        """The different dense parts, and which of them each cart has: often all share one."""
        different = {id(tilt.base): tilt.base for tilt in self.tilts}
        order = {key: place for place, key in enumerate(different)}
        return list(different.values()), np.array([order[id(t.base)] for t in self.tilts], dtype=np.intp)

    def bases(self, rows: slice | Indices, carts: Indices) -> Matrix:
        """The dense parts of τ² of some carts at some rows, (carts, rows), or one row if all are equal."""
        bases, base_of = self._bases
        if len(bases) == 1:
            carts = carts[:1]
        ones = np.ones(len(self.kernel.weights[rows]))
        found = {n: ones if (base := bases[n]) is None else base[rows] for n in set(base_of[carts].tolist())}
        return np.array([found[n] for n in base_of[carts].tolist()])

    def base_at(self, carts: Indices, rows: Indices) -> Vector:
        """The dense part of τ² for pairs of a cart and a row."""
        bases, base_of = self._bases
        values = np.ones(len(rows))
        for number, base in enumerate(bases):
            if base is not None:
                mine = base_of[carts] == number
                values[mine] = base[rows[mine]]
        return values

    def among(self, rows: Indices) -> Matrix:
        """τ² of all carts at ascending `rows`, (carts, rows), with 0 where a row is banned."""
        everyone = np.arange(len(self.tilts))
        factors = np.broadcast_to(self.bases(rows, everyone), (len(self.tilts), len(rows))).copy()
        carts, listed, values = self.listed
        here = np.flatnonzero(is_among(listed, rows))
        factors[carts[here], np.searchsorted(rows, listed[here])] *= values[here]
        carts, banned = self._banned_pairs
        here = np.flatnonzero(is_among(banned, rows))
        factors[carts[here], np.searchsorted(rows, banned[here])] = 0.0
        return factors

    def is_banned(self, carts: Indices, rows: Indices) -> BoolVector:
        """Which pairs of a cart and a row are banned."""
        return is_among(self._keys(carts, rows), self._banned_keys)

    def is_apart(self, carts: Indices, rows: Indices) -> BoolVector:
        """Which pairs blocks pass over: banned, or scored before because listed or among the strongest."""
        return is_among(self._keys(carts, rows), self._apart_keys) | is_among(rows, self.kernel.strongest)

    def _keys(self, carts: Indices, rows: Indices) -> Indices:
        """One number for each pair."""
        return carts * self.kernel.size + rows

    @cached_property
    def _banned_keys(self) -> Indices:
        return np.sort(self._keys(*self._banned_pairs))

    @cached_property
    def _apart_keys(self) -> Indices:
        return np.sort(np.concatenate([self._banned_keys, self._keys(*self.listed[:2])]))

    @property
    def has_bases(self) -> bool:
        """Whether some tilt has a dense part."""
        return any(base is not None for base in self._bases[0])

    def block_peaks(self, growths: Vector) -> Matrix:
        """For each cart and block the highest score that rows apart from the strongest can have."""
        bases, base_of = self._bases
        peaks = [self._peaks_under(base) for base in bases]
        weights, norms = (np.array([peak[side] for peak in peaks])[base_of] for side in (0, 1))
        bounds: Matrix = (weights + growths[:, None] * norms) * SLACK
        return bounds

    def _peaks_under(self, base: Vector | None) -> tuple[Vector, Vector]:
        if base is None:
            return self.kernel.block_peaks
        starts = np.arange(0, self.kernel.size, BLOCK)
        rest = base.copy()
        rest[self.kernel.strongest] = 0.0
        weights, norms = (
            np.maximum.reduceat(rest * strength, starts)
            for strength in (self.kernel.weights, self.kernel.squared_norms)
        )
        weights[np.maximum.reduceat(rest, starts) == 0] = -np.inf
        return weights, norms


def _numbered(counts: list[int]) -> Indices:
    return np.repeat(np.arange(len(counts)), counts)
