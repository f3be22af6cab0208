"""A model of up to millions of items that is like a trained one: noisy copies of a trained model.

    python -m benchmarks.large_model 1000000 DIR

Copy c of an item has 1/(1 + c) of its popularity: the popularity of all items together falls as that of the
trained ones, as Zipf's law continues. Factors, neighbours of the relevance prior, baskets, counts and
coefficients are those of the trained model. A basket, or a list of neighbours, belongs to a copy; each of its
items is from that copy or, with a chance of one half, from any copy in proportion to its popularity.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.trained_model import Trained, trained_model
from model_store import Draft, Items, ModelStore
from ndpp import BasketIndex, Kernel, Lifts, Relevance
from ndpp.kernel import FloatArray
from ndpp.lifts import SUBSTITUTE
from training.baskets import Baskets
from training.next_item.basket_index import MOST_ENTRIES, index_baskets

TRAINED = Path("var/benchmarks/products")
NOISE = 0.5  # of the factors and weights of a copy, relative
AT_HOME = 0.5  # the chance that an item of a basket is from the basket's copy
LEAST_NEIGHBOURS = 100  # of an item in the relevance prior, where training would keep fewer
_PRIOR_ENTRIES = 8_000_000  # as many as training keeps in all

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of the trained items: which row is which."""

    trained: Trained
    size: int  # M

    def __post_init__(self) -> None:
        if self.size < self.trained.stored.kernel.size:
            raise ValueError(f"a model has at least the {self.trained.stored.kernel.size:,} trained items")

    @property
    def items(self) -> int:
        """The number of trained items."""
        return self.trained.stored.kernel.size

    @cached_property
    def popularity(self) -> FloatArray:
        """The popularity of each copy relative to the trained items, descending."""
        return 1 / np.arange(1, -(-self.size // self.items) + 1)

    @cached_property
    def origin(self) -> tuple[Rows, Rows]:
        """The copy and the trained row of each row: first all trained items, the most popular row first."""
        counts = np.array(self.trained.stored.items.counts, dtype=np.float64)
        popularity = np.outer(self.popularity, counts).ravel()
        chosen = np.argsort(-popularity[self.items :], kind="stable")[: self.size - self.items] + self.items
        flat = np.concatenate([np.arange(self.items), np.sort(chosen)])
        flat = flat[np.argsort(-popularity[flat], kind="stable")]
        return flat // self.items, flat % self.items

    @cached_property
    def row_of(self) -> Rows:
        """The row of each copy of each item, (copies, items); that of the trained item if there is none."""
        copy, item = self.origin
        rows = np.full((len(self.popularity), self.items), -1)
        rows[copy, item] = np.arange(self.size)
        return np.where(rows < 0, rows[0], rows)

    def rows(self, copy: int) -> tuple[Rows, Rows]:
        """The rows of a copy, and the trained row of each."""
        there = np.flatnonzero(self.origin[0][self.row_of[copy]] == copy)
        return self.row_of[copy][there], there

    def homes(self, count: int, rng: np.random.Generator) -> Rows:
        """Random copies in proportion to their popularity."""
        cumulative = np.cumsum(self.popularity)
        found: Rows = np.searchsorted(cumulative, cumulative[-1] * rng.random(count))
        return found

    def draw(self, home: Rows | int, items: NDArray[np.int32], rng: np.random.Generator) -> Rows:
        """A row for each trained item: of the copy `home`, or of a random one."""
        away = self.homes(len(items), rng)
        drawn: Rows = self.row_of[np.where(rng.random(len(items)) < AT_HOME, home, away), items]
        return drawn

    def carts(self, lengths: Sequence[int], rng: np.random.Generator) -> list[list[int]]:
        """Random carts of these lengths from copies of baskets that the trained model has not seen."""
        baskets = sorted(self.trained.unseen, key=len)
        sizes = [len(basket) for basket in baskets]
        carts = []
        for home, length in zip(self.homes(len(lengths), rng).tolist(), lengths, strict=True):
            first = min(bisect_left(sizes, length), len(baskets) - 1)
            basket = rng.permutation(baskets[rng.integers(first, len(baskets))])
            carts.append(self.draw(home, basket[:length], rng).tolist())
        return carts


def large_model(copies: Copies) -> Draft:
    """The draft of a model of all copies; of 800 MB of factors for a million items of rank 200."""
    stored, rng = copies.trained.stored, np.random.default_rng(copies.size)
    manifest, item = stored.manifest, copies.origin[1]
    items = _items(copies)
    baskets = _baskets(copies, tuple(items.ids), rng)
    lifts, sizes, bundles = stored.lifts, stored.basket_sizes, stored.top_bundles
    return Draft(
        kernel=_kernel(copies, rng),
        kind=manifest.kind,
        items=items,
        relevance=None if stored.relevance is None else _relevance(stored.relevance, copies, rng),
        knobs=manifest.knobs,
        hyperparameters={},
        metrics={},
        data_fingerprint=f"copies of {manifest.data_fingerprint}",
        seed=copies.size,
        mixture=manifest.mixture,
        arrivals=manifest.arrivals,
        baskets=baskets,
        basket_sizes=None if sizes is None else replace(sizes, item_log_sizes=sizes.item_log_sizes[item]),
        coherence=stored.coherence,
        lifts=None if lifts is None else _lifts(lifts, copies),
        sets=stored.sets,
        top_bundles=None
        if bundles is None
        else replace(bundles, rows=copies.row_of[0][bundles.rows].astype(np.int32)),
    )


def _items(copies: Copies) -> Items:
    table = copies.trained.stored.items
    pairs = list(zip(*(part.tolist() for part in copies.origin), strict=True))
    popularity = copies.popularity.tolist()
    return Items(
        ids=tuple(f"{table.ids[item]}-{copy}" if copy else table.ids[item] for copy, item in pairs),
        names=tuple(f"{table.names[item]}, {copy + 1}" for copy, item in pairs),
        categories=tuple(table.categories[item] for _, item in pairs),
        prices=tuple(table.prices[item] for _, item in pairs),
        counts=tuple(round(popularity[copy] * (table.counts[item] or 0)) for copy, item in pairs),
    )


def _noise(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Factors with a mean square of 1."""
    noise = rng.standard_normal(shape, dtype=np.float32)
    return (1 + np.float32(NOISE) * noise) / np.float32(np.sqrt(1 + NOISE**2))


def _kernel(copies: Copies, rng: np.random.Generator) -> Kernel:
    kernel = copies.trained.stored.kernel
    factors = np.empty((copies.size, kernel.rank), dtype=np.float32)
    for copy, popularity in enumerate(copies.popularity.tolist()):
        rows, items = copies.rows(copy)
        values = kernel.factors[items] * np.float32(np.sqrt(popularity))
        factors[rows] = values * _noise(values.shape, rng) if copy else values
    copy_of, item = copies.origin
    return Kernel(factors, kernel.core, kernel.diagonal[item] * copies.popularity[copy_of])


def _relevance(relevance: Relevance, copies: Copies, rng: np.random.Generator) -> Relevance:
    most = max(LEAST_NEIGHBOURS, _PRIOR_ENTRIES // copies.size)
    entries, owners, places = _strongest(relevance, most)
    lengths = np.bincount(owners, minlength=copies.items)
    offsets = np.concatenate([[0], np.cumsum(lengths[copies.origin[1]])])
    neighbours = np.empty(offsets[-1], dtype=np.int32)
    tables = [table for table in (relevance.weights, relevance.support) if table is not None]
    values = [np.empty(offsets[-1], dtype=np.float32) for _ in tables]
    for copy in range(len(copies.popularity)):
        mine = copies.origin[0][copies.row_of[copy][owners]] == copy
        drawn = copies.draw(copy, relevance.neighbours[entries[mine]], rng)
        order = np.lexsort((drawn, owners[mine]))
        target = offsets[copies.row_of[copy][owners[mine]]] + places[mine]
        neighbours[target] = drawn[order]
        factor = _noise(drawn.shape, rng) if copy else np.ones(len(drawn), dtype=np.float32)
        for table, value in zip(tables, values, strict=True):
            value[target] = (table[entries[mine]] * factor)[order]
    return Relevance(offsets, neighbours, values[0], relevance.floor, *values[1:])


def _strongest(relevance: Relevance, most: int) -> tuple[Rows, Rows, Rows]:
    """The strongest entries of each item, their owners, and their places in the owner's list."""
    lengths = np.diff(relevance.offsets)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    strength = np.abs(relevance.weights)
    if relevance.support is not None:
        strength = np.maximum(strength, relevance.support)
    order = np.lexsort((-strength, owners))
    kept = np.sort(order[np.arange(len(order)) - relevance.offsets[:-1][owners] < most])
    starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
    return kept, owners[kept], np.arange(len(kept)) - starts[owners[kept]]


def _baskets(copies: Copies, ids: tuple[str, ...], rng: np.random.Generator) -> BasketIndex | None:
    """Each trained basket as often as there are copies, or less so that all can be listed."""
    index = copies.trained.stored.baskets
    if index is None:
        return None
    lengths = np.diff(index.offsets)
    repeats = max(1, min(len(copies.popularity), MOST_ENTRIES // len(index.items)))
    parts = []
    for _ in range(repeats):
        homes = np.repeat(copies.homes(len(lengths), rng) if repeats > 1 else np.zeros_like(lengths), lengths)
        rows = copies.draw(homes, index.items, rng)
        parts.append(rows[np.lexsort((rows, np.repeat(np.arange(len(lengths)), lengths)))].astype(np.int32))
    offsets = np.concatenate([[0], np.cumsum(np.tile(lengths, repeats))])
    newest_first = Baskets(ids, np.concatenate(parts), offsets)
    return index_baskets(newest_first.select(np.arange(len(newest_first))[::-1]))


def _lifts(lifts: Lifts, copies: Copies) -> Lifts:
    """The counts in proportion to the copy's popularity; pairs of different copies have no counts."""
    copy_of, item = copies.origin
    shares = copies.popularity
    first = np.repeat(np.arange(copies.items), np.diff(lifts.offsets))
    rows, partners, together, relations = [], [], [], []
    for copy, share in enumerate(shares.tolist()):
        counts = np.floor(lifts.together * share).astype(np.int32)
        kept = (counts >= lifts.least) | (lifts.relations == SUBSTITUTE)
        both = copies.row_of[copy][first], copies.row_of[copy][lifts.partners]
        kept &= (copy_of[both[0]] == copy) & (copy_of[both[1]] == copy)
        rows.append(both[0][kept])
        partners.append(both[1][kept])
        together.append(counts[kept])
        relations.append(lifts.relations[kept])
    owners, others = np.concatenate(rows), np.concatenate(partners)
    order = np.lexsort((others, owners))
    counts_by_class = np.floor(lifts.class_counts[item] * shares[copy_of, None]).astype(np.int32)
    return replace(
        lifts,
        class_counts=counts_by_class,
        class_totals=np.ceil(lifts.class_totals * shares.sum()).astype(np.int64),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=copies.size))]),
        partners=others[order].astype(np.int32),
        together=np.concatenate(together)[order],
        relations=np.concatenate(relations)[order],
    )


def publish(store: Path, copies: Copies, versions: int = 1) -> list[str]:
    """Publish the model, several times if asked, and activate the first version."""
    models, draft = ModelStore(store), large_model(copies)
    published = [models.publish(draft) for _ in range(versions)]
    models.activate(published[0])
    return published


def main(
    size: Annotated[int, typer.Argument(help="Number of items.")],
    store: Annotated[Path, typer.Argument(help="Folder of the model store to write.")],
    model: Annotated[Path, typer.Option(help="Folder of the trained model.")] = TRAINED,
    versions: Annotated[int, typer.Option(help="Number of equal versions.")] = 1,
) -> None:
    """Write a model store with a model of this many items."""
    for version in publish(store, Copies(trained_model(model), size), versions):
        print(version)


if __name__ == "__main__":
    typer.run(main)
