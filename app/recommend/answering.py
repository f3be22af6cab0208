"""From a question to its recommendations: pure mathematics and words, for one cart or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app import metrics
from app.baskets import KnownCart
from app.fallback import Fallback, fallback_of
from app.filters import Boosts, Wishes, decoupling_of, wishes_of
from app.items.catalogue import Catalogue
from app.recommend.ranking import Scored, best_items, best_items_of_each
from app.recommend.schemas import Options, Reason, Recommendations, RecommendedItem
from app.relations import relations_to_cart
from ndpp import Conditional, condition, condition_many
from ndpp.kernel import Indices

_NEGLIGIBLE = 0.001
_REASONS = 3
_CARTS_AT_ONCE = 32  # more would need too much memory for their gains


@dataclass(frozen=True, slots=True)
class Question:
    """What a cart should get next, in a catalogue, with the options of a request."""

    catalogue: Catalogue
    cart: KnownCart
    options: Options
    boosts: Boosts | None = None

    @property
    def operations(self) -> float:
        """Multiply-adds of the answer, given by itself."""
        return self.catalogue.model.operations_of_one(len(self.cart.rows))

    @property
    def decoupling(self) -> float:
        """ω of the answer."""
        return decoupling_of(self.catalogue, self.options)

    def wishes(self) -> Wishes:
        """τ² of the answer."""
        return wishes_of(self.catalogue, self.options, self.boosts, self.cart)


def answer_one(question: Question) -> Recommendations:
    """The answer to one question; `took_ms` is for the caller to fill in."""
    model, wishes = question.catalogue.model, question.wishes()
    state = condition(model.kernel, question.cart.rows, decoupling=question.decoupling)
    return _answer(question, state, wishes, best_items(state, question.options.k, wishes, model.pairs))


def answer_many(questions: Sequence[Question]) -> list[Recommendations]:
    """The answers to questions that differ in their cart only: some at a time share one pass over F."""
    if len(questions) == 1:
        return [answer_one(questions[0])]
    first = questions[0]
    kernel, decoupling, k = first.catalogue.model.kernel, first.decoupling, first.options.k
    answers = []
    for start in range(0, len(questions), _CARTS_AT_ONCE):
        part = questions[start : start + _CARTS_AT_ONCE]
        batch = condition_many(kernel, [question.cart.rows for question in part], decoupling=decoupling)
        wishes = [question.wishes() for question in part]
        bests = best_items_of_each(batch, k, wishes)
        answers += [_answer(*parts) for parts in zip(part, batch.states, wishes, bests, strict=True)]
    return answers


def _answer(question: Question, state: Conditional, wishes: Wishes, best: Scored) -> Recommendations:
    catalogue, cart, options = question.catalogue, question.cart, question.options
    metrics.GAINS.inc(catalogue.model.kernel.size)
    found = len(best.rows)
    if options.fill and found < options.k:
        best = _with_popular(best, _popular(question, wishes, best.rows), state, wishes)
    return Recommendations(
        model_version=catalogue.model.version,
        cart=cart.considered(catalogue, state),
        items=_items(catalogue, state, best, unit=wishes.unit, explain=options.explain),
        fallback=_fallback(cart, found, len(best.rows) - found, options.k),
        took_ms=0.0,
    )


def _with_popular(best: Scored, extra: Indices, state: Conditional, wishes: Wishes) -> Scored:
    """Popular items keep the score and the probability that they have, if only 0."""
    gains = state.gains(extra)
    return Scored(
        np.concatenate([best.rows, extra]),
        np.concatenate([best.scores, wishes.tilt.at(extra) * gains]),
        np.concatenate([best.gains, gains]),
        best.total,
    )


def _items(
    catalogue: Catalogue, state: Conditional, best: Scored, *, unit: float, explain: bool
) -> list[RecommendedItem]:
    # Rounding may lift a share a hair above one.
    shares = np.minimum(best.scores / best.total, 1.0) if best.total > 0 else np.zeros(len(best.rows))
    rows, items = best.rows.tolist(), catalogue.model.stored.items
    relations = relations_to_cart(catalogue, rows, state.cart.tolist())
    return [
        RecommendedItem(
            rank=rank,
            item_id=items.ids[row],
            name=items.names[row],
            category=items.categories[row],
            price=catalogue.price(row),
            score=unit * score,
            probability=share,
            relation=relation,
            because=_reasons(catalogue, state, row) if explain else [],
        )
        for rank, (row, score, share, relation) in enumerate(
            zip(rows, best.scores.tolist(), shares.tolist(), relations, strict=True), 1
        )
    ]


def _reasons(catalogue: Catalogue, state: Conditional, row: int) -> list[Reason]:
    """The cart items with the strongest effect on a recommended item, either way."""
    alone = float(state.kernel.weights[row])
    if not len(state.cart) or alone <= 0:
        return []
    effects = state.contributions(row) / alone
    strongest = np.argsort(-np.abs(effects), kind="stable")[:_REASONS]
    return [
        Reason(item_id=catalogue.item_id(other), name=catalogue.name(other), effect=effect)
        for other, effect in zip(state.cart[strongest].tolist(), effects[strongest].tolist(), strict=True)
        if abs(effect) >= _NEGLIGIBLE
    ]


def _popular(question: Question, wishes: Wishes, chosen: Indices) -> Indices:
    """The most popular items that may appear: those that no filter and no boost of 0 hides."""
    allowed = wishes.dense(question.catalogue.model.kernel.size) > 0
    allowed[question.cart.rows] = False
    allowed[chosen] = False
    return np.flatnonzero(allowed)[: question.options.k - len(chosen)]  # rows are in the order of popularity


def _fallback(cart: KnownCart, found: int, filled: int, k: int) -> Fallback | None:
    shortage = f"Only {found} items fit the cart and the filters, {k} were asked for." if found < k else None
    return fallback_of(cart, shortage, filled)
