"""The set with the highest P(S | Y) under constraints: greedy, then exchanges of one and two items.

Single exchanges cannot replace two items that belong together, so the search also adds and exchanges pairs.
Greedy rarely finds a large set that anyone has bought, so for those it also starts from the items of counted
baskets. It is a local search over the candidates of the prediction, not an exact one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.sets.constraints import CandidateConstraints, Constraints
from ndpp.sets.prediction import SetPrediction

_IMPROVES = 1e-9
_MOST_EXCHANGES = 30
_PAIRS_UP_TO = 6  # in larger sets only single items are exchanged
_LARGE = 4  # larger sets are also taken from baskets,
_FROM_BASKETS = 10  # the heaviest of those that hold so many candidates


def best_set(prediction: SetPrediction, size: int, constraints: Constraints) -> Indices:
    """The rows of the best set of `size` items found, including `constraints.include`.

    They are in the order in which they were added. The set is smaller if too few candidates fit.
    """
    limits = constraints.at(prediction.candidates)
    search = _Search(prediction, limits, min(size, limits.affordable))
    found = [search.grown(search.limits.include, by_pairs) for by_pairs in (False, True)]
    if search.size > _LARGE:
        found.append(search.from_baskets())
    longest = max(len(chosen) for chosen in found)
    improved = [search.exchanged(chosen) for chosen in found if len(chosen) == longest]
    best = max(improved, key=search.worth)
    rows: Indices = prediction.candidates[search.in_order(best)]
    return rows


class _Search:
    def __init__(self, prediction: SetPrediction, limits: CandidateConstraints, size: int) -> None:
        self.prediction, self.limits, self.size = prediction, limits, size
        self._adding: dict[frozenset[int], Vector] = {}  # the moves of both starts meet the same sets
        self._adding_two: dict[frozenset[int], Matrix] = {}

    def adding(self, chosen: Sequence[int]) -> Vector:
        """P(S + i | Y) of every candidate i."""
        key = frozenset(chosen)
        if key not in self._adding:
            self._adding[key] = self.prediction.adding(chosen)
        return self._adding[key]

    def adding_two(self, chosen: Sequence[int]) -> Matrix:
        """P(S + i + j | Y) of every two candidates."""
        key = frozenset(chosen)
        if key not in self._adding_two:
            self._adding_two[key] = self.prediction.adding_two(chosen)
        return self._adding_two[key]

    def worth(self, chosen: Sequence[int]) -> float:
        """log P(S | Y) + Σ log factor."""
        if not chosen:
            return -np.inf
        return float(np.log(self.adding(chosen[:-1])[chosen[-1]])) + self.limits.worth_of(chosen)

    def grown(self, chosen: Sequence[int], by_pairs: bool) -> list[int]:
        """Add the best items, one or two at a time, until the set has its size or nothing fits."""
        grown = list(chosen)
        while len(grown) < self.size:
            two = by_pairs and len(grown) + 2 <= self.size
            added = (self._best_two(grown) if two else None) or self._best_one(grown)
            if added is None:
                break
            grown += added
        return grown

    def from_baskets(self) -> list[int]:
        """The best of the sets of likely items that a counted basket holds."""
        members = self.prediction.members
        full = np.flatnonzero(members.sum(axis=1) >= self.size)
        heaviest = full[np.argsort(-self.prediction.weights[full], kind="stable")[:_FROM_BASKETS]]
        found = [self._within(members[basket] > 0) for basket in heaviest.tolist()]
        return max(found, key=lambda chosen: (len(chosen), self.worth(chosen)), default=[])

    def _within(self, allowed: NDArray[np.bool_]) -> list[int]:
        """The required items and the likeliest allowed ones."""
        chosen = list(self.limits.include)
        while len(chosen) < self.size:
            logs = np.log(self.prediction.singles) + self.limits.one_more(chosen, self.size)
            logs[~allowed] = -np.inf
            if not len(logs) or logs.max() == -np.inf:
                break
            chosen.append(int(np.argmax(logs)))
        return chosen

    def exchanged(self, chosen: list[int]) -> list[int]:
        """Exchange one or two items as long as that improves the set."""
        best, worth = chosen, self.worth(chosen)
        for _ in range(_MOST_EXCHANGES):
            better = self._best_exchange(best, worth)
            if better is None:
                break
            best, worth = better, self.worth(better)
        return best

    def _best_exchange(self, chosen: list[int], worth: float) -> list[int] | None:
        free = [place for place in chosen if place not in self.limits.include]
        steps: list[tuple[int, Callable[[list[int]], list[int] | None]]] = [(1, self._best_one)]
        if len(chosen) <= _PAIRS_UP_TO:
            steps.append((2, self._best_two))
        for number, best in steps:  # a pair is exchanged only if no single item can be
            tried = []
            for removed in combinations(free, number):
                rest = [place for place in chosen if place not in removed]
                added = best(rest)
                if added is not None:
                    tried.append(rest + added)
            if tried:
                candidate = max(tried, key=self.worth)
                if self.worth(candidate) > worth + _IMPROVES:
                    return candidate
        return None

    def _best_one(self, chosen: list[int]) -> list[int] | None:
        logs = np.log(self.adding(chosen)) + self.limits.one_more(chosen, self.size)
        best = int(np.argmax(logs)) if len(logs) else 0
        return [best] if len(logs) and logs[best] > -np.inf else None

    def _best_two(self, chosen: list[int]) -> list[int] | None:
        logs = np.log(self.adding_two(chosen)) + self.limits.two_more(chosen, self.size)
        if not logs.size:
            return None
        one, other = (int(place) for place in np.unravel_index(int(np.argmax(logs)), logs.shape))
        return [one, other] if logs[one, other] > -np.inf else None

    def in_order(self, chosen: list[int]) -> list[int]:
        """The required items, then the others in the order in which greedy adds them within the set."""
        ordered, rest = list(self.limits.include), [p for p in chosen if p not in self.limits.include]
        while rest:
            adding = self.adding(ordered)
            following = max(rest, key=lambda place: adding[place])
            ordered.append(following)
            rest.remove(following)
        return ordered
