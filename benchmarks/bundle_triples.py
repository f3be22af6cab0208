"""Bundles of three items from nothing, by Tripod, by counting and by the determinant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bundle_measures import shares
from benchmarks.bundle_peers import Trained
from ndpp import BasketIndex, Kernel, RelatedItems
from ndpp.kernel import Indices
from ndpp.sets import Constraints, disjoint
from ndpp.sets.attraction import LEAST_LIFT
from training.basket_matrix import co_occurrences
from training.baskets import Baskets
from training.next_item.basket_index import index_baskets

BUNDLES, SIZE = 50, 3
STARTS = 20_000  # pairs that Tripod's sets are grown from
_DETERMINANT_STARTS = 2_000
_FEWEST_PAIRS = 2_000  # pairs in the first attempt to count triples

Triple = tuple[int, ...]


class Attracted:
    """The pairs of items with a lift of at least LEAST_LIFT in the known baskets."""

    def __init__(self, relations: RelatedItems, known: Baskets) -> None:
        together = co_occurrences(known).tocoo()
        upper = together.row < together.col
        first, second = together.row[upper].astype(np.intp), together.col[upper].astype(np.intp)
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        strong = _lifts(relations, first, second) >= LEAST_LIFT
        counts = together.data[upper][order][strong].astype(np.int64)
        most_first = np.argsort(-counts, kind="stable")
        self.first, self.second = first[strong][most_first], second[strong][most_first]
        self.counts = counts[most_first]
        self.partners: list[Indices] = _partners(self.first, self.second, len(known.catalogue))

    def triangles(self, pairs: int) -> Iterator[tuple[int, int, Indices]]:
        """The most frequent pairs, with all items that are attracted by both."""
        for one, other in zip(self.first[:pairs].tolist(), self.second[:pairs].tolist(), strict=True):
            yield one, other, np.intersect1d(self.partners[one], self.partners[other], assume_unique=True)


def _lifts(relations: RelatedItems, first: Indices, second: Indices) -> NDArray[np.float64]:
    blocks = range(0, len(first), 100_000)
    found = [relations.between(first[b : b + 100_000], second[b : b + 100_000]).lift for b in blocks]
    return np.concatenate([np.empty(0), *found])


def _partners(first: Indices, second: Indices, size: int) -> list[Indices]:
    rows, others = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((others, rows))
    borders = np.searchsorted(rows[order], np.arange(1, size))
    return list(np.split(others[order], borders))


def frequent_triples(pairs: Attracted, index: BasketIndex) -> list[Triple]:
    """The most frequent triples, no two with a common item; exact.

    A triple is at most as frequent as its rarest pair, so pairs below its count need not be searched.
    """
    searched = _FEWEST_PAIRS
    while True:
        counted: dict[Triple, int] = {}
        for one, other, common in pairs.triangles(searched):
            numbers = index.holding([one, other])[0]
            together = np.bincount(index.contents(numbers)[0], minlength=len(index.rarity))[common]
            for row, count in zip(
                common[together > 0].tolist(), together[together > 0].tolist(), strict=True
            ):
                counted[tuple(sorted((one, other, row)))] = count
        chosen = first_disjoint(sorted(counted, key=lambda triple: (-counted[triple], triple)))
        complete = searched >= len(pairs.first)
        if complete or (len(chosen) == BUNDLES and counted[chosen[-1]] > pairs.counts[searched]):
            return chosen
        searched *= 2


def determinant_triples(pairs: Attracted, kernel: Kernel) -> list[Triple]:
    """From the pairs with the highest determinant, each with the item that makes it highest."""
    dets = _dets(kernel, np.column_stack([pairs.first, pairs.second]))
    best: dict[Triple, float] = {}
    for place in np.argsort(-dets, kind="stable")[:_DETERMINANT_STARTS].tolist():
        one, other = int(pairs.first[place]), int(pairs.second[place])
        common = np.intersect1d(pairs.partners[one], pairs.partners[other], assume_unique=True)
        if len(common):
            grown = _dets(kernel, np.column_stack([np.tile([one, other], (len(common), 1)), common]))
            best[tuple(sorted((one, other, int(common[np.argmax(grown)]))))] = float(grown.max())
    return first_disjoint(sorted(best, key=lambda triple: (-best[triple], triple)))


def _dets(kernel: Kernel, sets: Indices) -> NDArray[np.float64]:
    blocks = [kernel.submatrix(sets[start : start + 20_000]) for start in range(0, len(sets), 20_000)]
    return np.concatenate([np.empty(0), *(np.linalg.det(block) for block in blocks)])


def first_disjoint(triples: Iterable[Triple]) -> list[Triple]:
    """The first BUNDLES triples of which no two share an item."""
    chosen: list[Triple] = []
    taken: set[int] = set()
    for triple in triples:
        if taken.isdisjoint(triple):
            chosen.append(triple)
            taken.update(triple)
        if len(chosen) == BUNDLES:
            break
    return chosen


def measure_triples(trained: Trained) -> dict[str, Any]:
    """How many unseen baskets hold at least one whole bundle of each way."""
    everything = Constraints(np.ones(trained.kernel.size))
    grown = trained.attraction.sets(SIZE, everything, starts=STARTS)
    full = [each for each in grown if len(each.rows) == SIZE]
    pairs = Attracted(trained.predictor.relations, trained.known)
    chosen: dict[str, Sequence[Triple]] = {
        "tripod": [each.rows for each in disjoint(full, BUNDLES)],
        "counted": frequent_triples(pairs, trained.index),
        "determinant": determinant_triples(pairs, trained.kernel),
    }
    hits = {name: holding_any(trained.parts.test, triples) for name, triples in chosen.items()}
    figures = shares(hits, np.ones(len(trained.parts.test)))
    return {
        "baskets": len(trained.parts.test),
        "ways": {
            name: {**figures[name], "bundles": len(chosen[name]), "held": int(hits[name].sum())}
            for name in chosen
        },
    }


def holding_any(test: Baskets, triples: Sequence[Triple]) -> NDArray[np.float64]:
    """1 for each basket that holds at least one whole triple, in the order of the index."""
    index, hits = index_baskets(test, most=len(test) + 1), np.zeros(len(test))
    for triple in triples:
        hits[index.holding(triple)[0]] = 1.0
    return hits
