"""Ways to choose two more items for a cart: Tripod's P(S | Y), counting, lists, and the determinant."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ndpp import BasketIndex, Kernel, NextItem, RelatedItems, map_greedy
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.sets import Attraction, Constraints, SetPredictor, best_set
from training.baselines import Confidence, Ease, ItemKNN, LinearBaseline, fit_baselines
from training.baskets import Baskets, ItemRows, merge
from training.next_item.basket_index import index_baskets
from training.options import FitOptions
from training.pipeline import TrainedModel, train_model
from training.sets.learn import Sets, learn_sets
from training.splitting import Split
from training.statistics.collect import Statistics, collect_statistics

ADDED = 2
MISSING_WEIGHTS = (1.0, 0.3, 0.02)  # of a basket that misses 0, 1 or 2 items of the cart
_COLUMNS = 64  # most frequent items whose pairs are counted first

Choose = Callable[[ItemRows], Indices]  # a cart → the rows to add, fewer than ADDED if there are too few


@dataclass(frozen=True, eq=False)
class Trained:
    """Everything learned from the training and validation baskets of one split."""

    parts: Split
    known: Baskets  # training and validation baskets: the served model has learned from both, so do the peers
    index: BasketIndex  # of all known baskets of two or more items
    predictor: SetPredictor
    attraction: Attraction
    statistics: Statistics
    linear: dict[str, LinearBaseline]

    @property
    def kernel(self) -> Kernel:
        """The kernel of the model."""
        return self.predictor.next_item.kernel

    @property
    def next_item(self) -> NextItem:
        """P(next item | cart) as it is served."""
        return self.predictor.next_item


def train(parts: Split, options: FitOptions, kept: Path | None = None) -> Trained:
    """Train Tripod and the peers; Tripod is loaded from `kept` if it learned from the same baskets there."""
    asked = parts.train.fingerprint(), parts.validation.fingerprint(), options.seed, options.steps
    found = pickle.loads(kept.read_bytes()) if kept is not None and kept.exists() else {}
    if found.get("asked") != asked:
        found = {"asked": asked, "learned": _learn(parts, options)}
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(pickle.dumps(found))
    learned, statistics, sets = found["learned"]
    if sets is None or learned.baskets is None:
        raise SystemExit("The validation baskets are too few to learn P(set | cart).")
    kernel, known = learned.result.kernel, merge(parts.train, parts.validation)
    relations = RelatedItems(kernel, statistics.lifts)
    return Trained(
        parts=parts,
        known=known,
        index=index_baskets(known, most=len(known)),
        predictor=SetPredictor(
            sets.model, learned.next_item, relations, learned.baskets, statistics.basket_sizes
        ),
        attraction=Attraction(relations, learned.baskets),
        statistics=statistics,
        linear=fit_linear(parts, known),
    )


def _learn(parts: Split, options: FitOptions) -> tuple[TrainedModel, Statistics, Sets | None]:
    learned = train_model(parts, options, effort="quick")
    statistics = collect_statistics(parts, learned.result.kernel, options.seed)
    return learned, statistics, learn_sets(learned, parts, statistics)


def fit_linear(parts: Split, known: Baskets) -> dict[str, LinearBaseline]:
    """Item-KNN, confidence and EASE-R from the known baskets; λ is chosen on the validation baskets."""
    found: dict[str, LinearBaseline] = {}
    for peer in fit_baselines(parts.train, parts.validation, (ItemKNN, Confidence, Ease))[0]:
        again = Ease(peer.regularisation) if isinstance(peer, Ease) else type(peer)()
        fitted = again.fit(known)
        assert isinstance(fitted, LinearBaseline)
        found[peer.name] = fitted
    return found


def choosers(trained: Trained) -> dict[str, Choose]:
    """Each way by name, Tripod first."""
    next_item, everything = trained.next_item, Constraints(np.ones(trained.kernel.size))

    def tripod(cart: ItemRows) -> Indices:
        return best_set(trained.predictor.given(cart), ADDED, everything)

    def likely(cart: ItemRows) -> Vector:
        return next_item.given(cart).probabilities

    def one_by_one(cart: ItemRows) -> Indices:
        grown = np.asarray(cart, dtype=np.intp)
        for _ in range(ADDED):
            grown = np.append(grown, top(likely(grown.astype(np.int32)), grown, 1))
        return grown[len(cart) :]

    def linear(peer: LinearBaseline) -> Choose:
        return lambda cart: top(peer.scores([cart])[0], cart, ADDED)

    def determinant(cart: ItemRows) -> Indices:
        return np.asarray(map_greedy(trained.kernel, ADDED, cart=cart).items, dtype=np.intp)

    return {
        "tripod": tripod,
        "counted": lambda cart: most_frequent_pair(trained.index, cart, 0, likely(cart)),
        "similar": lambda cart: most_frequent_pair(
            trained.index, cart, len(MISSING_WEIGHTS) - 1, likely(cart)
        ),
        "list": lambda cart: top(likely(cart), cart, ADDED),
        "one_by_one": one_by_one,
        **{name: linear(peer) for name, peer in trained.linear.items()},
        "determinant": determinant,
    }


def top(scores: np.ndarray[tuple[int], np.dtype[np.floating]], cart: ItemRows | Indices, k: int) -> Indices:
    """The k items with the highest scores that are not in the cart, best first."""
    free = np.array(scores, dtype=np.float64)
    free[cart] = -np.inf
    return np.argsort(-free, kind="stable")[:k]


def most_frequent_pair(index: BasketIndex, cart: ItemRows, most_missing: int, likely: Vector) -> Indices:
    """The two items that are most often together in baskets that hold the cart.

    A basket may miss `most_missing` items of the cart, at the weights above. Of equally frequent pairs the
    one with the most likely next items is chosen, and without evidence the two most likely next items.
    """
    numbers, shared = index.sharing(cart, max(1, len(cart) - most_missing), len(index.offsets))
    weights = np.array(MISSING_WEIGHTS)[len(cart) - shared]
    items, sizes = index.contents(numbers)
    counts = np.bincount(items, np.repeat(weights, sizes), minlength=len(index.rarity))
    counts[cart] = 0
    owners = np.repeat(np.arange(len(numbers)), sizes)
    order = np.argsort(-counts, kind="stable")
    occurring = int(np.count_nonzero(counts))
    for columns in _growing(occurring):
        together = _pair_counts(items, owners, weights, order[:columns])
        best = together.max(initial=0.0)
        if best <= 0:
            continue
        # A pair is at most as frequent as its rarer item.
        if columns == occurring or counts[order[columns]] < best - 1e-6:
            one, other = np.nonzero(together >= best - 1e-6)
            chance = likely[order[one]] * likely[order[other]]
            place = int(np.argmax(chance))
            return order[[one[place], other[place]]]
    return top(likely, cart, ADDED)


def _growing(most: int) -> Iterator[int]:
    columns = _COLUMNS
    while columns < most:
        yield columns
        columns *= 2
    yield most


def _pair_counts(items: ItemRows, owners: Indices, weights: Vector, columns: Indices) -> Matrix:
    """Weighted number of baskets that hold each two of the items in `columns`, above the diagonal."""
    place = np.full(int(items.max(initial=0)) + 1, -1)
    place[columns] = np.arange(len(columns))
    places = place[items]
    members = np.zeros((len(weights), len(columns)))
    members[owners[places >= 0], places[places >= 0]] = 1.0
    return np.triu((members * weights[:, None]).T @ members, 1)
