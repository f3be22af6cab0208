"""Compare the answers of a running service over HTTP with baskets that its model has not seen.

The counting here shares no code with the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import numpy as np
from numpy.typing import NDArray

from training.baskets import Baskets
from training.evaluation.queries import random_prefixes

SHOWN = 10  # suggestions per cart
BINS = 10  # with equal numbers of suggestions
LARGEST_BATCH = 256
MOST_RELATED = 100
SIZE_CLASSES = (1, 2, 3, 5, 9, 17, 33)  # the smallest basket of each class
ENOUGH_BY_CHANCE = 3.0  # fewest expected joint baskets to check whether two items are substitutes
RARELY_TOGETHER = 0.8
_PAIRS_AT_ONCE = 20_000

Figures = dict[str, Any]
Vector = NDArray[np.float64]


def judge(service: httpx.Client, items: Sequence[str], held_out: Baskets, seed: int) -> Figures:
    """Request suggestions for a random prefix of each basket, and the related items of all items."""
    rng = np.random.default_rng(seed)
    return {
        **_next_items(service, held_out, rng),
        **_basket_sizes(service, held_out, rng),
        **_relations(service, items, held_out),
    }


def _next_items(service: httpx.Client, held_out: Baskets, rng: np.random.Generator) -> Figures:
    queries, _ = random_prefixes(held_out, 1, rng)
    names = held_out.catalogue
    carts = [[names[row] for row in cart] for cart in queries.carts]
    targets = [names[row] for row in queries.targets]
    claimed, right = np.zeros((len(carts), SHOWN)), np.zeros((len(carts), SHOWN), dtype=np.bool_)
    for number, (items, target) in enumerate(zip(_suggestions(service, carts), targets, strict=True)):
        claimed[number, : len(items)] = [item["probability"] for item in items]
        right[number, : len(items)] = [item["item_id"] == target for item in items]
    by_claim = np.argsort(claimed, axis=None, kind="stable")
    bins = [
        _claim(claimed.ravel()[part], right.ravel()[part])
        for part in np.array_split(by_claim, BINS)
        if len(part)
    ]
    return {
        "first": _claim(claimed[:, 0], right[:, 0]),
        "ten": _claim(claimed.sum(axis=1), right.sum(axis=1)),  # at most one of the ten is right
        "calibration_error": float(np.mean([abs(one["claimed"] - one["true"]) for one in bins])),
        "calibration_bins": bins,
    }


def _suggestions(service: httpx.Client, carts: Sequence[list[str]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(carts), LARGEST_BATCH):
        asked = [{"items": cart} for cart in carts[start : start + LARGEST_BATCH]]
        answer = service.post("/recommend/batch", json={"carts": asked, "k": SHOWN})
        for result in answer.raise_for_status().json()["results"]:
            yield result["items"]


def _claim(claimed: Vector, true: NDArray[Any]) -> dict[str, float]:
    return {"claimed": float(claimed.mean()), "true": float(true.mean())}


def _basket_sizes(service: httpx.Client, held_out: Baskets, rng: np.random.Generator) -> Figures:
    """Request insights for a random non-empty prefix of each basket."""
    answers, further = [], []
    for basket in held_out:
        length = int(rng.integers(1, len(basket) + 1))
        cart = [held_out.catalogue[row] for row in rng.permutation(basket)[:length]]
        answers.append(service.get("/insights", params={"items": cart}).raise_for_status().json())
        further.append(len(basket) - length)
    true = np.array(further, dtype=np.float64)
    expected = np.array([answer["expected_further_items"] for answer in answers])
    ranges = [answer["basket_size"] for answer in answers]
    inside = [one["low"] <= size <= one["high"] for one, size in zip(ranges, held_out.sizes, strict=True)]
    return {
        "complete": _claim(np.array([answer["probability_complete"] for answer in answers]), true == 0),
        "further": {**_claim(expected, true), "correlation": float(np.corrcoef(expected, true)[0, 1])},
        "range": _claim(np.array([one["probability"] for one in ranges]), np.array(inside)),
    }


def _relations(service: httpx.Client, items: Sequence[str], held_out: Baskets) -> Figures:
    lifts = _stated(service, items, "complement")
    counts = count_pairs(held_out, lifts)
    claimed = np.array(list(lifts.values())) @ counts.by_chance
    apart = count_pairs(held_out, _stated(service, items, "substitute"))
    met = apart.by_chance > 0
    enough = apart.by_chance >= ENOUGH_BY_CHANCE
    rare = apart.together < RARELY_TOGETHER * apart.by_chance
    return {
        "complements": {
            "pairs": len(lifts),
            "claimed": float(claimed),
            "counted": int(counts.together.sum()),
        },
        "substitutes": {
            "pairs": len(rare),
            "judged": int(enough.sum()),
            "confirmed": int(rare[enough].sum()),
            "judged_of_all": int(met.sum()),  # both items are in the held-out baskets
            "confirmed_of_all": int(rare[met].sum()),
            "together": int(apart.together.sum()),
            "by_chance": float(apart.by_chance.sum()),
        },
    }


def _stated(service: httpx.Client, items: Sequence[str], relation: str) -> dict[tuple[str, str], float]:
    """The lift of each pair, which may be listed for either item."""
    lifts = {}
    for item in items:
        path = f"/items/{quote(item, safe='')}/related"
        answer = service.get(path, params={"relation": relation, "k": MOST_RELATED}).raise_for_status()
        for other in answer.json()["items"]:
            first, second = sorted((item, other["item_id"]))
            lifts[first, second] = float(other["lift"])
    return lifts


class PairCounts(NamedTuple):
    """Baskets that hold both items of each pair, and the number expected by chance."""

    together: NDArray[np.int64]
    by_chance: Vector


def count_pairs(baskets: Baskets, pairs: Iterable[tuple[str, str]]) -> PairCounts:
    """Count pairs; by chance is the sum over basket-size classes of N · p(first) · p(second)."""
    row_of = {item: row for row, item in enumerate(baskets.catalogue)}
    rows = np.array([(row_of[one], row_of[other]) for one, other in pairs], dtype=np.intp).reshape(-1, 2)
    holds = np.zeros((len(baskets.catalogue), len(baskets)), dtype=np.bool_)
    holds[baskets.items, np.repeat(np.arange(len(baskets)), baskets.sizes)] = True
    together = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        together[part] = (holds[rows[part, 0]] & holds[rows[part, 1]]).sum(axis=1)
    by_chance = np.zeros(len(rows))
    of_class = np.digitize(baskets.sizes, SIZE_CLASSES)
    for number in np.unique(of_class):
        inside = holds[:, of_class == number]
        shares = inside.mean(axis=1)
        by_chance += inside.shape[1] * shares[rows[:, 0]] * shares[rows[:, 1]]
    return PairCounts(together, by_chance)
