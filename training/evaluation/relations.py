"""The surest complements and substitutes by name, and stated lifts against baskets not learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ndpp import Relations
from ndpp.kernel import Indices
from ndpp.lifts import COMPLEMENT, SUBSTITUTE
from training.baskets import Baskets
from training.lifts import Counts

SHOWN = 12
PAIRS_PER_ITEM = 2  # so that one item cannot fill the list
ENOUGH_BY_CHANCE = 3.0  # baskets that it takes to tell whether two items avoid each other
RARELY_TOGETHER = 0.8  # a counted lift below this confirms that two items are substitutes


@dataclass(frozen=True)
class Pair:
    """Two items by name, their lift with its 95 % interval, and the counts behind it."""

    first: str
    second: str
    lift: float
    lift_low: float
    lift_high: float
    together: int | None  # baskets that hold both
    by_chance: float  # baskets that would, were the two unrelated


@dataclass(frozen=True)
class StrongestPairs:
    """The complements with the highest lower end, the substitutes with the lowest upper end of the lift."""

    complements: tuple[Pair, ...]
    substitutes: tuple[Pair, ...]


@dataclass(frozen=True)
class LiftCheck:
    """Stated relations against the counts of baskets that were not learned from."""

    complements: int  # stated pairs
    claimed: float  # Σ lift · by_chance: the joint baskets that the stated complements promise
    counted: int  # … and those that there are
    substitutes: int  # stated pairs
    judged: int  # … that chance would bring together often enough to judge
    confirmed: int  # … and whose counted lift is below RARELY_TOGETHER


def strongest_pairs(relations: Relations, names: Sequence[str]) -> StrongestPairs:
    """What a report shows; the numbers are those of `/items/{id}/related`."""
    return StrongestPairs(
        _surest(relations, COMPLEMENT, names),
        _surest(relations, SUBSTITUTE, names),
    )


def check_lifts(relations: Relations, unseen: Baskets) -> LiftCheck:
    """Hold all stated complements and substitutes against baskets over the same catalogue."""
    counts = Counts(unseen)
    pairs = relations.all_stated(COMPLEMENT)
    claimed = relations.between(*pairs).lift * counts.by_chance_of(*pairs)
    apart = relations.all_stated(SUBSTITUTE)
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


def _surest(relations: Relations, relation: int, names: Sequence[str]) -> tuple[Pair, ...]:
    first, second = relations.all_stated(relation)
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
    """The first pairs in which no item comes too often."""
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
