"""Summary of baskets, for `python -m training check`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from rich.markup import escape
from rich.table import Table

from training.baskets import NOBODY, Baskets
from training.histories import has_histories
from training.options import suggest_ranks
from training.reading import BasketData

_DROP_REASONS = {
    "rows_without_quantity": "rows with a quantity of zero or less",
    "rows_with_unusable_ids": "rows with an invalid item_id",
    "duplicate_rows": "repeated items within a basket",
    "oversize_baskets": "baskets over the size limit",
    "rare_items": "items under the count limit",
    "emptied_baskets": "baskets left without an item",
    "unclear_shoppers": "shoppers of baskets with several shopper_ids",
}


@dataclass(frozen=True, slots=True)
class BasketSummary:
    """Figures about baskets; shares are between 0 and 1."""

    baskets: int
    items: int
    pairs: int
    singletons: int  # baskets of one item: used for fitting, but not for test queries
    size_mean: float
    size_quantiles: dict[str, int]  # p10, p50, p90, p99, max
    top_items_share: dict[str, float]  # share of all purchases that the 1 %, 10 % most bought items make up
    items_bought_once: int
    first: str | None
    last: str | None
    dropped: dict[str, int]
    suggested_rank: int
    suggested_skew_rank: int
    shoppers: int | None  # None without a column shopper_id
    baskets_without_shopper: int | None
    baskets_per_shopper: float | None
    repeat_share: float | None  # of the items in a shopper's later baskets, those bought before

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def summarise(data: BasketData) -> BasketSummary:
    """Summarise baskets."""
    baskets = data.baskets
    sizes, counts = baskets.sizes, baskets.counts
    rank, skew_rank = suggest_ranks(baskets)
    owners = None if baskets.shoppers is None else baskets.shoppers[baskets.shoppers != NOBODY]
    shoppers = None if owners is None else len(np.unique(owners))
    quantiles = np.quantile(sizes, [0.1, 0.5, 0.9, 0.99, 1.0], method="nearest").astype(int)
    return BasketSummary(
        baskets=len(baskets),
        items=len(baskets.catalogue),
        pairs=len(baskets.items),
        singletons=int((sizes == 1).sum()),
        size_mean=round(float(sizes.mean()), 2),
        size_quantiles=dict(zip(("p10", "p50", "p90", "p99", "max"), quantiles.tolist(), strict=True)),
        top_items_share={f"top_{percent}_percent": _top_share(counts, percent) for percent in (1, 10)},
        items_bought_once=int((counts == 1).sum()),
        first=_moment(baskets, 0),
        last=_moment(baskets, -1),
        dropped=data.dropped.as_dict(),
        suggested_rank=rank,
        suggested_skew_rank=skew_rank,
        shoppers=shoppers,
        baskets_without_shopper=None if owners is None else len(baskets) - len(owners),
        baskets_per_shopper=round(len(owners) / shoppers, 2) if owners is not None and shoppers else None,
        repeat_share=_repeat_share(baskets),
    )


def _repeat_share(baskets: Baskets) -> float | None:
    """The share of items in later baskets of a shopper that the shopper had bought before."""
    if not has_histories(baskets):
        return None
    assert baskets.shoppers is not None
    assert baskets.timestamps is not None
    bought: dict[int, set[int]] = {}
    repeats = items = 0
    for number in np.argsort(baskets.timestamps, kind="stable").tolist():
        if (shopper := int(baskets.shoppers[number])) == NOBODY:
            continue
        basket = set(baskets[number].tolist())
        if (before := bought.get(shopper)) is None:
            bought[shopper] = basket
            continue
        repeats, items = repeats + len(basket & before), items + len(basket)
        before |= basket
    return round(repeats / items, 4) if items else None


def _top_share(counts: np.ndarray[tuple[int], np.dtype[np.int64]], percent: int) -> float:
    """The share of the most frequent items; counts are sorted in descending order, like the catalogue."""
    top = max(1, len(counts) * percent // 100)
    return round(float(counts[:top].sum() / counts.sum()), 4)


def _moment(baskets: Baskets, position: int) -> str | None:
    return None if baskets.timestamps is None else str(np.sort(baskets.timestamps)[position])


def summary_table(summary: BasketSummary, title: str) -> Table:
    """The summary as a table for the terminal."""
    table = Table(title=escape(title), show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("baskets", f"{summary.baskets:,}")
    table.add_row("  of one item (not in queries)", f"{summary.singletons:,}")
    table.add_row("items", f"{summary.items:,}")
    table.add_row("  bought only once", f"{summary.items_bought_once:,}")
    table.add_row("purchases", f"{summary.pairs:,}")
    table.add_row(
        "  in the top 1 % / 10 % of items", " / ".join(f"{v:.0%}" for v in summary.top_items_share.values())
    )
    sizes = ", ".join(f"{name} {value}" for name, value in summary.size_quantiles.items())
    table.add_row("basket size", f"mean {summary.size_mean}, {sizes}")
    if summary.first is not None:
        table.add_row("from / to", f"{summary.first} / {summary.last}")
    if summary.shoppers is not None:
        table.add_row("shoppers", f"{summary.shoppers:,}")
        table.add_row("  baskets without a shopper", f"{summary.baskets_without_shopper:,}")
        if summary.baskets_per_shopper is not None:
            table.add_row("  baskets per shopper", f"{summary.baskets_per_shopper:g}")
        if summary.repeat_share is not None:
            table.add_row("  bought before (share of items)", f"{summary.repeat_share:.0%}")
        else:
            why = "timestamps are missing" if summary.first is None else "no shopper has two baskets"
            table.add_row("  bought before", f"unknown: {why}")
    for reason, count in summary.dropped.items():
        if count:
            table.add_row(f"dropped: {_DROP_REASONS[reason]}", f"{count:,}")
    if not any(summary.dropped.values()):
        table.add_row("dropped", "nothing")
    table.add_row(
        "suggested --rank / --skew-rank", f"{summary.suggested_rank} / {summary.suggested_skew_rank}"
    )
    return table
