"""A stored model with what requests look up in it, computed once when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.catalogue.categories import Categories
from model_store import Knobs, StoredModel
from model_store.artifact import item_texts
from model_store.words import Words
from ndpp import DenseKernel, Kernel, Mixture, NextItem, RelatedItems
from ndpp.dense_kernel import DENSE_ITEMS
from ndpp.kernel import Vector
from ndpp.large import LARGE, LargeCatalogue
from ndpp.sets import Attraction, SetPredictor

# Costs in multiply-adds:
_LISTED = 10_000  # rows that a search in a large catalogue scores, about
_MIXING = 30  # the logarithms and exponentials of the mixture, per item
_SIMILAR_BASKETS = 1_000_000  # the search for similar baskets


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A stored model with what requests look up in it, computed once."""

    stored: StoredModel
    prices: Vector  # (M,), NaN where unknown
    in_stock: NDArray[np.bool_]  # (M,), true where unknown
    categories: Categories
    words: Words  # of the names, ids and categories of the model's items
    next_item: NextItem
    relations: RelatedItems | None  # None for versions of release 0.1, which have no lifts
    sets: SetPredictor | None  # None for versions that were not fitted to give P(set | cart)
    attraction: Attraction | None  # as `sets`

    @classmethod
    def of(cls, stored: StoredModel) -> ServedModel:
        """Prepare a stored model for requests."""
        items = stored.items
        dense, words = stored.pairs, stored.words
        if dense is None and stored.kernel.size <= DENSE_ITEMS:  # published by an earlier release
            dense = DenseKernel.of(stored.kernel)
        if words is None:
            words = Words.of(item_texts(items))
        next_item = replace(stored.next_item, dense=dense)
        relations = None if stored.lifts is None else RelatedItems(stored.kernel, stored.lifts)
        sets = stored.set_predictor
        if sets is not None and relations is not None:
            sets = replace(sets, next_item=next_item, relations=relations)  # with their caches
        return cls(
            stored=stored,
            prices=items.arrays.prices,
            in_stock=items.arrays.in_stock != 0,
            categories=Categories.of(items.arrays.categories),
            words=words,
            next_item=next_item,
            relations=relations,
            sets=sets,
            attraction=None if sets is None else Attraction(sets.relations, sets.baskets),
        )

    @property
    def version(self) -> str:
        """The version's name in the model store."""
        return self.stored.version

    @property
    def kernel(self) -> Kernel:
        """The kernel over the rows of the catalogue."""
        return self.stored.kernel

    @property
    def knobs(self) -> Knobs:
        """The serving parameters ω, β and γ that training chose."""
        return self.stored.manifest.knobs

    @property
    def gives_probabilities(self) -> bool:
        """Whether its scores were fitted as probabilities; those of release 0.1 were not."""
        return self.stored.manifest.mixture is not None

    @property
    def uses_histories(self) -> bool:
        """Whether what a shopper bought before changes its probabilities."""
        return self.next_item.mixture.own is not None and self.next_item.baskets is not None

    @cached_property
    def large(self) -> LargeCatalogue | None:
        """The search for the best items without a pass over all of them; None in a small catalogue."""
        return LargeCatalogue(self.next_item) if self.kernel.size >= LARGE else None

    @cached_property
    def basket_shares(self) -> Vector:
        """The share of training baskets with each item, (M,); 0 for versions without counts of pairs."""
        if (lifts := self.stored.lifts) is None:
            return np.zeros(self.kernel.size)
        shares: Vector = lifts.class_counts.sum(axis=1) / max(int(lifts.class_totals.sum()), 1)
        return shares

    @cached_property
    def kernel_only(self) -> NextItem:
        """The paper's exact conditioning: P ∝ Δ."""
        return NextItem(self.kernel, Mixture.plain(), dense=self.next_item.dense)

    def operations(self, cart_size: int) -> float:
        """Multiply-adds of a pass over F for a cart."""
        return float(self.kernel.size) * self.kernel.rank * (cart_size + 1)

    def operations_of_one(self, cart_size: int) -> float:
        """Multiply-adds of a single recommendation, which may use the dense kernel or a search."""
        if self.large is not None:
            return _LISTED * (self.kernel.rank * 2.0 * (cart_size + 1) + _MIXING) + _SIMILAR_BASKETS
        dense = self.next_item.dense
        gains = self.operations(cart_size)
        if dense is not None and dense.suits(cart_size):
            gains = dense.operations(cart_size)
        return gains + _MIXING * self.kernel.size + _SIMILAR_BASKETS

    def warm_up(self) -> None:
        """Touch all pages and fill all caches, so that the first request is as fast as the next."""
        numbers = self.next_item.given([0]).probabilities
        if self.relations is not None and self.kernel.size > 1:
            numbers = np.append(numbers, self.relations.between([0], [1]).lift)
        if self.large is not None:
            self.large.prepare()
        if self.attraction is not None:
            self.attraction.warm_up()
        if np.isnan(self.next_item.log_usual).any() or not np.isfinite(numbers).all():
            raise ValueError("a first recommendation gives numbers that are not finite")
