"""Next-item queries: a cart and the held-out item."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.baskets import UNKNOWN, Baskets, ItemRows, rows_in
from training.errors import DataError


class Protocol(StrEnum):
    """Which item of a test basket is held out, and how queries are averaged."""

    PAPER = "paper"  # a random item; all queries have the same weight
    PUBLISHED = "published"  # the item with the largest id; three basket-size buckets have the same weight


@dataclass(frozen=True, eq=False)
class Queries:
    """n carts, and for each the row of the held-out item."""

    carts: Sequence[ItemRows]
    targets: NDArray[np.int64]  # (n,): UNKNOWN if the item is not in the model's catalogue
    cart_sizes: NDArray[np.int64]  # (n,): including unknown items

    def __len__(self) -> int:
        return len(self.targets)

    def first(self, most: int) -> Queries:
        """The first `most` queries."""
        return Queries(self.carts[:most], self.targets[:most], self.cart_sizes[:most])

    @property
    def sets(self) -> list[ItemRows]:
        """The known items of cart and target together."""
        whole = (
            np.append(cart, target) if target != UNKNOWN else cart
            for cart, target in zip(self.carts, self.targets, strict=True)
        )
        return [np.unique(rows).astype(np.int32) for rows in whole if len(rows)]


def hold_one_out(baskets: Baskets, protocol: Protocol, rng: np.random.Generator) -> Queries:
    """One query from each basket of at least two items."""
    largest_first = _id_order(baskets.catalogue)
    carts, targets = [], []
    for basket in baskets:
        if len(basket) < 2:
            continue
        if protocol is Protocol.PAPER:
            position = int(rng.integers(len(basket)))
        else:
            position = int(np.argmax(largest_first[basket]))
        carts.append(np.delete(basket, position))
        targets.append(int(basket[position]))
    sizes = np.array([len(cart) for cart in carts], dtype=np.int64)
    return Queries(carts, np.array(targets, dtype=np.int64), sizes)


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
    return Queries(known, new_row[queries.targets].astype(np.int64), queries.cart_sizes)


def read_queries(path: Path, rows: Mapping[str, int]) -> Queries:
    """Read `{"cart": [ids], "target": id}` lines.

    Unknown cart items are dropped; a query with an unknown target is kept and gets the worst rank.
    """
    carts, targets, sizes = [], [], []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            cart, target = _parse(line)
        except ValueError as error:
            raise DataError(f'{error}: expected {{"cart": [ids], "target": id}}', str(path), number) from None
        carts.append(np.array([rows[item] for item in cart if item in rows], dtype=np.int32))
        targets.append(rows.get(target, UNKNOWN))
        sizes.append(len(cart))
    if not targets:
        raise DataError('there are no queries: expected lines {"cart": [ids], "target": id}', str(path))
    return Queries(carts, np.array(targets, dtype=np.int64), np.array(sizes, dtype=np.int64))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"the file cannot be read ({error.strerror})", str(path)) from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DataError(
            "this is not UTF-8 text; expected one JSON object per line", str(path), line
        ) from error


def _parse(line: str) -> tuple[list[str], str]:
    try:
        query = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("this is not valid JSON") from None
    if not isinstance(query, dict) or "cart" not in query or "target" not in query:
        raise ValueError("this has no 'cart' or no 'target'")
    if not isinstance(query["cart"], list) or not all(map(_is_id, [*query["cart"], query["target"]])):
        raise ValueError("an id is neither text nor a whole number")
    cart, target = list(dict.fromkeys(map(str, query["cart"]))), str(query["target"])
    if target in cart:
        raise ValueError(f"the target {target!r} is in the cart")
    return cart, target


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
