"""Bundles: from a request to the response, and the best bundles of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from time import perf_counter

from app.bundles.determinant import find_map, map_operations, method_of
from app.bundles.schemas import (
    BundleAnswer,
    BundleItem,
    BundleRequest,
    BundlesAnswer,
    GoesWith,
    TopBundle,
    TopBundleItem,
    TopBundlesAnswer,
    TopBundlesQuery,
)
from app.bundles.together import Found, find_together, operations
from app.catalogue.relations import RelatedPair, pairs_among
from app.catalogue.snapshot import Snapshot, SnapshotHolder
from app.http.errors import Invalid
from app.recommend.request import Question, Questions, count_fallback
from app.runtime import metrics
from app.runtime.compute import Compute
from ndpp import Bundle, condition
from ndpp.sets import CountedSet

_MOST_OPERATIONS = 2e10  # multiply-adds of one request: several seconds


class Bundles:
    """Finds bundles."""

    def __init__(self, questions: Questions, snapshots: SnapshotHolder, compute: Compute) -> None:
        self._questions = questions
        self._snapshots = snapshots
        self._compute = compute

    async def find(self, request: BundleRequest) -> BundlesAnswer:
        """Bundles from scratch, with given items, or with a stored cart."""
        start = perf_counter()
        question = await self._questions.about(request, request)
        cache, key = question.snapshot.cache, ("bundles", *question.cache_key())
        answer: BundlesAnswer | None = cache.get(key)
        if answer is None:
            operations_needed = _operations(question)
            if operations_needed > _MOST_OPERATIONS:
                raise Invalid(("k", "this would take too long: lower k, max_k, alternatives or skip"))
            answer = await self._compute.run(operations_needed, lambda: _find(question))
            cache[key] = answer
        else:
            metrics.REUSED.inc()
        count_fallback(answer.fallback)
        cart = replace(answer.cart, cart_id=request.cart_id)
        took = round((perf_counter() - start) * 1000, 3)
        return answer.model_copy(update={"cart": cart, "took_ms": took})

    def top(self, query: TopBundlesQuery) -> TopBundlesAnswer:
        """A page of the best bundles of the catalogue."""
        snapshot = self._snapshots.current()
        stored, first = snapshot.model.stored.top_bundles, _position(query.cursor)
        bundles = [] if stored is None else stored.of_size(query.k)
        shown = [
            (rank, bundle)
            for rank, bundle in enumerate(bundles, 1)
            if rank > first and _may_show(snapshot, bundle.rows, query)
        ]
        page, more = [_top_bundle(snapshot, *each) for each in shown[: query.limit]], len(shown) > query.limit
        return TopBundlesAnswer(
            model_version=snapshot.model.version,
            k=query.k,
            bundles=page,
            next_cursor=str(page[-1].rank) if more else None,
        )


def _can_do_together(question: Question[BundleRequest]) -> bool:
    """Whether the model can estimate P(set | cart); 0.1's and untuned ones cannot."""
    return question.snapshot.model.sets is not None and not question.options.wants_map


def _operations(question: Question[BundleRequest]) -> float:
    if _can_do_together(question):
        model = question.snapshot.model
        return model.operations_of_one(len(question.cart.rows)) + operations(question.options)
    return map_operations(question)


def _find(question: Question[BundleRequest]) -> BundlesAnswer:
    snapshot, cart, request = question.snapshot, question.cart, question.options
    model = snapshot.model
    if _can_do_together(question) and model.sets is not None and model.attraction is not None:
        found = find_together(question, model.sets, model.attraction)
        bundles = [_together_answer(question, bundle) for bundle in found]
        conditional = None
    else:
        wanted = ["objective"] if request.objective == "together" else request.only_together
        if wanted:
            raise Invalid(
                (wanted[0], "this model was not fitted for together: train a version with this release")
            )
        chosen, unit = find_map(question)
        bundles = [_map_answer(question, bundle, unit) for bundle in chosen]
        conditional = condition(model.kernel, cart.rows)
    return BundlesAnswer(
        model_version=model.version,
        cart=cart.considered(snapshot, conditional),
        objective="map" if conditional is not None else "together",
        method=method_of(request) if conditional is not None else None,
        bundles=bundles,
        fallback=cart.fallback(
            _shortage(bundles, request, attracting=conditional is None and not (cart.rows or request.include))
        ),
        took_ms=0.0,
    )


