"""The strongest complements and substitutes for the report, and a check of lifts on held-out baskets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ndpp import RelatedItems
from ndpp.kernel import Indices
from ndpp.lifts import COMPLEMENT, SUBSTITUTE
from training.baskets import Baskets
from training.statistics.pair_counts import PairCounts

SHOWN = 12
PAIRS_PER_ITEM = 2  # most pairs with the same item, so that one item does not fill the list
ENOUGH_BY_CHANCE = 3.0  # fewest expected joint baskets to check whether two items are substitutes
RARELY_TOGETHER = 0.8  # a counted lift below this confirms a substitute


@dataclass(frozen=True)
class Pair:
    """Two items by name, their lift with its 95 % interval, and the counts behind it."""

    first: str
    second: str
    lift: float
    lift_low: float
    lift_high: float
    together: int | None  # baskets that hold both
    by_chance: float  # expected number if the two are unrelated


@dataclass(frozen=True)
class StrongestPairs:
    """Complements with the highest lower bound, and substitutes with the lowest upper bound, of the lift."""

    complements: tuple[Pair, ...]
    substitutes: tuple[Pair, ...]


@dataclass(frozen=True)
class LiftCheck:
    """Complements and substitutes of a version, compared with counts in held-out baskets."""

    complements: int  # number of pairs
    claimed: float  # expected joint baskets of the complements: Σ lift · by_chance
    counted: int  # counted joint baskets of the complements
    substitutes: int  # number of pairs
    judged: int  # substitutes with enough expected joint baskets
    confirmed: int  # of these, with a counted lift below RARELY_TOGETHER


def strongest_pairs(relations: RelatedItems, names: Sequence[str]) -> StrongestPairs:
    """The pairs of the report; the numbers are those of `/items/{id}/related`."""
    return StrongestPairs(
        _surest(relations, COMPLEMENT, names),
        _surest(relations, SUBSTITUTE, names),
    )


def check_lifts(relations: RelatedItems, unseen: Baskets) -> LiftCheck:
    """Compare all complements and substitutes with unseen baskets over the same catalogue."""
    counts = PairCounts(unseen)
    pairs = relations.all_related(COMPLEMENT)
    claimed = relations.between(*pairs).lift * counts.by_chance_of(*pairs)
    apart = relations.all_related(SUBSTITUTE)
    by_chance, together = counts.by_chance_of(*apart), counts.together_of(*apart)
    judged = by_chance >= ENOUGH_BY_CHANCE
    return LiftCheck(
        complements=len(pairs[0]),
        claimed=float(claimed.sum()),
        counted=int(counts.together_of(*pairs).sum()),
        substitutes=len(apart[0]),
        judged=int(judged.sum()),
        confirmed=int((together < RARELY_TOGETHER * by_chance)[judged].sum()),
    )


def _surest(relations: RelatedItems, relation: int, names: Sequence[str]) -> tuple[Pair, ...]:
    first, second = relations.all_related(relation)
    found = relations.between(first, second)
    return tuple(
        Pair(
            names[first[i]],
            names[second[i]],
            float(found.lift[i]),
            float(found.low[i]),
            float(found.high[i]),
            found.counted(i),
            float(found.by_chance[i]),
        )
        for i in _varied(found.surest_first(relation).tolist(), first, second)
    )


def _varied(order: Iterable[int], first: Indices, second: Indices) -> list[int]:
    """The first pairs, with at most PAIRS_PER_ITEM pairs per item."""
    seen: Counter[int] = Counter()
    shown: list[int] = []
    for pair in order:
        both = int(first[pair]), int(second[pair])
        if max(seen[item] for item in both) < PAIRS_PER_ITEM:
            shown.append(pair)
            seen.update(both)
        if len(shown) == SHOWN:
            break
    return shown
