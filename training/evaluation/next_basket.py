"""The whole next basket of shoppers with a history and an empty cart, as in next-basket recommendation.

Recall@10 and NDCG@10 are means over shoppers. They are also given for the items that the shopper had bought
before (repeat) and for the others (explore), which differ greatly in difficulty (Li et al. 2023): the same
ten suggestions are judged by one kind of items only, over the shoppers whose basket has such items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from training.baskets import UNKNOWN, Baskets, ItemRows, rows_in
from training.evaluation.metrics import Estimate, Resampling, Vector, estimate, rank_metrics
from training.evaluation.queries import translate_histories
from training.evaluation.ranks import CARTS_AT_ONCE, Ranks
from training.recommender import Pasts, Recommender

PARTS = ("all", "repeat", "explore")
METRICS = ("recall@10", "ndcg@10")
_SHOWN = 10

Figures = dict[str, dict[str, Vector]]  # part → metric → value of each shopper, NaN without such items


@dataclass(frozen=True, eq=False)
class NextBaskets:
    """The next basket of n shoppers, in the rows of the model; UNKNOWN for items that it does not know."""

    items: Sequence[ItemRows]
    repeated: Sequence[NDArray[np.bool_]]  # for each of these items, whether it is in the history
    histories: Pasts

    def __len__(self) -> int:
        return len(self.items)


def next_baskets(test: Baskets, histories: Pasts, catalogue: Sequence[str]) -> NextBaskets:
    """The test baskets with the histories at their time, translated to the rows of `catalogue`."""
    new_row = rows_in(catalogue, test.catalogue)
    repeated = [
        np.zeros(len(basket), np.bool_) if history is None else np.isin(basket, history.items)
        for basket, history in zip(test, histories, strict=True)
    ]
    return NextBaskets(
        [new_row[basket] for basket in test], repeated, translate_histories(histories, new_row)
    )


@dataclass(frozen=True)
class NextBasketEvaluation:
    """Each model's metrics in percent, and the differences of the first model to the others."""

    shoppers: dict[str, int]  # part → how many shoppers have such items
    repeat_share: float  # mean share of repeat items in a basket
    models: dict[str, dict[str, dict[str, Estimate]]]  # model → part → metric; without empty parts
    paired: dict[str, dict[str, dict[str, Estimate]]]

    def as_json(self) -> dict[str, object]:
        """The form of `evaluate --json`."""
        return asdict(self)


def evaluate_next_baskets(
    models: Iterable[Recommender],
    asked: NextBaskets,
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> NextBasketEvaluation:
    """Evaluate the models that can rank items for an empty cart."""
    found: dict[str, Figures] = {}
    for model in models:
        if not model.needs_cart:
            progress(model.name)
            found[model.name] = shopper_metrics(model, asked)
    resampling = Resampling.of(len(asked), seed)

    def estimates(figures: Figures, other: Figures | None = None) -> dict[str, dict[str, Estimate]]:
        result: dict[str, dict[str, Estimate]] = {}
        for part, metrics in figures.items():
            for metric, values in metrics.items():
                has = ~np.isnan(values)
                if has.any():
                    marks = values if other is None else values - other[part][metric]
                    result.setdefault(part, {})[metric] = estimate(marks[has], resampling.select(has))
        return result

    names = list(found)
    of_any = next(iter(found.values()))
    counts = {part: int(np.count_nonzero(~np.isnan(of_any[part]["recall@10"]))) for part in PARTS}
    shares = [float(repeated.mean()) for repeated in asked.repeated if len(repeated)]
    return NextBasketEvaluation(
        shoppers=counts,
        repeat_share=float(np.mean(shares)) if shares else 0.0,
        models={name: estimates(found[name]) for name in names},
        paired={name: estimates(found[names[0]], found[name]) for name in names[1:]},
    )


def shopper_metrics(model: Recommender, asked: NextBaskets) -> Figures:
    """Recall@10 and NDCG@10 of each shopper, in percent."""
    owners = np.repeat(np.arange(len(asked)), [len(rows) for rows in asked.items])
    items = np.concatenate([np.empty(0, np.int32), *asked.items])
    repeated = np.concatenate([np.empty(0, np.bool_), *asked.repeated])
    marks = rank_metrics(_ranks(model, asked, owners, items))
    chosen = {"all": np.ones(len(items), np.bool_), "repeat": repeated, "explore": ~repeated}
    return {part: _of_part(marks, owners, chosen[part], len(asked)) for part in PARTS}


def _of_part(
    marks: dict[str, Vector], owners: NDArray[np.intp], chosen: NDArray[np.bool_], n: int
) -> dict[str, Vector]:
    """The sums of the items' marks by shopper over the highest possible ones."""
    sizes = np.bincount(owners[chosen], minlength=n)
    ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, _SHOWN + 2)))])
    with np.errstate(invalid="ignore"):
        hits = np.bincount(owners[chosen], marks["hit@10"][chosen], minlength=n) / sizes
        gains = np.bincount(owners[chosen], marks["ndcg@10"][chosen], minlength=n)
        return {"recall@10": hits, "ndcg@10": gains / ideal[np.minimum(sizes, _SHOWN)]}


def _ranks(
    model: Recommender, asked: NextBaskets, owners: NDArray[np.intp], items: NDArray[np.int32]
) -> Ranks:
    """The rank of each item of the baskets among all items."""
    better, tied, candidates = (np.zeros(len(items), dtype=np.int64) for _ in range(3))
    nothing = np.empty(0, np.int32)
    for start in range(0, len(asked), CARTS_AT_ONCE):
        histories = asked.histories[start : start + CARTS_AT_ONCE]
        scores = model.scores([nothing] * len(histories), histories)
        ascending = np.sort(scores, axis=1)
        low, high = np.searchsorted(owners, [start, start + CARTS_AT_ONCE])
        for place in range(low, high):
            row = owners[place] - start
            wanted = scores[row, items[place]]  # arbitrary for UNKNOWN, see `known`
            below = np.searchsorted(ascending[row], wanted, side="left")
            up_to = np.searchsorted(ascending[row], wanted, side="right")
            better[place], tied[place] = scores.shape[1] - up_to, up_to - below - 1
        candidates[low:high] = scores.shape[1]
    return Ranks(better, tied, candidates, items != UNKNOWN)
