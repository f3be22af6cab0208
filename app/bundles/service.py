"""Bundles: from a request to the response, and the best bundles of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from time import perf_counter

from app.bundles.checks import Source, can_do_together, checked_operations
from app.bundles.determinant import find_map, method_of
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
from app.bundles.together import Found, find_together
from app.catalogue.filters import in_categories
from app.catalogue.holder import SnapshotHolder
from app.catalogue.relations import RelatedPair, pairs_among
from app.catalogue.snapshot import Snapshot
from app.http.errors import Invalid
from app.http.finished import FinishedAnswer
from app.recommend.question import Question, Questions, count_fallback
from app.recommend.schemas import Fallback
from app.runtime import metrics
from app.runtime.compute import Compute
from ndpp import Bundle, condition
from ndpp.limits import Limit
from ndpp.sets import CountedSet, disjoint

# What rules do to bundles with `map` and with `together`: a set has no positions, a determinant no limits.
_ACTIONS = {False: ("boost", "bury"), True: ("boost", "bury", "at_most")}


class Bundles:
    """Finds bundles."""

    def __init__(self, questions: Questions, snapshots: SnapshotHolder, compute: Compute) -> None:
        self._questions = questions
        self._snapshots = snapshots
        self._compute = compute

    async def find(self, request: BundleRequest, source: Source) -> bytes:
        """Bundles from scratch, with given items, or with a stored cart, as JSON of a `BundlesAnswer`.

        `source` is the part of the HTTP request that problems name.
        """
        start = perf_counter()
        question = await self._questions.about(request, request)
        cache, key = question.snapshot.cache, None
        if question.past is None:  # a shopper's response is not kept
            key = ("bundles", request.cart_id is not None, *question.cache_key())
        found: tuple[FinishedAnswer, Fallback | None] | None = cache.get(key)
        if found is None:
            operations = checked_operations(question, source)
            found = await self._compute.run(operations, lambda: _find(question))
            if key is not None:
                cache.put(key, found, found[0].size)
        else:
            metrics.REUSED.inc()
        answer, fallback = found
        count_fallback(fallback)
        return answer.json(request.cart_id, round((perf_counter() - start) * 1000, 3))

    def top(self, query: TopBundlesQuery) -> TopBundlesAnswer:
        """A page of the best bundles of the catalogue."""
        snapshot = self._snapshots.current()
        stored, first = snapshot.model.stored.top_bundles, _position(query.cursor)
        bundles = [] if stored is None else stored.of_size(query.k)
        wanted = None
        if query.category is not None:
            wanted = in_categories(snapshot, [query.category], "query.category")
        fitting = (
            bundle
            for bundle in bundles
            if _may_show(snapshot, bundle.rows, query) and (wanted is None or wanted[list(bundle.rows)].any())
        )
        ranked = list(enumerate(disjoint(fitting, first + query.limit + 1), 1))[first:]
        page, more = (
            [_top_bundle(snapshot, *each) for each in ranked[: query.limit]],
            len(ranked) > query.limit,
        )
        return TopBundlesAnswer(
            model_version=snapshot.model.version,
            k=query.k,
            bundles=page,
            next_cursor=str(page[-1].rank) if more else None,
        )


def _find(question: Question[BundleRequest]) -> tuple[FinishedAnswer, Fallback | None]:
    snapshot, cart, request = question.snapshot, question.cart, question.options
    model = snapshot.model
    if can_do_together(question) and model.sets is not None and model.attraction is not None:
        found = find_together(question, model.sets, model.attraction)
        bundles = [_together_answer(question, bundle) for bundle in found]
        conditional = None
    else:
        chosen, unit = find_map(question)
        bundles = [_map_answer(question, bundle, unit) for bundle in chosen]
        conditional = condition(model.kernel, cart.rows)
    answer = BundlesAnswer(
        model_version=model.version,
        cart=replace(cart.considered(snapshot, conditional), cart_id=None),
        objective="map" if conditional is not None else "together",
        method=method_of(request) if conditional is not None else None,
        bundles=bundles,
        fallback=cart.fallback(
            _shortage(bundles, request, attracting=conditional is None and not (cart.rows or request.include))
        ),
        took_ms=0.0,
    )
    return FinishedAnswer.of(answer.model_dump_json().encode()), answer.fallback


def _together_answer(question: Question[BundleRequest], bundle: Found) -> BundleAnswer:
    snapshot = question.snapshot
    lifts = pairs_among(snapshot, [*question.cart.rows, *bundle.rows])
    return BundleAnswer(
        items=[
            _item(question, row, lifts, probability=probability)
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
            _item(question, row, lifts, gain=unit * gain)
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
    question: Question[BundleRequest],
    row: int,
    lifts: Sequence[RelatedPair],
    *,
    probability: float | None = None,
    gain: float | None = None,
) -> BundleItem:
    snapshot = question.snapshot
    item_id = snapshot.item_id(row)
    return BundleItem(
        item_id=item_id,
        name=snapshot.name(row),
        category=snapshot.category(row),
        price=snapshot.price(row),
        probability=probability,
        goes_with=_goes_with(question, item_id, lifts),
        gain=gain,
        rules=question.effects.on(row, _ACTIONS[gain is None]) if question.rules else [],
        image_url=snapshot.image_url(row),
    )


def _goes_with(
    question: Question[BundleRequest], item_id: str, lifts: Sequence[RelatedPair]
) -> GoesWith | None:
    """The other item with the most certain lift above 1, a given one if there is any."""
    snapshot, given = question.snapshot, set(question.cart.rows)
    others = {
        pair.second if pair.first == item_id else pair.first: pair
        for pair in lifts
        if item_id in (pair.first, pair.second) and pair.lift_low > 1
    }
    rows = {other: snapshot.row_of(other) for other in others}
    best = max(others, key=lambda other: (rows[other] in given, others[other].lift_low), default=None)
    if best is None:
        return None
    row = rows[best]
    return GoesWith(item_id=best, name=None if row is None else snapshot.name(row), lift=others[best].lift)


def _total(snapshot: Snapshot, rows: Sequence[int]) -> float | None:
    prices = [snapshot.price(row) for row in rows]
    known = [price for price in prices if price is not None]
    return round(sum(known), 6) if len(known) == len(prices) else None


def _shortage(bundles: Sequence[BundleAnswer], request: BundleRequest, *, attracting: bool) -> str | None:
    if not bundles and attracting and not request.skip and request.k > 1:
        return (
            f"No {request.k} items were found that pass the filters and are bought together more often than "
            "by chance."
        )
    if not bundles and request.skip:
        return "There is no further bundle."
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
    if not all(snapshot.is_shown(row) and (snapshot.in_stock[row] or not query.in_stock) for row in rows):
        return False
    return not snapshot.variants.exist or Limit(snapshot.variants.groups, 1).allows(rows)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()):
        raise Invalid(("query.cursor", "it is not a next_cursor of this list: start without one"))
    return int(cursor)
