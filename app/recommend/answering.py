"""From a question to its recommendations: for one cart or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app import metrics
from app.baskets import KnownCart
from app.fallback import Fallback, fallback_of
from app.filters import Boosts, Knobs, decoupling_of, popularity_of, wishes_of
from app.items.catalogue import Catalogue
from app.recommend.ranking import Order, Ranked, best_items
from app.recommend.reasons import reasons_of
from app.recommend.schemas import Options, Recommendations, RecommendedItem
from app.relations import relations_to_cart
from ndpp import Mixture, NextItem, Prediction
from ndpp.kernel import Indices, Vector

_CARTS_AT_ONCE = 32  # more would need too much memory for their probabilities


@dataclass(frozen=True, slots=True)
class Question:
    """What a cart should get next, in a catalogue, with the options of a request."""

    catalogue: Catalogue
    cart: KnownCart
    options: Options
    boosts: Boosts | None = None
    knobs: Knobs | None = None

    @property
    def operations(self) -> float:
        """Multiply-adds of the answer, given by itself."""
        return self.catalogue.model.operations_of_one(len(self.cart.rows))

    @property
    def model(self) -> NextItem:
        """The model whose probabilities are shown."""
        model = self.catalogue.model
        return model.determinant if self.options.scoring == "kernel" else model.next_item

    @property
    def ordering_model(self) -> NextItem | None:
        """The model that ranks, where dial or knobs want another; None: the same."""
        learned = self.model.mixture
        omega = decoupling_of(learned.decoupling, self.options, self.knobs)
        beta = None if self.knobs is None else self.knobs.relevance
        if self.options.scoring == "kernel" or (omega == learned.decoupling and beta is None):
            return None
        mixture: Mixture = replace(learned, decoupling=omega)
        if beta is not None:
            mixture = replace(mixture, together=replace(learned.together, relevance=(beta, 0.0)))
        return replace(self.model, mixture=mixture)

    def factors(self) -> Vector:
        """What filters and boosts multiply the odds of every item by."""
        wishes = wishes_of(self.catalogue, self.options, self.boosts, self.cart)
        return wishes.dense(self.catalogue.model.kernel.size)


def answer_one(question: Question) -> Recommendations:
    """The answer to one question; `took_ms` is for the caller to fill in."""
    prediction = question.model.given(question.cart.rows)
    other = question.ordering_model
    return _answer(question, prediction, None if other is None else other.given(question.cart.rows))


def answer_many(questions: Sequence[Question]) -> list[Recommendations]:
    """The answers to questions that differ in their cart only: some at a time share one pass over F."""
    if len(questions) == 1:
        return [answer_one(questions[0])]
    model, other = questions[0].model, questions[0].ordering_model
    answers = []
    for start in range(0, len(questions), _CARTS_AT_ONCE):
        part = questions[start : start + _CARTS_AT_ONCE]
        carts = [question.cart.rows for question in part]
        others = other.given_each(carts) if other else [None] * len(part)
        answers += [_answer(*each) for each in zip(part, model.given_each(carts), others, strict=True)]
    return answers


def _answer(question: Question, prediction: Prediction, other: Prediction | None) -> Recommendations:
    catalogue, cart, options = question.catalogue, question.cart, question.options
    metrics.GAINS.inc(catalogue.model.kernel.size)
    factors = question.factors()
    order = Order(other, popularity_of(options, question.knobs))
    best = best_items(prediction, options.k, factors, order)
    found = len(best.rows)
    if options.fill and found < options.k:
        best = _with_popular(best, _popular(question, factors, best.rows))
    return Recommendations(
        model_version=catalogue.model.version,
        cart=cart.considered(catalogue, prediction.evidence.state),
        items=_items(question, prediction, best),
        fallback=_fallback(cart, found, len(best.rows) - found, options.k),
        took_ms=0.0,
    )


def _items(question: Question, prediction: Prediction, best: Ranked) -> list[RecommendedItem]:
    catalogue, options = question.catalogue, question.options
    model, items, count = catalogue.model, catalogue.model.stored.items, len(best.rows)
    probabilities: list[float | None] = [None] * count
    times_usual: list[float | None] = [None] * count
    if model.gives_probabilities or options.scoring == "kernel":
        probabilities = best.probabilities.tolist()
    if model.gives_probabilities and options.scoring == "mixture":
        with np.errstate(divide="ignore"):
            logs = np.log(best.shares.sum(axis=0)) - prediction.model.log_usual[best.rows]
        times_usual = np.exp(logs).tolist()
    relations = relations_to_cart(catalogue, best.rows.tolist(), prediction.cart.tolist())
    explained = options.explain and probabilities != [None] * count
    reasons = reasons_of(catalogue, prediction, best) if explained else [[] for _ in range(count)]
    numbers = zip(best.rows.tolist(), probabilities, times_usual, relations, reasons, strict=True)
    return [
        RecommendedItem(
            rank=rank,
            item_id=items.ids[row],
            name=items.names[row],
            category=items.categories[row],
            price=catalogue.price(row),
            probability=probability,
            times_usual=times,
            relation=relation,
            because=because,
        )
        for rank, (row, probability, times, relation, because) in enumerate(numbers, 1)
    ]


def _with_popular(best: Ranked, extra: Indices) -> Ranked:
    """Popular items that the model gives no probability come last, with 0."""
    nothing = np.zeros(len(extra))
    return Ranked(
        np.concatenate([best.rows, extra]),
        np.concatenate([best.shares, np.zeros((3, len(extra)))], axis=1),
        np.concatenate([best.probabilities, nothing]),
    )


def _popular(question: Question, factors: Vector, chosen: Indices) -> Indices:
    """The most popular items that may appear: those that no filter and no boost of 0 hides."""
    allowed = factors > 0
    allowed[question.cart.rows] = False
    allowed[chosen] = False
    return np.flatnonzero(allowed)[: question.options.k - len(chosen)]  # rows are in the order of popularity


def _fallback(cart: KnownCart, found: int, filled: int, k: int) -> Fallback | None:
    items = "item fits" if found == 1 else "items fit"
    shortage = f"Only {found} {items} the cart and the filters, {k} were asked for." if found < k else None
    return fallback_of(cart, shortage, filled)
