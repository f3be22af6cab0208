"""Recommendations: from a question to the response, for one cart or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from app.catalogue.relations import RELATIONS
from app.catalogue.snapshot import Snapshot
from app.recommend.question import Question, Questions, count_fallback, reordered, selection_of
from app.recommend.reasons import reasons_of
from app.recommend.request import BatchRequest, RecommendOptions, RecommendRequest
from app.recommend.schemas import BatchAnswer, Recommendations, RecommendedItem
from app.runtime import metrics
from app.runtime.compute import Compute
from ndpp import NextItem, Prediction
from ndpp.kernel import Indices, Vector
from ndpp.large import Wanted
from ndpp.next_item import EXPERTS
from ndpp.ranking import Limits, Order, Ranked, Room, Scored, best_items
from ndpp.with_arrivals import WithArrivals

_ITEM_BYTES, _REASON_BYTES = 600, 200  # of an item in a cached answer, and of each of its reasons
_CARTS_AT_ONCE = 32  # limits the memory for the probabilities of a batch


class Recommender:
    """Recommends next items."""

    def __init__(self, questions: Questions, compute: Compute) -> None:
        self._questions = questions
        self._compute = compute

    async def recommend(self, request: RecommendRequest) -> Recommendations:
        """Recommendations for a stored cart, a list of items, or an empty cart."""
        start = perf_counter()
        question = await self._questions.about(request, request)
        cache = question.snapshot.cache
        key = None if question.past else question.cache_key()  # a shopper's response is not kept
        answer: Recommendations | None = cache.get(key)
        if answer is None:
            operations = question.snapshot.model.operations_of_one(len(question.cart.rows))
            answer = await self._compute.run(
                operations, lambda: answer_one(question, settle=not self._compute.is_busy)
            )
            if key is not None and answer.exact:
                cache.put(
                    key, answer, sum(_ITEM_BYTES + _REASON_BYTES * len(i.because) for i in answer.items)
                )
        else:
            metrics.REUSED.inc()
        count_fallback(answer.fallback)
        took = round((perf_counter() - start) * 1000, 3)
        return replace(answer, cart=replace(answer.cart, cart_id=request.cart_id), took_ms=took)

    async def recommend_batch(self, request: BatchRequest) -> BatchAnswer:
        """Recommendations for many carts."""
        start = perf_counter()
        questions = await self._questions.about_each(request.carts, request)
        model = questions[0].snapshot.model
        operations = sum(model.operations(len(question.cart.rows)) for question in questions)
        results = await self._compute.run(operations, lambda: answer_many(questions))
        took = round((perf_counter() - start) * 1000, 3)
        for result in results:
            count_fallback(result.fallback)
        results = [replace(result, took_ms=took) for result in results]
        return BatchAnswer(model_version=model.version, results=results, took_ms=took)


def answer_one(question: Question[RecommendOptions], *, settle: bool = True) -> Recommendations:
    """The recommendations for one cart, without `took_ms`; unless `settle`, an order may remain in doubt."""
    other, given = _ordering_model(question), (question.cart.rows, question.history)
    prediction = _model(question).given(*given)
    return _answer(question, prediction, None if other is None else other.given(*given), settle=settle)


def answer_many(questions: Sequence[Question[RecommendOptions]]) -> list[Recommendations]:
    """The recommendations for carts with the same options; in a small catalogue they share a pass over F."""
    if len(questions) == 1 or questions[0].snapshot.model.large is not None:
        return [answer_one(question) for question in questions]
    model, other = _model(questions[0]), _ordering_model(questions[0])
    answers = []
    for start in range(0, len(questions), _CARTS_AT_ONCE):
        part = questions[start : start + _CARTS_AT_ONCE]
        given = [question.cart.rows for question in part], [question.history for question in part]
        others = other.given_each(*given) if other else [None] * len(part)
        answers += [_answer(*each) for each in zip(part, model.given_each(*given), others, strict=True)]
    return answers


def _model(question: Question[RecommendOptions]) -> NextItem:
    """The model whose probabilities are shown."""
    model = question.snapshot.model
    return model.kernel_only if question.options.scoring == "kernel" else model.next_item


def _ordering_model(question: Question[RecommendOptions]) -> NextItem | None:
    """The model that orders the items if `cohesion` or `knobs` ask for another one, else None."""
    if question.options.scoring == "kernel":
        return None
    return reordered(question.snapshot.model.next_item, question.options)


def _answer(
    question: Question[RecommendOptions],
    prediction: Prediction,
    other: Prediction | None,
    *,
    settle: bool = True,
) -> Recommendations:
    snapshot, cart, options = question.snapshot, question.cart, question.options
    selection = selection_of(question)
    ordering = None if other is None else _scored(snapshot, other)
    order = Order(ordering, options.popularity(), question.effects.factors)
    wanted = Wanted(options.k, selection, order, _limits(question))
    best = _best_items(question, prediction, wanted, settle=settle)
    found = len(best.rows)
    if options.fill and found < options.k:
        best = _with_popular(best, _popular(question, selection.factors, best.rows))
    return Recommendations(
        model_version=snapshot.model.version,
        cart=cart.considered(snapshot, prediction.conditional),
        items=_items(question, prediction, best),
        exact=best.exact,
        probability_error=best.error,
        fallback=cart.fallback(_shortage(found, options.k), len(best.rows) - found),
        took_ms=0.0,
    )


def _best_items(
    question: Question[RecommendOptions], prediction: Prediction, wanted: Wanted, *, settle: bool
) -> Ranked:
    """The best items, by a search for candidates in a large catalogue, else by a pass over all items."""
    snapshot = question.snapshot
    if snapshot.model.large is not None and question.options.scoring == "mixture":
        best = snapshot.model.large.best_items(prediction, wanted, snapshot.moved_mixtures, settle=settle)
        if best is not None:
            return best
    metrics.GAINS.inc(snapshot.model.kernel.size)
    factors = wanted.selection.factors
    return best_items(_scored(snapshot, prediction), wanted.k, factors, wanted.order, wanted.limits)


def _scored(snapshot: Snapshot, prediction: Prediction) -> Scored:
    """The prediction for all items of the shop, also those that the model does not know."""
    arrivals = snapshot.moved_mixtures
    return prediction if arrivals is None else WithArrivals(prediction, arrivals, snapshot.log_usual)


def _limits(question: Question[RecommendOptions]) -> Limits:
    """What the list must fulfil: rules, and one variant of each parent."""
    in_cart = {*question.cart.listed, *question.cart.rows}
    pins = [(row, position) for row, position in question.effects.pins if row not in in_cart]
    return Limits(question.limits, pins)


def _items(
    question: Question[RecommendOptions], prediction: Prediction, best: Ranked
) -> list[RecommendedItem]:
    snapshot, options = question.snapshot, question.options
    model, count, rows = snapshot.model, len(best.rows), best.rows.tolist()
    probabilities: list[float | None] = [None] * count
    times_usual: list[float | None] = [None] * count
    if model.gives_probabilities or options.scoring == "kernel":
        probabilities = best.probabilities.tolist()
    if model.gives_probabilities and options.scoring == "mixture":
        with np.errstate(divide="ignore"):
            logs = np.log(best.shares.sum(axis=0)) - snapshot.log_usual[best.rows]
        times_usual = np.exp(logs).tolist()
    codes = [0] * count
    if model.relations is not None and len(prediction.cart):
        known = [place for place, row in enumerate(rows) if not snapshot.is_cold(row)]
        found = model.relations.to_cart([rows[place] for place in known], prediction.cart.tolist()).tolist()
        for place, code in zip(known, found, strict=True):
            codes[place] = code
    explained = options.explain and probabilities != [None] * count
    reasons = reasons_of(question, prediction, best) if explained else [[] for _ in rows]
    numbers = zip(rows, probabilities, times_usual, codes, reasons, strict=True)
    return [
        RecommendedItem(
            rank=rank,
            item_id=snapshot.item_id(row),
            name=snapshot.name(row),
            category=snapshot.category(row),
            price=snapshot.price(row),
            probability=probability,
            times_usual=times,
            relation=RELATIONS[code],
            because=because,
            cold=snapshot.is_cold(row),
            rules=question.effects.on(row) if question.rules else [],
            image_url=snapshot.image_url(row),
        )
        for rank, (row, probability, times, code, because) in enumerate(numbers, 1)
    ]


def _with_popular(best: Ranked, extra: Indices) -> Ranked:
    """Append popular items to which the model gives no probability."""
    nothing = np.zeros(len(extra))
    return Ranked(
        np.concatenate([best.rows, extra]),
        np.concatenate([best.shares, np.zeros((len(EXPERTS), len(extra)))], axis=1),
        np.concatenate([best.probabilities, nothing]),
        best.exact,
        best.error,
    )


def _popular(question: Question[RecommendOptions], factors: Vector, chosen: Indices) -> Indices:
    """The most popular items that may appear and are neither in the cart nor chosen."""
    allowed = factors > 0
    if question.effects.factors is not None:
        allowed &= question.effects.factors > 0
    allowed[question.cart.rows] = False
    allowed[chosen] = False
    room = Room(question.limits, chosen.tolist())
    room.take(np.flatnonzero(allowed).tolist(), question.options.k)  # rows are ordered by popularity
    return np.array(room.taken[len(chosen) :], dtype=np.intp)


def _shortage(found: int, k: int) -> str | None:
    if found >= k:
        return None
    items = "item fits" if found == 1 else "items fit"
    return f"Only {found} {items} the cart and the filters, {k} were requested."