def _together_answer(question: Question[BundleRequest], bundle: Found) -> BundleAnswer:
    snapshot = question.snapshot
    lifts = pairs_among(snapshot, [*question.cart.rows, *bundle.rows])
    return BundleAnswer(
        items=[
            _item(snapshot, row, lifts, probability=probability)
            for row, probability in zip(bundle.rows, bundle.singles, strict=True)
        ],
        probability=bundle.probability,
        baskets=bundle.baskets,
        baskets_with_given=bundle.baskets_with_given,
        by_chance=bundle.by_chance,
        total_price=_total(snapshot, bundle.rows),
        log_det=None,
        lifts=lifts,
    )


def _map_answer(question: Question[BundleRequest], bundle: Bundle, unit: float) -> BundleAnswer:
    snapshot, rows = question.snapshot, bundle.items.tolist()
    lifts = pairs_among(snapshot, [*question.cart.rows, *rows])
    return BundleAnswer(
        items=[
            _item(snapshot, row, lifts, gain=unit * gain)
            for row, gain in zip(rows, bundle.gains.tolist(), strict=True)
        ],
        probability=None,
        baskets=None,
        baskets_with_given=None,
        by_chance=None,
        total_price=_total(snapshot, rows),
        log_det=bundle.log_det + len(rows) * log(unit),
        lifts=lifts,
    )


def _item(
    snapshot: Snapshot,
    row: int,
    lifts: Sequence[RelatedPair],
    *,
    probability: float | None = None,
    gain: float | None = None,
) -> BundleItem:
    item_id = snapshot.item_id(row)
    with_others = [pair for pair in lifts if item_id in (pair.first, pair.second) and pair.lift_low > 1]
    best = max(with_others, key=lambda pair: pair.lift_low, default=None)
    goes_with = None
    if best is not None:
        other = best.second if best.first == item_id else best.first
        other_row = snapshot.row_of(other)
        name = None if other_row is None else snapshot.name(other_row)
        goes_with = GoesWith(item_id=other, name=name, lift=best.lift)
    return BundleItem(
        item_id=item_id,
        name=snapshot.name(row),
        category=snapshot.category(row),
        price=snapshot.price(row),
        probability=probability,
        goes_with=goes_with,
        gain=gain,
    )


def _total(snapshot: Snapshot, rows: Sequence[int]) -> float | None:
    prices = [snapshot.price(row) for row in rows]
    known = [price for price in prices if price is not None]
    return round(sum(known), 6) if len(known) == len(prices) else None


def _shortage(bundles: Sequence[BundleAnswer], request: BundleRequest, *, attracting: bool) -> str | None:
    if not bundles and attracting and not request.skip and request.k > 1:
        return f"No {request.k} items that pass the filters are bought together more often than by chance."
    if not bundles and request.skip:
        return f"There is no bundle after the first {request.skip}."
    if not bundles:
        return "No item fits the cart and the filters."
    if len(bundles) < request.alternatives:
        return f"Too few items fit: {len(bundles)} instead of {request.alternatives} bundles."
    smallest = min(len(bundle.items) for bundle in bundles)
    if smallest < request.k:
        return f"Too few items fit: a bundle of {smallest} instead of {request.k} items."
    return None


def _top_bundle(snapshot: Snapshot, rank: int, bundle: CountedSet) -> TopBundle:
    index = snapshot.model.stored.baskets
    return TopBundle(
        rank=rank,
        items=[_top_item(snapshot, row) for row in bundle.rows],
        baskets=bundle.together if index is not None and index.lists_all(bundle.rows) else None,
        by_chance=bundle.by_chance,
        total_price=_total(snapshot, bundle.rows),
    )


def _top_item(snapshot: Snapshot, row: int) -> TopBundleItem:
    return TopBundleItem(
        item_id=snapshot.item_id(row),
        name=snapshot.name(row),
        category=snapshot.category(row),
        price=snapshot.price(row),
    )


def _may_show(snapshot: Snapshot, rows: Sequence[int], query: TopBundlesQuery) -> bool:
    if any(snapshot.boosts[row] == 0 or (query.in_stock and not snapshot.in_stock[row]) for row in rows):
        return False
    return query.category is None or any(snapshot.category(row) == query.category for row in rows)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()):
        raise Invalid(("query.cursor", "it is not a next_cursor of this list: start without one"))
    return int(cursor)
