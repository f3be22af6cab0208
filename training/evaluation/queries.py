"""Next-item queries: a cart, the held-out item, and what the shopper had bought before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ndpp import History
from training.baskets import UNKNOWN, Baskets, ItemRows, rows_in
from training.recommender import Pasts


class Protocol(StrEnum):
    """Which item of a test basket is held out, and how queries are averaged."""

    PAPER = "paper"  # a random item; all queries have the same weight
    PUBLISHED = "published"  # the item with the largest id; three basket-size buckets have the same weight
    TEMPORAL = "temporal"  # a random item of each shopper's last basket, given the rest and their history


@dataclass(frozen=True, eq=False)
class Queries:
    """n carts, for each the row of the held-out item, and the histories of their shoppers if known."""

    carts: Sequence[ItemRows]
    targets: NDArray[np.int64]  # (n,): UNKNOWN if the item is not in the model's catalogue
    cart_sizes: NDArray[np.int64]  # (n,): including unknown items
    histories: Pasts | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def first(self, most: int) -> Queries:
        """The first `most` queries."""
        histories = None if self.histories is None else self.histories[:most]
        return Queries(self.carts[:most], self.targets[:most], self.cart_sizes[:most], histories)

    @property
    def sets(self) -> list[ItemRows]:
        """The known items of cart and target together."""
        whole = (
            np.append(cart, target) if target != UNKNOWN else cart
            for cart, target in zip(self.carts, self.targets, strict=True)
        )
        return [np.unique(rows).astype(np.int32) for rows in whole if len(rows)]


def hold_one_out(
    baskets: Baskets, protocol: Protocol, rng: np.random.Generator, histories: Pasts | None = None
) -> Queries:
    """One query from each basket of at least two items; `histories` are those at the time of each basket."""
    largest_first = _id_order(baskets.catalogue)
    carts, targets, owners = [], [], []
    for number, basket in enumerate(baskets):
        if len(basket) < 2:
            continue
        if protocol is Protocol.PUBLISHED:
            position = int(np.argmax(largest_first[basket]))
        else:
            position = int(rng.integers(len(basket)))
        carts.append(np.delete(basket, position))
        targets.append(int(basket[position]))
        owners.append(number)
    sizes = np.array([len(cart) for cart in carts], dtype=np.int64)
    known = None if histories is None else [histories[number] for number in owners]
    return Queries(carts, np.array(targets, dtype=np.int64), sizes, known)


def random_prefixes(
    baskets: Baskets, each: int, rng: np.random.Generator
) -> tuple[Queries, NDArray[np.int64]]:
    """`each` queries per basket, and the index of each query's basket.

    A basket is shuffled and cut at a random place: the items before it are the cart, which may be empty, and
    the item after it is the target. The baskets are in random order, each once before any is used again; a
    basket gives at most as many queries as it has items.
    """
    carts, targets, owners = [], [], []
    for turn in range(each):
        for number in rng.permutation(len(baskets)).tolist():
            basket = baskets[number]
            if turn < len(basket):
                order, length = rng.permutation(basket), int(rng.integers(len(basket)))
                carts.append(np.sort(order[:length]))
                targets.append(int(order[length]))
                owners.append(number)
    sizes = np.array([len(cart) for cart in carts], dtype=np.int64)
    return Queries(carts, np.array(targets, dtype=np.int64), sizes), np.array(owners, dtype=np.int64)


def _id_order(catalogue: Sequence[str]) -> NDArray[np.int64]:
    """The position of each row in the order of ids, compared as integers if all are, else as text."""
    ids: Sequence[int] | Sequence[str] = catalogue
    if all(item.isdecimal() for item in catalogue):
        ids = [int(item) for item in catalogue]
    place = np.empty(len(catalogue), dtype=np.int64)
    place[sorted(range(len(catalogue)), key=ids.__getitem__)] = np.arange(len(catalogue))
    return place


def translate_queries(queries: Queries, names: Sequence[str], catalogue: Sequence[str]) -> Queries:
    """The queries with rows of `names` translated to rows of `catalogue`."""
    if tuple(names) == tuple(catalogue):
        return queries
    new_row = rows_in(catalogue, names)
    carts = [new_row[cart] for cart in queries.carts]
    known = [cart[cart != UNKNOWN] for cart in carts]
    histories = None if queries.histories is None else translate_histories(queries.histories, new_row)
    return Queries(known, new_row[queries.targets].astype(np.int64), queries.cart_sizes, histories)


def translate_histories(histories: Pasts, new_row: ItemRows) -> list[History | None]:
    """The histories with `new_row` of each row, without unknown items; None if nothing is left."""

    def translated(history: History) -> History | None:
        rows = new_row[history.rows].astype(np.intp)
        known = rows != UNKNOWN
        return History.of_purchases(rows[known], history.visits[known], history.ages)

    return [None if history is None else translated(history) for history in histories]
